"""`podrail simulate`: a trace of jobs under several rules of placement, side by side."""

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from podrail.errors import MalformedError, Problem
from podrail.fabric import Profile
from podrail.simulation import bounds, order, replay, site, summary
from podrail.simulation.bounds import Bound
from podrail.simulation.order import Order
from podrail.simulation.rules import Default, Podrail, Strategy
from podrail.simulation.summary import Summary
from podrail.simulation.trace import Work
from podrail.snapshot import Spot
from podrail_cli import output

BEST: Final = "best possible"
Told = Callable[[str, int, int], None]
"""Hears the name of the rules, how many pods they have bound, and how many there are."""


@dataclass(frozen=True, slots=True)
class Compared:
    """What came of a trace under each of the rules, and the best there could be."""

    seed: int
    spots: tuple[Spot, ...]
    rules: Mapping[str, Summary]

    def document(self) -> dict[str, Any]:
        """The comparison as `-o json` prints it."""
        return {
            "seed": self.seed,
            "nodes": len(self.spots),
            "rules": {name: found.document() for name, found in self.rules.items()},
        }


def orders(works: Iterable[Work], profiles: Mapping[str, Profile]) -> tuple[Order, ...]:
    """What the jobs ask for.

    Raises:
        MalformedError: a job names a profile that is not known.
        PodError: its pods get no rails.
    """
    found: list[Order] = []
    for work in works:
        fabric = profiles.get(work.profile)
        if fabric is None:
            known = ", ".join(sorted(profiles))
            problem = Problem(work.name, f"no profile {work.profile!r}; there are {known}")
            raise MalformedError("the trace", [problem])
        found.append(order.order(work, fabric))
    return tuple(found)


def compare(
    spots: tuple[Spot, ...],
    wanted: Sequence[Order],
    strategy: Strategy,
    seed: int,
    told: Told = lambda _name, _bound, _all: None,
) -> Compared:
    """The trace under the default scheduler's rules and under podrail's, with the bounds."""
    known = site.settled(spots, {one.gpu_name for one in wanted})
    least = _bounds(wanted, known)
    pods = sum(one.work.pods for one in wanted)
    found: dict[str, Summary] = {}
    for name, tried in ((f"default, {strategy}", Default(strategy)), ("podrail", Podrail())):

        def bound(many: int, name: str = name) -> None:
            told(name, many, pods)

        # Not a secret: the same seed gives the same draws to every set of rules.
        chance = random.Random(seed).random  # noqa: S311 - draws of a simulation
        made = replay.replay(known, wanted, tried, chance, bound)
        found[name] = summary.of(made, least)
    found[BEST] = summary.best(wanted, least)
    return Compared(seed, known, found)


def _bounds(wanted: Iterable[Order], spots: tuple[Spot, ...]) -> dict[str, Bound]:
    """Each job's bound; jobs that ask for the same have the same."""
    made: dict[tuple[object, ...], Bound] = {}
    found: dict[str, Bound] = {}
    for one in wanted:
        key = (one.work.pods, one.need)
        if key not in made:
            made[key] = bounds.of(one, spots)
        found[one.work.name] = made[key]
    return found


def table(compared: Compared) -> str:
    """The comparison for people: a column for each of the rules."""
    heads = ("", *compared.rules)
    listed = list(compared.rules.values())
    rows = [(told, *(show(one) for one in listed)) for told, show in _ROWS]
    seen = sum(spot.state is not None for spot in compared.spots)
    nodes = f"{len(compared.spots)} nodes, {len(compared.spots) - seen} of them unknown"
    return f"{output.table(heads, rows)}\n\n{nodes}; seed {compared.seed}"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f}"


_ROWS: Final[tuple[tuple[str, Callable[[Summary], str]], ...]] = (
    ("jobs started", lambda one: f"{one.started} of {one.jobs}"),
    ("pairs of GPU and NIC aligned", lambda one: _percent(one.aligned)),
    ("modelled all-reduce bandwidth", lambda one: _percent(one.bandwidth)),
    ("leaf groups, all jobs", lambda one: _number(one.leaf_groups)),
    ("jobs in the fewest leaf groups", lambda one: _percent(one.compact)),
    ("blocks, all jobs", lambda one: _number(one.blocks)),
    ("wait, mean (s)", lambda one: _number(one.wait_mean)),
    ("wait, longest (s)", lambda one: _number(one.wait_most)),
    ("free GPUs on broken nodes", lambda one: _percent(one.fragmentation)),
    ("pods refused by kubelets", lambda one: _number(one.refusals)),
)

"""A replay in numbers that can be compared, and the same numbers for the best there could be."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from podrail.locality import Level
from podrail.simulation import model
from podrail.simulation.bounds import Bound
from podrail.simulation.order import Order
from podrail.simulation.replay import Replay, Run
from podrail.snapshot import Spot
from podrail.topology import ALIGNED

_DIGITS = 4


@dataclass(frozen=True, slots=True)
class Summary:
    """Shares are from 0 to 1, times in seconds; None where nothing is known or nothing applies."""

    jobs: int
    started: int
    pods: int
    """Of the jobs that were started, as all that follows."""
    aligned: float | None
    """The share of pairs of GPU and NIC that are as near as the machine offers."""
    bandwidth: float | None
    """The modelled all-reduce of jobs of several pods against the aligned rate, by their GPUs."""
    leaf_groups: int | None
    """Added up over the jobs, as are blocks."""
    blocks: int | None
    compact: float | None
    """The share of jobs that have as few leaf groups as is possible at all."""
    wait_mean: float | None
    wait_most: float | None
    fragmentation: float | None
    refusals: int

    def document(self) -> dict[str, Any]:
        """The numbers as `-o json` prints them."""
        found = {_camel(one.name): getattr(self, one.name) for one in fields(self)}
        return {
            name: round(value, _DIGITS) if isinstance(value, float) else value
            for name, value in found.items()
        }


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.title() for part in rest)


def of(found: Replay, bounds: Mapping[str, Bound]) -> Summary:
    """The numbers of a replay; bounds has each job's by its name."""
    runs = found.runs
    spread = {level: [places(run, found.spots, level) for run in runs] for level in _LEVELS}
    waits = [run.start - run.order.work.arrival for run in runs]
    least = [bounds[run.order.work.name].leaves for run in runs]
    several = [run for run in runs if run.order.work.pods > 1]
    return Summary(
        jobs=len(runs) + len(found.waiting),
        started=len(runs),
        pods=sum(run.order.work.pods for run in runs),
        aligned=_aligned(runs, found.spots),
        bandwidth=_by_gpus((run.order, model.job(run, found.spots)) for run in several),
        leaf_groups=_sum(spread[Level.LEAF]),
        blocks=_sum(spread[Level.BLOCK]),
        compact=_share(spread[Level.LEAF], least),
        wait_mean=sum(waits) / len(waits) if waits else None,
        wait_most=max(waits, default=None),
        fragmentation=found.fragmentation,
        refusals=found.refusals,
    )


_LEVELS = (Level.LEAF, Level.BLOCK)


def best(orders: Sequence[Order], bounds: Mapping[str, Bound]) -> Summary:
    """What no placement can beat; waits and fragmentation are not bounded."""
    own: list[tuple[Order, Bound]] = [(order, bounds[order.work.name]) for order in orders]
    several = [(order, bound.bandwidth) for order, bound in own if order.work.pods > 1]
    return Summary(
        jobs=len(orders),
        started=len(orders),
        pods=sum(order.work.pods for order in orders),
        aligned=_by_gpus((order, bound.aligned) for order, bound in own),
        bandwidth=_by_gpus(several),
        leaf_groups=_sum([bound.leaves for _, bound in own]),
        blocks=_sum([bound.blocks for _, bound in own]),
        compact=1.0 if own and all(bound.leaves is not None for _, bound in own) else None,
        wait_mean=None,
        wait_most=None,
        fragmentation=None,
        refusals=0,
    )


def aligned(run: Run, spots: Sequence[Spot]) -> tuple[int, int]:
    """How many of a job's pairs of GPU and NIC are aligned, and how many are known."""
    good = known = 0
    for one in run.pods:
        at = spots[one.node].state
        if at is not None:
            pairs = zip(one.gpus, one.serving, strict=False)
            good += sum(at.topology.worth[rail][gpu] >= ALIGNED for gpu, rail in pairs)
            known += len(one.gpus)
    return good, known


def places(run: Run, spots: Sequence[Spot], level: Level) -> int | None:
    """In how many places of a level a job is; None if not all of its nodes name theirs."""
    found = {spots[one.node].place.names[level] for one in run.pods}
    return None if "" in found else len(found)


def _aligned(runs: Iterable[Run], spots: Sequence[Spot]) -> float | None:
    counts = [aligned(run, spots) for run in runs]
    known = sum(all_ for _, all_ in counts)
    return sum(good for good, _ in counts) / known if known else None


def _by_gpus(found: Iterable[tuple[Order, float | None]]) -> float | None:
    """The mean over GPUs of what is known."""
    known = [(order.work.pods * order.work.gpus, one) for order, one in found if one is not None]
    gpus = sum(weight for weight, _ in known)
    return sum(weight * one for weight, one in known) / gpus if gpus else None


def _sum(found: Collection[int | None]) -> int | None:
    known = [one for one in found if one is not None]
    return sum(known) if known and len(known) == len(found) else None


def _share(found: Sequence[int | None], least: Sequence[int | None]) -> float | None:
    known = [one == few for one, few in zip(found, least, strict=True) if None not in {one, few}]
    return sum(known) / len(known) if known else None

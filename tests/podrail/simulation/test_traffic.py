"""What podrail is worth on sites that are never empty: random ones, each beside the default rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache

import pytest
import simulated
import traffic

from podrail.locality import Level
from podrail.simulation import summary
from podrail.simulation.replay import Replay, Run
from podrail.simulation.rules import Default, Podrail, Rules, Strategy

SEEDS = range(6)


@lru_cache(maxsize=len(SEEDS))
def compared(seed: int) -> tuple[Replay, ...]:
    """The trace of a seed by podrail's rules, then by each of the default scheduler's."""
    made = traffic.traffic(seed, nodes=48, jobs=240)
    rules: tuple[Rules, ...] = (Podrail(), *map(Default, Strategy))
    return tuple(simulated.run(made.spots, made.orders, one, seed) for one in rules)


def _hours(runs: Iterable[Run], share: Callable[[Run], float]) -> float:
    """The mean over GPUs and the time that they are held."""
    held = [
        (run, run.order.work.pods * run.order.work.gpus * run.order.work.seconds) for run in runs
    ]
    return sum(share(run) * many for run, many in held) / sum(many for _, many in held)


def aligned(found: Replay) -> float:
    """The share of aligned pairs."""

    def share(run: Run) -> float:
        good, known = summary.aligned(run, found.spots)
        return good / known

    return _hours(found.runs, share)


def leaves(found: Replay) -> int:
    """The leaf groups of all jobs."""
    return sum(summary.places(run, found.spots, Level.LEAF) or 0 for run in found.runs)


@pytest.mark.parametrize("seed", SEEDS)
def test_podrail_never_aligns_fewer_pairs_and_keeps_jobs_closer(seed: int) -> None:
    """Than the default scheduler, whichever way it scores."""
    ours, *others = compared(seed)
    assert aligned(ours) >= max(map(aligned, others))
    assert leaves(ours) < min(map(leaves, others))


def test_podrail_clearly_aligns_more_pairs_on_the_average() -> None:
    """Two points of a hundred more than the better of the default scheduler's ways on each site."""
    more = [aligned(ours) - max(map(aligned, others)) for ours, *others in map(compared, SEEDS)]
    assert sum(more) / len(more) > 0.02

"""A replay in numbers."""

from __future__ import annotations

from dataclasses import replace

import simulated

from podrail.simulation import bounds, summary
from podrail.simulation.rules import Podrail

SPOTS = simulated.nodes("podrail-aligned:4:2:4")
WANTED = simulated.orders(
    simulated.job("a", pods=2, seconds=100),
    simulated.job("b", pods=3, arrival=40, seconds=10),
    simulated.job("c", pods=9, arrival=50),
)
BOUNDS = {one.work.name: bounds.of(one, SPOTS) for one in WANTED}


def test_the_numbers_are_of_the_jobs_that_started() -> None:
    """Two of three; the second waited for the first."""
    found = summary.of(simulated.run(SPOTS, WANTED, Podrail()), BOUNDS)
    assert (3, 2, 5) == (found.jobs, found.started, found.pods)
    assert (1.0, 1.0, 3, 2, 1.0) == (
        found.aligned,
        found.bandwidth,
        found.leaf_groups,
        found.blocks,
        found.compact,
    )
    assert (30.0, 60.0, 0) == (found.wait_mean, found.wait_most, found.refusals)


def test_the_best_has_no_waits() -> None:
    """What is not bounded is left open; a job that never fits has no fewest leaf groups."""
    found = summary.best(WANTED[:2], BOUNDS).document()
    assert {"aligned": 1.0, "bandwidth": 1.0, "leafGroups": 3, "blocks": 2, "waitMean": None} == {
        key: found[key] for key in ("aligned", "bandwidth", "leafGroups", "blocks", "waitMean")
    }
    assert summary.best(WANTED, BOUNDS).leaf_groups is None


def test_of_nothing_there_is_nothing_to_say() -> None:
    """An empty trace has no shares."""
    found = summary.of(simulated.run(SPOTS, (), Podrail()), {})
    assert (0, None, None, None) == (found.jobs, found.aligned, found.leaf_groups, found.wait_mean)


def test_pairs_on_an_unknown_node_are_not_counted() -> None:
    """Nothing is known of them, neither good nor bad."""
    run = simulated.run(SPOTS, WANTED[:1], Podrail()).runs[0]
    unknown = [replace(spot, state=None) for spot in SPOTS]
    assert (0, 0) == summary.aligned(run, unknown)

"""The replay of a trace, and the laws that hold of every one."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import fuzz
import placing
import pytest
import simulated
from hypothesis import given
from hypothesis import strategies as st

from podrail.kubelet.node import Kubelet, Policy
from podrail.locality import Level
from podrail.score import state
from podrail.simulation import bounds, model, replay, summary
from podrail.simulation.order import Order
from podrail.simulation.replay import Replay
from podrail.simulation.rules import Default, Podrail, Strategy
from podrail.simulation.trace import Work
from podrail.snapshot import Spot

LEAST, MOST = Default(Strategy.LEAST), Default(Strategy.MOST)
ALIGNED = "podrail-aligned:{}:2:4"


def started(found: Replay) -> dict[str, float]:
    """When each job started."""
    return {run.order.work.name: run.start for run in found.runs}


def test_a_job_waits_until_all_of_its_pods_fit() -> None:
    """Later ones that fit do not wait for it; what never fits is told."""
    works = (
        simulated.job("first", seconds=100),
        simulated.job("both", pods=2, arrival=10, seconds=50),
        simulated.job("small", gpus=4, arrival=20, seconds=10),
        simulated.job("huge", pods=3, arrival=30),
    )
    found = simulated.run(simulated.nodes("podrail-aligned:2"), simulated.orders(*works), LEAST)
    assert {"first": 0, "small": 20, "both": 100} == started(found)
    assert ["huge"] == [one.work.name for one in found.waiting]


def test_two_jobs_whose_pods_are_mixed_end_in_a_block_each() -> None:
    """By podrail's rules, where both fit."""
    spots = simulated.nodes("podrail-aligned:64:8:16")
    wanted = simulated.orders(simulated.job("a", pods=16), simulated.job("b", pods=16))
    found = simulated.run(spots, wanted, Podrail())
    blocks = [{spots[pod.node].place.block for pod in run.pods} for run in found.runs]
    assert [1, 1] == [len(one) for one in blocks]
    assert blocks[0] != blocks[1]


def test_the_same_seed_gives_the_same_replay() -> None:
    """And another seed another one."""
    spots = simulated.nodes(ALIGNED.format(8))
    wanted = simulated.orders(*(simulated.job(f"j{n}", gpus=2, arrival=n) for n in range(12)))
    one, same, other = (simulated.run(spots, wanted, LEAST, seed) for seed in (1, 1, 2))
    assert one.runs == same.runs
    assert one.runs != other.runs


def test_what_a_kubelet_refuses_is_counted_and_the_job_waits() -> None:
    """One GPU is taken on each socket; then no NUMA node has four (kubernetes/ci-infra#696)."""
    spots = tuple(
        replace(spot, state=state.same(replace(spot.state, kubelet=Kubelet(Policy.SINGLE_NUMA_NODE), gpus=(1, 2, 3, 5, 6, 7))), free={**spot.free, "nvidia.com/gpu": 6})
        for spot in simulated.nodes("podrail-aligned:1", fabric=simulated.POOL)
        if spot.state is not None
    )  # fmt: skip
    wanted = simulated.orders(simulated.job(gpus=4), fabric=simulated.POOL)
    found = simulated.run(spots, wanted, LEAST)
    assert (replay.ATTEMPTS, ()) == (found.refusals, found.runs)


def test_free_gpus_on_nodes_in_use_are_fragments() -> None:
    """Four of twelve, for as long as it takes until the next job starts."""
    works = (simulated.job("half", gpus=4), simulated.job("next", arrival=10))
    found = simulated.run(simulated.nodes("podrail-aligned:2"), simulated.orders(*works), MOST)
    assert pytest.approx(1 / 3) == found.fragmentation


def test_every_bind_is_told() -> None:
    """So that a long simulation can show that it goes on."""
    told: list[int] = []
    wanted = simulated.orders(simulated.job(pods=3))
    spots = simulated.nodes("podrail-aligned:3")
    replay.replay(spots, wanted, LEAST, Random(0).random, told.append)
    assert [1, 2, 3] == told


CROSSED = ("podrail-crossed:12:2:4", "podrail-aligned:12:2:4")
PLAIN = ("podrail-aligned:12:2:4",)
ALL_RAILS = placing.shared("AllRails")
SCENARIOS = {
    "whole nodes, some crossed": (CROSSED, simulated.RAILS, (8,), 80),
    "all sizes, some crossed": (CROSSED, simulated.RAILS, (2, 4, 8), 60),
    "parts with fixed rails": (PLAIN, simulated.RAILS, (1, 2, 4), 100),
    "late rails": (("hgx-h100-8nic:24:2:4",), simulated.SHARED, (1, 2, 4, 8), 120),
    "all rails, some crossed": (CROSSED, ALL_RAILS, (2, 4, 8), 60),
    "a pool": (PLAIN, simulated.POOL, (1, 2, 4, 8), 100),
}
"""Nodes, fabric, sizes of pods, and how long jobs take at most: seldom does one have to wait."""


def mixed(gpus: tuple[int, ...], seconds: int, seed: int, jobs: int = 40) -> tuple[Work, ...]:
    """Jobs of random sizes that come and go."""
    chance = Random(seed)
    return tuple(
        simulated.job(
            f"j{number}",
            pods=chance.choice([1, 2, 4]),
            gpus=chance.choice(gpus),
            arrival=number * 10,
            seconds=chance.randrange(30, seconds),
        )
        for number in range(jobs)
    )


def shares(spots: tuple[Spot, ...], found: Replay) -> float:
    """The share of aligned pairs."""
    counts = [summary.aligned(run, spots) for run in found.runs]
    return sum(good for good, _ in counts) / sum(known for _, known in counts)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("scenario", [name for name in SCENARIOS if name != "a pool"])
def test_podrail_aligns_at_least_as_many_pairs(scenario: str, seed: int) -> None:
    """As the default scheduler, whichever way it scores; a pool's devices are the kubelet's draw."""
    rows, fabric, gpus, seconds = SCENARIOS[scenario]
    spots = simulated.nodes(*rows, fabric=fabric)
    wanted = simulated.orders(*mixed(gpus, seconds, seed), fabric=fabric)
    ours = shares(spots, simulated.run(spots, wanted, Podrail(), seed))
    for other in (LEAST, MOST):
        assert ours >= shares(spots, simulated.run(spots, wanted, other, seed))


def overlapping(found: Replay) -> list[list[tuple[str, int]]]:
    """For each start, the GPUs and counted devices that are held on some node at that moment."""
    held = []
    for run in found.runs:
        here = [
            (f"{pod.node} {name}", one)
            for other in found.runs
            if other.start <= run.start and not _over(other.order, other.start, run.start)
            for pod in other.pods
            for name, numbers in (("gpu", pod.gpus), ("rail", _own(pod.order, pod.rails)))
            for one in numbers
        ]
        held.append(here)
    return held


def _over(order: Order, start: float, now: float) -> bool:
    return 0 < order.work.seconds <= now - start


def _own(order: Order, rails: tuple[int, ...]) -> tuple[int, ...]:
    return rails if order.need.fixed else ()


@fuzz.examples(8)
@given(
    seed=st.integers(0, 10_000),
    scenario=st.sampled_from(sorted(SCENARIOS)),
    ours=st.booleans(),
    seconds=st.sampled_from([60, 400]),
)
def test_nothing_is_handed_out_twice_and_no_bound_is_beaten(
    seed: int, scenario: str, ours: bool, seconds: int
) -> None:
    """GPUs and exclusive rails have one pod at a time; alignment, bandwidth and places are bounded."""
    rows, fabric, gpus, _ = SCENARIOS[scenario]
    spots = simulated.nodes(*rows, fabric=fabric)
    wanted = simulated.orders(*mixed(gpus, seconds, seed, jobs=25), fabric=fabric)
    found = simulated.run(spots, wanted, Podrail() if ours else LEAST, seed)
    for held in overlapping(found):
        assert [] == [one for one, count in Counter(held).items() if count > 1]
    for run in found.runs:
        bound = bounds.of(run.order, spots)
        good, known = summary.aligned(run, spots)
        assert good <= (bound.aligned or 0.0) * known + 1e-9
        assert (model.job(run, spots) or 0.0) <= (bound.bandwidth or 0.0) + 1e-9
        for level, least in ((Level.LEAF, bound.leaves), (Level.BLOCK, bound.blocks)):
            assert (summary.places(run, spots, level) or 0) >= (least or 0)

"""The model of an all-reduce."""

from __future__ import annotations

from dataclasses import replace

import placing
import pytest
import simulated
import states

from podrail.simulation import model
from podrail.simulation.replay import Run
from podrail.simulation.rules import Default, Strategy
from podrail.topology import Judged, Tier

PAIR = states.machine(["PIX SYS", "SYS NODE"], numas=(0, 1), nics=(0, 1))


@pytest.mark.parametrize(
    ("gpu", "rail", "expected"),
    [(0, 0, 1.0), (1, 1, 0.63), (0, 1, 0.53)],
    ids=["one switch", "one socket", "two sockets"],
)
def test_a_pair_is_as_fast_as_was_measured(gpu: int, rail: int, expected: float) -> None:
    """By its distance."""
    assert expected == model.rate(PAIR, gpu, rail)


def test_on_grace_the_numa_node_decides() -> None:
    """Whatever the distance says."""
    grace = replace(PAIR, judged=Judged.NUMA)
    assert [1.0, model.OTHER_NUMA] == [model.rate(grace, 1, 1), model.rate(grace, 0, 1)]


def test_a_rail_that_serves_more_gpus_than_its_share_is_divided() -> None:
    """As two GPUs on one 200G NIC had half each."""
    pairs = [(0, 0), (1, 0)]
    assert pytest.approx((0.5 + 0.53 / 2) / 2) == model.pod(PAIR, pairs, [2, 2])
    two_to_one = states.machine(["PIX", "PIX"], numas=(0, 0))
    assert 1.0 == model.pod(two_to_one, pairs, [2, 2])


def test_a_job_is_as_fast_as_its_slowest_pod() -> None:
    """One of its nodes is crossed."""
    spots = simulated.nodes("podrail-aligned:1", "podrail-crossed:1")
    wanted = simulated.orders(simulated.job(pods=2))
    (run,) = simulated.run(spots, wanted, Default(Strategy.LEAST)).runs
    assert pytest.approx(model.BY_TIER[Tier.SYS]) == model.job(run, spots)


def test_nothing_is_said_of_a_job_on_an_unknown_node() -> None:
    """Rather than a number that means nothing."""
    spots = tuple(replace(one, state=None) for one in simulated.nodes("podrail-aligned:1"))
    (run,) = simulated.run(spots, simulated.orders(simulated.job()), Default(Strategy.LEAST)).runs
    assert isinstance(run, Run)
    assert model.job(run, spots) is None


def test_every_distance_has_a_rate() -> None:
    """Nearer is never slower."""
    rates = [model.BY_TIER[tier] for tier in Tier]
    assert sorted(rates, reverse=True) == rates
    assert placing.ALIGNED.best in model.BY_TIER

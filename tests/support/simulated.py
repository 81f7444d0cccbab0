"""Small clusters and traces for the tests of the simulation."""

from __future__ import annotations

from random import Random

import builders
import placing

from podrail.fabric import Profile
from podrail.simulation import order, replay, site
from podrail.simulation.order import Order
from podrail.simulation.replay import Replay
from podrail.simulation.rules import Rules
from podrail.simulation.trace import Work
from podrail.snapshot import Spot

RAILS = builders.shipped()["sriov-rails"]
POOL = builders.shipped()["sriov-pool"]
SHARED = placing.shared()


def job(
    name: str = "job", pods: int = 1, gpus: int = 8, *, arrival: int = 0, seconds: int = 0
) -> Work:
    """A job of a trace."""
    return Work(name, arrival, pods, gpus, seconds, "any")


def orders(*works: Work, fabric: Profile = RAILS) -> tuple[Order, ...]:
    """The orders of jobs on one fabric, by arrival."""
    found = [order.order(one, fabric) for one in works]
    return tuple(sorted(found, key=lambda one: one.work.arrival))


def nodes(*rows: str, fabric: Profile = RAILS) -> tuple[Spot, ...]:
    """Idle nodes of SHAPE:COUNT[:LEAF[:BLOCK]]; shapes are the tests'."""
    return site.spots(map(site.row, rows), placing.SHAPES, [fabric])


def run(spots: tuple[Spot, ...], wanted: tuple[Order, ...], rules: Rules, seed: int = 1) -> Replay:
    """The replay with draws of a seed."""
    return replay.replay(spots, wanted, rules, Random(seed).random)

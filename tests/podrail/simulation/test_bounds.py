"""The best that any placement could do."""

from __future__ import annotations

from dataclasses import replace

import placing
import pytest
import simulated

from podrail.fabric import Profile
from podrail.locality import Level
from podrail.simulation import bounds
from podrail.simulation.bounds import Bound


def bound(*rows: str, pods: int = 1, gpus: int = 8, fabric: Profile = simulated.RAILS) -> Bound:  # fmt: skip
    """The bound of one job on these nodes."""
    (order,) = simulated.orders(simulated.job(pods=pods, gpus=gpus), fabric=fabric)
    return bounds.of(order, simulated.nodes(*rows, fabric=fabric))


@pytest.mark.parametrize(
    ("rows", "aligned"),
    [
        (("podrail-aligned:1",), 1.0),
        (("podrail-crossed:1",), 0.0),
        (("podrail-crossed:1", "podrail-aligned:1"), 1.0),
    ],
    ids=["aligned", "crossed", "either"],
)
def test_the_best_machine_bounds_alignment(rows: tuple[str, ...], aligned: float) -> None:
    """For each job as if it were alone."""
    assert aligned == bound(*rows, gpus=4).aligned


@pytest.mark.parametrize(
    ("pods", "leaves", "blocks"), [(1, 1, 1), (4, 1, 1), (5, 2, 1), (9, 3, 2), (17, None, None)]
)
def test_the_fewest_places_hold_the_job(pods: int, leaves: int | None, blocks: int | None) -> None:
    """With all nodes empty: four leaf groups of four, two blocks; more pods than nodes never fit."""
    found = bound("podrail-aligned:16:4:8", pods=pods)
    assert (leaves, blocks) == (found.leaves, found.blocks)


def test_small_pods_share_nodes() -> None:
    """Sixteen halves need eight nodes, and all sixteen if they have the same rails everywhere."""
    rows = ("podrail-aligned:16:4:8",)
    assert 2 == bound(*rows, pods=16, gpus=4, fabric=simulated.SHARED).leaves
    assert 4 == bound(*rows, pods=16, gpus=4).leaves


def test_what_is_not_known_is_not_bounded() -> None:
    """No places, or a node without a topology."""
    (order,) = simulated.orders(simulated.job())
    (spot,) = simulated.nodes("podrail-aligned:1")
    assert Bound(1.0, 1.0, None, None) == bounds.of(order, [spot])
    assert bounds.of(order, [spot, replace(spot, state=None)]).aligned is None
    assert bounds.fewest(order, [spot], Level.LEAF) is None


def test_rails_that_come_late_may_be_any() -> None:
    """Admission's default is no bound then."""
    assert 1.0 == bound("podrail-aligned:1", gpus=4, fabric=placing.shared()).aligned

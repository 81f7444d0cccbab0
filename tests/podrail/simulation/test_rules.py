"""The rules of placement that are compared."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
import simulated

from podrail.simulation import rules
from podrail.simulation.floor import Floor
from podrail.simulation.order import Order
from podrail.simulation.rules import Asker, Default, Podrail, Strategy


def taken(floor: Floor, node: int, order: Order) -> None:
    """Seat a pod on the node."""
    got = floor.draw(node, order, Random(1).random)
    assert got is not None
    floor.seat(node, order, got, order.need.rails)


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [(Strategy.LEAST, {"idle": 75, "half": 25}), (Strategy.MOST, {"idle": 25, "half": 75})],
)
def test_fit_scores_what_is_left_or_what_is_taken(
    strategy: Strategy, expected: dict[str, int]
) -> None:
    """Of 100, once the pod is there: two GPUs on an idle node, and on one with four taken."""
    floor = Floor(simulated.nodes("podrail-aligned:2"))
    four, two = simulated.orders(simulated.job("four", gpus=4), simulated.job("two", gpus=2))
    taken(floor, 1, four)
    kinds = sorted(floor.kinds(lambda _one: True), key=lambda kind: kind.nodes)
    points = Default(strategy).points(kinds, Asker(two, 0, 0.0))
    assert expected == dict(zip(("idle", "half"), points, strict=True))


def test_a_point_of_the_extender_outvotes_fit() -> None:
    """Its weight makes a point worth two full scores of a plugin."""
    assert rules.POINT > rules.FULL


def test_podrail_takes_the_aligned_node() -> None:
    """Where the default scheduler sees no difference."""
    floor = Floor(simulated.nodes("podrail-crossed:1", "podrail-aligned:1"))
    (order,) = simulated.orders(simulated.job())
    kinds = sorted(floor.kinds(lambda _one: True), key=lambda kind: kind.nodes)
    asker = Asker(order, 0, 0.0)
    crossed, aligned = Podrail().points(kinds, asker)
    assert aligned > crossed + rules.FULL
    assert 1 == len(set(Default(Strategy.MOST).points(kinds, asker)))


def test_podrail_refuses_for_now_until_patience_is_over() -> None:
    """As the profile says; then the node does after all."""
    fabric = replace(simulated.SHARED, patience_seconds=60)
    floor = Floor(simulated.nodes("podrail-aligned:1", fabric=fabric))
    one, two, three = simulated.orders(
        *(simulated.job(name, gpus=2) for name in ("a", "b", "c")), fabric=fabric
    )
    got = floor.draw(0, one, Random(1).random)
    assert got is not None
    floor.seat(0, one, got, (0, 1, 2, 3))
    got = floor.draw(0, two, Random(1).random)
    assert got is not None
    floor.seat(0, two, got, (4, 5, 6, 7))
    tried = Podrail()
    suits = [tried.suits(Asker(three, 0, now))(floor.kind(0).at) for now in (0.0, 61.0)]
    assert [False, True] == suits


def test_podrail_remembers_what_is_bound_and_forgets_what_is_gone() -> None:
    """Rails, members and claims: nothing leaks."""
    floor = Floor(simulated.nodes("podrail-aligned:4:2"))
    (order,) = simulated.orders(simulated.job(pods=3))
    tried, asker = Podrail(), Asker(order, 0, 0.0)
    got = floor.draw(0, order, Random(1).random)
    assert got is not None
    tried.bound(floor, floor.seat(0, order, got, order.need.rails), asker)
    assert (1, 1, 1) == (len(tried.ledger), len(tried.siblings), len(tried.claims))
    tried.gone(asker)
    tried.ended(order)
    assert (0, 0, 0) == (len(tried.ledger), len(tried.siblings), len(tried.claims))


def test_a_node_without_such_gpus_has_no_points() -> None:
    """And kinds that are alike are scored once."""
    floor = Floor(simulated.nodes("podrail-aligned:2:1"))
    (order,) = simulated.orders(simulated.job())
    other = replace(order, gpu_name="amd.com/gpu", asked={"amd.com/gpu": 0})
    kinds = list(floor.kinds(lambda _one: True))
    assert 2 == len(kinds)
    assert [0, 0, 0] == rules.fit([*kinds, kinds[0]], other, Strategy.LEAST)

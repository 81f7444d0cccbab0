from __future__ import annotations

from fractions import Fraction

import kubelets
import pytest

from podrail.kubelet import allocation
from podrail.kubelet.node import Card, Counts, Plugin, Resource, Stock

NONE = (0, 0, 0, 0)
# Two devices on NUMA node 0, one on node 1, one that publishes none.
POOL = Resource("x.dev/vf", (Card(0, 0), Card(1, 0), Card(2, 1), Card(3, None)))
SLICED = Resource(
    "x.dev/gpu", (Card(0, 0, 2), Card(1, 0, 2), Card(2, 1, 2), Card(3, 1, 2)), Plugin.PACKED
)


@pytest.mark.parametrize(
    ("want", "mask", "expected"),
    [
        pytest.param(1, 0b01, {(1, 0, 0, 0), (0, 1, 0, 0)}, id="some of the aligned"),
        pytest.param(2, 0b01, {(1, 1, 0, 0)}, id="all of the aligned"),
        pytest.param(3, 0b01, {(1, 1, 1, 0)}, id="then of other NUMA nodes"),
        pytest.param(2, 0b10, {(1, 0, 1, 0), (0, 1, 1, 0)}, id="one of the others"),
        pytest.param(3, None, {(1, 1, 1, 0), (1, 1, 0, 1), (1, 0, 1, 1), (0, 1, 1, 1)}, id="any"),
        pytest.param(4, 0b01, {(1, 1, 1, 1)}, id="everything"),
    ],
)
def test_inside_before_outside(want: int, mask: int | None, expected: set[Counts]) -> None:
    """Devices of the affinity come first, then those of other NUMA nodes, then those of none."""
    found = allocation.fresh(POOL, Stock((1, 1, 1, 1), NONE), want, mask)
    assert expected == {counts for counts, _ in found.chances}
    assert len({chance for _, chance in found.chances}) == 1


def test_devices_without_numa_node_come_last() -> None:
    """With one aligned and one other device free the third comes from those without a node."""
    pool = Resource("x.dev/vf", (Card(0, 0), Card(1, 1), Card(2, None), Card(3, None)))
    found = allocation.fresh(pool, Stock((1, 1, 1, 1), NONE), 3, 0b01)
    assert {(1, 1, 1, 0), (1, 1, 0, 1)} == {counts for counts, _ in found.chances}


def test_packed_replicas_inside_the_affinity() -> None:
    """The plugin is asked about the aligned devices only."""
    found = allocation.fresh(SLICED, Stock((2, 1, 1, 1), NONE), 1, 0b01)
    assert (((0, 1, 0, 0), Fraction(1)),) == found.chances


def test_no_preference_is_a_blind_draw() -> None:
    """Where the preferred set is one the plugin fails on, any GPU may come."""
    pairs = {(0, 1): 1800, (2, 3): 10, (2, 4): 10, (3, 4): 10}
    links = tuple(tuple(pairs.get((min(a, b), max(a, b)), 0) for b in range(5)) for a in range(5))
    gpus = Resource(
        kubelets.GPU, tuple(Card(at, 0) for at in range(5)), Plugin.ALIGNED, links=links
    )
    found = allocation.fresh(gpus, Stock((1,) * 5, (0,) * 5), 3, None)
    assert ({Fraction(1, 10)}, 10) == ({chance for _, chance in found.chances}, len(found.chances))

from __future__ import annotations

import kubelets
import pytest

from podrail.kubelet import hints
from podrail.kubelet.hints import ANYWHERE, NOWHERE, Affinity, Hints
from podrail.kubelet.node import Kubelet, Machine, Policy, Stock

FOUR_NODES = (0, 0, 1, 1, 2, 2, 3, 3)
# Two sockets of two NUMA nodes each; the first socket's are nodes 0 and 2.
DISTANCES = ((10, 20, 12, 20), (20, 10, 20, 12), (12, 20, 10, 20), (20, 12, 20, 10))


def of(machine: Machine, want: int, held: tuple[int, ...] = ()) -> Hints | None:
    free = kubelets.node(machine, held).free[0]
    return hints.of(machine, 0, Stock(free, (0,) * len(free)), want)


@pytest.mark.parametrize(
    ("want", "held", "expected"),
    [
        pytest.param(4, (), Hints(frozenset({1, 2, 3}), frozenset({1, 2}), 1), id="one node does"),
        pytest.param(4, (0,), Hints(frozenset({2, 3}), frozenset({2}), 1), id="the other one"),
        pytest.param(4, (0, 4), Hints(frozenset({3}), frozenset(), 1), id="none preferred"),
        pytest.param(5, (), Hints(frozenset({3}), frozenset({3}), 2), id="both are needed"),
        pytest.param(9, (), NOWHERE, id="too few"),
        pytest.param(0, (), Hints(frozenset({1, 2, 3}), frozenset({1, 2}), 1), id="nothing asked"),
    ],
)
def test_hints(want: int, held: tuple[int, ...], expected: Hints) -> None:
    """A mask is preferred if it is as narrow as would do on an empty node."""
    assert expected == of(kubelets.machine(kubelets.gpus()), want, held)


def test_no_numa_node_is_no_hint() -> None:
    """A resource whose plugin publishes no NUMA node goes anywhere."""
    assert ANYWHERE is of(kubelets.machine(kubelets.pool(told=False)), 1)


def test_left_devices_must_be_inside() -> None:
    """What init containers left has to lie in the mask."""
    machine = kubelets.machine(kubelets.gpus())
    free, had = (0, 1, 1, 1, 1, 1, 1, 1), (1, 0, 0, 0, 0, 0, 0, 0)
    found = hints.of(machine, 0, Stock(free, had), 4)
    assert Hints(frozenset({1, 3}), frozenset({1}), 1) == found


@pytest.mark.parametrize(
    ("minor", "expected"),
    [pytest.param(36, {0b0001}, id="1.36"), pytest.param(35, {*range(1, 16, 2)}, id="1.35")],
)
def test_nodes_without_devices(minor: int, expected: set[int]) -> None:
    """Kubelets up to 1.35 combine NUMA nodes that bear none of the resource's devices as well."""
    rail = kubelets.rails((0,))
    machine = kubelets.machine(*rail, numas=4, kubelet=Kubelet(Policy.RESTRICTED, minor=minor))
    found = of(machine, 1)
    assert found is not None
    assert (expected, {0b0001}) == (set(found.masks), set(found.preferred))


def some(masks: set[int], preferred: set[int]) -> Hints:
    return Hints(frozenset(masks), frozenset(preferred))


@pytest.mark.parametrize(
    ("policy", "found", "expected"),
    [
        pytest.param(Policy.NONE, [NOWHERE], Affinity(None, True), id="none"),
        pytest.param(Policy.RESTRICTED, [ANYWHERE], Affinity(0b1111, True), id="nobody cares"),
        pytest.param(
            Policy.SINGLE_NUMA_NODE, [ANYWHERE], Affinity(None, True), id="single, nobody cares"
        ),
        pytest.param(
            Policy.RESTRICTED,
            [some({1, 2}, {1, 2}), some({2, 3}, {2})],
            Affinity(2, True),
            id="agreed",
        ),
        pytest.param(
            Policy.RESTRICTED, [some({1}, {1}), some({2}, {2})], Affinity(0b1111, False), id="apart"
        ),
        pytest.param(
            Policy.BEST_EFFORT, [some({1, 3}, {1}), NOWHERE], Affinity(1, False), id="too few"
        ),
        pytest.param(
            Policy.BEST_EFFORT,
            [some({3, 7}, {3}), some({1, 15}, {1})],
            Affinity(3, False),
            id="as wide as the widest need",
        ),
        pytest.param(
            Policy.BEST_EFFORT,
            [some({7}, {7}), some({5}, set())],
            Affinity(5, False),
            id="below it",
        ),
        pytest.param(Policy.BEST_EFFORT, [NOWHERE], Affinity(0b1111, False), id="only too few"),
        pytest.param(
            Policy.SINGLE_NUMA_NODE, [some({3}, {3})], Affinity(None, False), id="single, too wide"
        ),
        pytest.param(
            Policy.SINGLE_NUMA_NODE,
            [some({1, 2, 3}, {1, 2}), some({2}, {2})],
            Affinity(2, True),
            id="single, agreed",
        ),
        pytest.param(
            Policy.SINGLE_NUMA_NODE,
            [some({1}, {1}), some({2}, {2})],
            Affinity(None, False),
            id="single, apart",
        ),
    ],
)
def test_merging(policy: Policy, found: list[Hints | None], expected: Affinity) -> None:
    """Equal preferred hints win; else the mask that is as wide as the widest need, or nearly."""
    assert expected == hints.merge(kubelets.machine(policy=policy, numas=4), found)


@pytest.mark.parametrize(
    ("closest", "expected"),
    [pytest.param(False, 0b0011, id="lowest"), pytest.param(True, 0b0101, id="closest")],
)
def test_the_closest_nodes(*, closest: bool, expected: int) -> None:
    """The option prefer-closest-numa-nodes takes nodes of one socket, not the lowest numbers."""
    kubelet = Kubelet(Policy.RESTRICTED, closest=closest)
    machine = Machine(kubelet, (0, 1, 2, 3), (kubelets.gpus(FOUR_NODES),), DISTANCES)
    assert Affinity(expected, preferred=True) == hints.merge(machine, [of(machine, 4)])


@pytest.mark.parametrize("policy", Policy)
@pytest.mark.parametrize("preferred", [True, False])
def test_who_is_admitted(policy: Policy, *, preferred: bool) -> None:
    """Only restricted and single-numa-node refuse, and only what is not preferred."""
    lenient = policy in {Policy.NONE, Policy.BEST_EFFORT}
    assert (preferred or lenient) == hints.admits(policy, Affinity(1, preferred))

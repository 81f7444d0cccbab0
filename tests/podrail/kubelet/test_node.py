from __future__ import annotations

from podrail.kubelet import node
from podrail.kubelet.node import Card, Kubelet, Machine, Resource


def test_what_a_pair_of_gpus_is_worth() -> None:
    """Nearest first: the same PCIe switch, the same NUMA node, anything else; NVLinks on top."""
    found = node.links((0, 0, 0, None, None), (7, 7, 8, None, None), nvlinks=2)
    assert (0, 250, 220, 210, 210) == found[0]
    assert (210, 210, 210, 0, 210) == found[3]


def test_equal_machines_are_one_key() -> None:
    """Two machines of one make share what is kept for them."""
    made = [Machine(Kubelet(), (0,), (Resource("x.dev/vf", (Card(0, 0),)),)) for _ in range(2)]
    assert (1, made[0]) == (len(set(made)), made[1])


def test_cards_behind_devices() -> None:
    """Each device names its card; a shared pool's device names all cards of the pool."""
    pool = Resource("x.dev/vf", (Card(4, 0, 8), Card(7, 1, 8)))
    assert (4, 4, 7) == pool.numbers((2, 1))
    shared = node.shared("x.dev/shared", (4, 7), 63)
    assert ((4, 7), ()) == (shared.numbers((2,)), shared.numbers((0,)))

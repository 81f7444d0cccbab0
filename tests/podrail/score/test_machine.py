"""The nodes that a state can be, for the resources of one pod."""

from __future__ import annotations

from dataclasses import replace

import builders
import placing
import states

from podrail.kubelet.node import Container, Plugin
from podrail.score import machine
from podrail.score.need import Need
from podrail.score.state import State
from podrail.topology import Gpu

POOL = "x.io/vf"
FABRIC = builders.fabric(
    attachment="SriovVF",
    rails={"count": 8},
    resources=[{"name": POOL, "count": {"per": "GPU", "value": 1}}],
)


def of(state: State, need: Need) -> tuple[machine.Possible, ...]:
    return machine.possible(state, need)


def capacity(state: State, **devices: int) -> State:
    """The state with so many devices on offer."""
    return replace(state, capacity=tuple((POOL, many) for many in devices.values()))


def test_resources_are_those_that_the_pod_asks_for() -> None:
    """GPUs first, with the plugin that serves them; a pool has its VFs on all ports."""
    (one,) = of(capacity(states.node(), many=16), states.need(FABRIC, 2))
    gpus, pool = one.node.machine.resources
    assert (states.GPU, True, Plugin.ALIGNED) == (gpus.name, gpus.gpu, gpus.plugin)
    assert (POOL, (2,) * 8) == (pool.name, tuple(card.devices for card in pool.cards))
    assert ((0, 1), tuple(range(8))) == (one.node.machine.numas, one.gpus)


def test_gpus_of_another_vendor_come_as_they_come() -> None:
    """Only NVIDIA's plugin is known to prefer some."""
    request = (Container((("amd.com/gpu", 1),)),)
    (one,) = of(states.node(), Need(1, (), request=request, gpu_names=("amd.com/gpu",)))
    assert Plugin.ANY is one.node.machine.resources[0].plugin


def test_the_vfs_of_a_pool_that_are_free_are_spread_over_its_ports() -> None:
    """Ten of sixteen: one of each port, and two more."""
    state = capacity(states.node(free={POOL: 10}), many=16)
    assert ((2, 2, 1, 1, 1, 1, 1, 1),) == tuple(
        one.node.free[1] for one in of(state, states.need(FABRIC, 2))
    )


def test_more_vfs_than_matter_are_not_told_apart() -> None:
    """So that 64 VFs of a port make no more states than four."""
    (one,) = of(capacity(states.node(), many=512), states.need(FABRIC, 2))
    assert {machine.MOST_VFS} == {card.devices for card in one.node.machine.resources[1].cards}


def test_the_evidence_may_say_which_nics_a_resource_has() -> None:
    """Two of eight belong to the pool."""
    nics = tuple(
        replace(nic, resource=POOL if nic.rail in {2, 5} else "x.io/other")
        for nic in placing.ALIGNED.nics
    )
    (one,) = of(states.node(replace(placing.ALIGNED, nics=nics)), states.need(FABRIC, 2))
    assert (2, 5) == tuple(card.number for card in one.node.machine.resources[1].cards)


def test_a_shared_device_opens_all_nics() -> None:
    """However many of its devices are left."""
    shared = builders.fabric(
        attachment="SharedDevice", rails={"count": 8}, resources=[{"name": POOL}]
    )
    state = capacity(states.node(free={POOL: 30}), many=63)
    (one,) = of(state, states.need(shared, 8))
    assert tuple(range(8)) == one.node.machine.resources[1].gives


def test_a_resource_whose_nics_the_node_has_not_is_left_out() -> None:
    """The kubelet model knows nothing to say of it."""
    bare = replace(placing.ALIGNED, nics=(), tiers=((),) * 8)
    (one,) = of(states.node(bare), states.need(FABRIC, 8))
    assert [states.GPU] == [resource.name for resource in one.node.machine.resources]


def test_a_pod_without_gpus_finds_the_free_ones_untouched() -> None:
    """It may still want rails."""
    request = (Container(((POOL, 1),)),)
    (one,) = of(states.node(gpus=(1, 2)), Need(0, (0,), request=request, fabric=FABRIC))
    assert ((1, 2), [POOL]) == (one.gpus, [each.name for each in one.node.machine.resources])


def test_a_sick_gpu_is_never_free() -> None:
    """Seven are offered, and three of them are free."""
    cards = tuple(Gpu(f"G{gpu}", healthy=gpu != 3) for gpu in range(8))
    state = states.node(replace(placing.ALIGNED, cards=cards), free={states.GPU: 3})
    found = of(state, Need(1, ()))
    assert machine.MOST_NODES == len(found)
    assert {0} == {one.node.free[0][3] for one in found}
    assert {3} == {len(one.gpus) for one in found}

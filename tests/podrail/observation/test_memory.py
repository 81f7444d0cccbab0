"""What is remembered of a boot's devices."""

from dataclasses import replace
from typing import Any

import placing

from podrail.evidence.noderails import Host, Port
from podrail.observation import memory
from podrail.observation.memory import Seen
from podrail.topology import Gpu, Nic, Topology

SHAPE = placing.SHAPES["hgx-h100-8nic"]
WHOLE = replace(
    SHAPE,
    cards=tuple(Gpu(pci=f"0000:2{at}:00.0") for at in range(8)),
    nics=tuple(
        replace(nic, name=f"mlx5_{at}", device=f"mlx5_{at}", pci=f"0000:6{at}:00.0")
        for at, nic in enumerate(SHAPE.nics)
    ),
)


def without(topology: Topology, gpu: int, nic: int) -> Topology:
    """The topology that is left when two devices are gone."""
    return replace(
        topology,
        gpus=_cut(topology.gpus, gpu),
        cards=_cut(topology.cards, gpu),
        nics=_cut(topology.nics, nic),
        tiers=tuple(_cut(row, nic) for row in _cut(topology.tiers, gpu)),
    )


def _cut(items: tuple[Any, ...], at: int) -> tuple[Any, ...]:
    return items[:at] + items[at + 1 :]


def first() -> Seen:
    host = Host(ports=tuple(Port(nic.device, vfs=("v",)) for nic in WHOLE.nics))
    return memory.recall(None, WHOLE, host, {})


def test_what_is_gone_keeps_its_place() -> None:
    """Indices, rails and distances stay; ports too."""
    left = without(WHOLE, 2, 5)
    found = memory.recall(first(), left, Host(), {})
    assert frozenset({"0000:22:00.0", "mlx5_5"}) == found.gone
    assert first().topology.tiers == found.topology.tiers
    assert [0, 1, 2, 3, 4, 5, 6, 7] == [nic.rail for nic in found.topology.nics]
    assert Port("mlx5_5", vfs=("v",)) == found.host.ports[5]


def test_values_are_those_of_now() -> None:
    """Only what is gone is as it was."""
    slow = tuple(replace(nic, gbps=100) for nic in WHOLE.nics)
    left = without(replace(WHOLE, nics=slow), 0, 0)
    found = memory.recall(first(), left, Host(), {})
    assert [None, *(100,) * 7] == [nic.gbps for nic in found.topology.nics]


def test_new_devices_are_a_new_beginning() -> None:
    """Another card in the place of one is another machine."""
    other = replace(WHOLE.nics[0], name="mlx5_9", device="mlx5_9")
    changed = replace(WHOLE, nics=(other, *WHOLE.nics[1:]))
    found = memory.recall(first(), changed, Host(), {})
    assert (frozenset(), "mlx5_9") == (found.gone, found.topology.nics[0].name)


def test_two_ports_of_a_card_are_two_nics() -> None:
    """They share an address."""
    pair = tuple(
        Nic(f"mlx5_{at}", None, 0, device=f"mlx5_{at}", pci="0000:60:00.0") for at in (0, 1)
    )
    two = replace(WHOLE, nics=pair, tiers=tuple(row[:2] for row in WHOLE.tiers))
    left = replace(two, nics=pair[1:], tiers=tuple(row[:1] for row in two.tiers))
    before = memory.recall(None, two, Host(), {})
    found = memory.recall(before, left, Host(), {})
    assert (frozenset({"mlx5_0"}), 2) == (found.gone, len(found.topology.nics))

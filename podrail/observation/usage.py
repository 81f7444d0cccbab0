"""Which devices are held and which are free, by rail, as the kubelet's PodResources tells it.

A device is on a rail if its identifier is the address of the rail's NIC or of one of its VFs
(sriov-network-device-plugin); it is a GPU's if it begins with the GPU's identifier (NVIDIA's
plugin; replicas add ::N). Numbered devices of a shared pool are on no rail.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from podrail.evidence.noderails import Allocation, Host
from podrail.topology import Topology

_REPLICA: Final = "::"


@dataclass(frozen=True, slots=True)
class Usage:
    """The devices that containers hold, and those that may be handed out at all, by resource.

    offered is None where the kubelet does not tell.
    """

    held: tuple[Allocation, ...] = ()
    offered: Mapping[str, frozenset[str]] | None = field(default=None)


def places(topology: Topology, host: Host) -> Mapping[str, str]:
    """Where each device identifier belongs: g and a GPU's index, or r and a rail."""
    found = {card.id: f"g{at}" for at, card in enumerate(topology.cards) if card.id}
    virtual = {one.hca: one.vfs for one in host.ports}
    for nic in topology.nics:
        if nic.rail is not None:
            addresses = (nic.pci, *virtual.get(nic.device, ()))
            found |= {address: f"r{nic.rail}" for address in addresses if address}
    return found


def named(topology: Topology, host: Host, usage: Usage) -> Topology:
    """The topology with the resource of each NIC whose devices all belong to one."""
    owners: dict[str, set[str]] = {}
    for resource, devices in _every(usage).items():
        for device in devices:
            owners.setdefault(device, set()).add(resource)
    virtual = {one.hca: one.vfs for one in host.ports}
    nics = []
    for nic in topology.nics:
        addresses = (nic.pci, *virtual.get(nic.device, ()))
        found = {name for one in addresses for name in owners.get(one, ())}
        nics.append(replace(nic, resource=found.pop() if len(found) == 1 else ""))
    return replace(topology, nics=tuple(nics))


def free(topology: Topology, host: Host, usage: Usage) -> str:
    """16 hex digits that differ whenever the free devices of a rail or a GPU, or its health, do."""
    where = places(topology, host)
    held = Counter((one.resource, _place(where, one.device)) for one in usage.held)
    offered = Counter(
        (resource, _place(where, device))
        for resource, devices in (usage.offered or {}).items()
        for device in devices
    )
    left = {key: count - held[key] for key, count in offered.items()}
    taken = {key: count for key, count in held.items() if key not in offered}
    told = [
        _rows(left),
        _rows(taken),
        [[nic.rail, nic.state or ""] for nic in topology.nics if nic.rail is not None],
        [card.healthy for card in topology.cards],
    ]
    text = json.dumps(told, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _rows(counts: Mapping[tuple[str, str], int]) -> list[list[str | int]]:
    return [[resource, place, counts[resource, place]] for resource, place in sorted(counts)]


def _place(where: Mapping[str, str], device: str) -> str:
    return where.get(device.partition(_REPLICA)[0], "")


def _every(usage: Usage) -> Mapping[str, Iterable[str]]:
    found: dict[str, set[str]] = {
        resource: set(devices) for resource, devices in (usage.offered or {}).items()
    }
    for one in usage.held:
        found.setdefault(one.resource, set()).add(one.device)
    return found

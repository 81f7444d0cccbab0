"""What an agent saw of its node: the devices' state, and which of them each container holds.

Little is kept of a NodeRails, since there are thousands: equal nodes share one topology, and the
devices of containers are told by index and position. Which identifiers belong to which device:
NVIDIA's plugin has GPU-<uuid> (replicas add ::N), AMD's and the SR-IOV plugin PCI addresses, EFA's
the RDMA device. Numbered devices of a shared pool belong to none.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from podrail.audit import unique
from podrail.evidence.noderails import Allocation, Host, NodeRails
from podrail.score import state
from podrail.topology import Nic, State, Topology

_REPLICA: Final = "::"


@dataclass(frozen=True, slots=True)
class Holding:
    """What one container holds; GPUs by index, NICs by position in the sight."""

    container: str
    gpus: tuple[int, ...] = ()
    nics: tuple[int, ...] = ()
    others: tuple[str, ...] = ()
    """The resources of devices that are none of these."""


@dataclass(frozen=True, slots=True)
class Sight:
    """A node as its agent saw it last."""

    topology: Topology
    """Of GPUs and of NICs that are on rails, without what tells two nodes of a kind apart."""
    nics: tuple[str, ...] = ()
    """The names of its NICs."""
    ports: tuple[State | None, ...] = ()
    """What the ports of its NICs say."""
    unwell: tuple[int, ...] = ()
    """The GPUs that are not healthy."""
    observed_at: float | None = None
    """In seconds since the epoch, by the node's clock."""
    pods: Mapping[str, tuple[Holding, ...]] = field(default_factory=dict)
    """By namespace/name, since PodResources gives no UID."""
    causes: Mapping[str, str] = field(default_factory=dict)
    """The code of what is wrong with a NIC, by its name."""


def of(found: NodeRails) -> Sight | None:
    """What the object says of its node; None if it lists no devices."""
    whole = found.topology
    if whole is None:
        return None
    kept = [nic for nic in whole.nics if nic.rail is not None]
    names = {nic.name for nic in kept}
    return Sight(
        topology=_kind(whole),
        nics=unique.one(tuple(nic.name for nic in kept)),
        ports=unique.one(tuple(nic.state for nic in kept)),
        unwell=tuple(at for at, card in enumerate(whole.cards) if not card.healthy),
        observed_at=moment(found.observed_at),
        pods=_pods(found.allocations, _gpus(whole), _nics(kept, found.host)),
        causes={one.device: one.code for one in reversed(found.troubles) if one.device in names},
    )


def moment(text: object) -> float | None:
    """An RFC 3339 time in seconds since the epoch; None if it is none."""
    try:
        return datetime.fromisoformat(str(text)).timestamp()
    except (ValueError, OverflowError):
        return None


def _kind(whole: Topology) -> Topology:
    """What all nodes of a kind have in common, whatever has become of their devices."""
    nics = tuple(replace(nic, state=None) for nic in whole.nics)
    # Not through the cache, which would hold on to tens of thousands of whole topologies.
    return state.plain.__wrapped__(replace(whole, nics=nics, cards=()))


def _gpus(topology: Topology) -> Mapping[str, int]:
    cards = enumerate(topology.cards)
    return {key: at for at, card in cards for key in (card.id, card.pci) if key}


def _nics(nics: Sequence[Nic], host: Host) -> Mapping[str, int]:
    """The identifiers of each NIC; one that several have, as ports of a card, tells nothing."""
    virtual = {one.hca: one.vfs for one in host.ports}
    named = [
        (name, at)
        for at, nic in enumerate(nics)
        for name in {nic.pci, nic.device, nic.netdev, *virtual.get(nic.device, ())} - {""}
    ]
    times = Counter(name for name, _ in named)
    return {name: at for name, at in named if times[name] == 1}


def _pods(
    allocations: Sequence[Allocation], gpus: Mapping[str, int], nics: Mapping[str, int]
) -> Mapping[str, tuple[Holding, ...]]:
    found: dict[str, dict[str, list[Allocation]]] = {}
    for one in allocations:
        containers = found.setdefault(f"{one.namespace}/{one.pod}", {})
        containers.setdefault(one.container, []).append(one)
    return {
        pod: tuple(_held(name, some, gpus, nics) for name, some in containers.items())
        for pod, containers in found.items()
    }


def _held(
    container: str, some: Sequence[Allocation], gpus: Mapping[str, int], nics: Mapping[str, int]
) -> Holding:
    bare = [(one.resource, one.device.partition(_REPLICA)[0]) for one in some]
    known = gpus.keys() | nics.keys()
    others = {unique.one(name) for name, device in bare if device not in known}
    return Holding(
        unique.one(container),
        tuple(sorted({gpus[device] for _, device in bare if device in gpus})),
        tuple(sorted({nics[device] for _, device in bare if device in nics})),
        tuple(sorted(others)),
    )

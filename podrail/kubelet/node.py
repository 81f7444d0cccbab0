"""A node as its kubelet sees it: NUMA nodes, device plugins and their devices, and what is free.

A card is a physical GPU or NIC; its devices are what the plugin lists for it (one whole GPU,
time-sliced replicas, the VFs of a port). Cards matter to a pod, devices to the kubelet.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Final

Counts = tuple[int, ...]
"""A number of devices for each card of a resource."""


@dataclass(frozen=True, slots=True)
class Stock:
    """Of one resource: devices that may be chosen, and devices that are had or left already."""

    free: Counts
    had: Counts


class Policy(StrEnum):
    """The kubelet's topologyManagerPolicy."""

    NONE = "none"
    BEST_EFFORT = "best-effort"
    RESTRICTED = "restricted"
    SINGLE_NUMA_NODE = "single-numa-node"


class Scope(StrEnum):
    """The kubelet's topologyManagerScope."""

    CONTAINER = "container"
    POD = "pod"


class Plugin(StrEnum):
    """What GetPreferredAllocation of a device plugin does.

    ALIGNED: NVIDIA's for whole GPUs (go-gpuallocator v0.6.0). DISTRIBUTED, PACKED, SPREAD: NVIDIA's
    for replicas and MIG (k8s-device-plugin, internal/rm/allocate.go). ANY: none, so that any free
    device may come (sriov-network-device-plugin, k8s-rdma-shared-dev-plugin).
    """

    ALIGNED = "aligned"
    DISTRIBUTED = "distributed"
    PACKED = "packed"
    SPREAD = "spread"
    ANY = "any"


class Kind(StrEnum):
    """A container's part in its pod; a sidecar is an init container that restarts always."""

    INIT = "init"
    SIDECAR = "sidecar"
    APP = "app"


PAIR: Final[Mapping[str, int]] = {
    "SYS": 10,
    "NODE": 20,
    "PHB": 30,
    "PXB": 40,
    "PIX": 50,
    "BOARD": 60,
    "NV": 100,
}
"""What a pair of GPUs is worth to go-gpuallocator v0.6.0; NV counts for each NVLink, on top."""


@dataclass(frozen=True, slots=True)
class Card:
    """A GPU or NIC: its number on the node, its NUMA node, its devices, healthy or not."""

    number: int
    numa: int | None
    devices: int = 1


@dataclass(frozen=True, slots=True)
class Resource:
    """An extended resource of one device plugin."""

    name: str
    cards: tuple[Card, ...]
    plugin: Plugin = Plugin.ANY
    gpu: bool = False
    publishes_numa: bool = True
    """False with excludeTopology, and for plugins that never say it."""
    links: tuple[tuple[int, ...], ...] = ()
    """For ALIGNED: what each pair of cards is worth, by position (PAIR)."""
    gives: tuple[int, ...] = ()
    """For a shared pool: the cards that every device of it opens."""

    @property
    def numas(self) -> tuple[int | None, ...]:
        """The NUMA node that the kubelet is told for each card."""
        return tuple(card.numa if self.publishes_numa else None for card in self.cards)

    def numbers(self, counts: Counts) -> tuple[int, ...]:
        """The cards behind so many devices of each, one entry for each device."""
        if self.gives:
            return self.gives if any(counts) else ()
        found: list[int] = []
        for card, count in zip(self.cards, counts, strict=True):
            found += [card.number] * count
        return tuple(found)


def shared(name: str, nics: Sequence[int], devices: int) -> Resource:
    """A pool of k8s-rdma-shared-dev-plugin: any device opens all NICs, and none has a NUMA node."""
    return Resource(name, (Card(-1, None, devices),), publishes_numa=False, gives=tuple(nics))


def links(
    numas: Sequence[int | None], switches: Sequence[int | None] = (), nvlinks: int = 0
) -> tuple[tuple[int, ...], ...]:
    """Resource.links of GPUs by NUMA node, PCIe switch and the NVLinks between any two of them."""
    places = range(len(numas))
    known = switches or [None] * len(numas)

    def pair(one: int, other: int) -> int:
        if one == other:
            return 0
        near = "NODE" if numas[one] is not None and numas[one] == numas[other] else "SYS"
        if known[one] is not None and known[one] == known[other]:
            near = "PIX"
        return PAIR[near] + PAIR["NV"] * nvlinks

    return tuple(tuple(pair(one, other) for other in places) for one in places)


@dataclass(frozen=True, slots=True)
class Kubelet:
    """The settings and the version (1.minor) that decide how devices are aligned."""

    policy: Policy = Policy.NONE
    scope: Scope = Scope.CONTAINER
    closest: bool = False
    """The option prefer-closest-numa-nodes."""
    most_numas: int = 8
    """The option max-allowable-numa-nodes."""
    minor: int = 36


@dataclass(frozen=True)
class Machine:
    """What does not change while pods come and go; distances are ACPI's, by NUMA node."""

    kubelet: Kubelet
    numas: tuple[int, ...]
    resources: tuple[Resource, ...]
    distances: tuple[tuple[int, ...], ...] = ()

    @cached_property
    def _hash(self) -> int:
        return hash((self.kubelet, self.numas, self.resources, self.distances))

    def __hash__(self) -> int:
        """Kept, because a machine is looked up for every pod."""
        return self._hash

    def everything(self) -> "Node":
        """The node with each device healthy and free."""
        free = tuple(tuple(card.devices for card in one.cards) for one in self.resources)
        return Node(self, free)


@dataclass(frozen=True, slots=True)
class Node:
    """A machine and its healthy devices that no container holds: for each resource, each card."""

    machine: Machine
    free: tuple[Counts, ...]


@dataclass(frozen=True, slots=True)
class Container:
    """What a container's limits ask for: resources by name; others than the machine's are left out.

    The kubelet ignores a limit for which no plugin has registered.
    """

    wants: tuple[tuple[str, int], ...]
    kind: Kind = Kind.APP


Request = tuple[Container, ...]
"""A pod: its init containers and sidecars in order, then its containers."""

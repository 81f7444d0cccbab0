"""A node at one moment, with all that its worth to a pod depends on and nothing else.

Nodes of one kind in the same condition are one and the same state, so that thousands of nodes cost
few evaluations: names, addresses and identifiers of devices are left out.
"""

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Final

from podrail import names
from podrail.kubelet.node import Kubelet, Policy, Scope
from podrail.reading import Reader
from podrail.topology import Gpu, Nic, Topology
from podrail.topology import State as Port

Counted = tuple[tuple[str, int], ...]
"""Devices by resource, in order."""

_SHARING: Final = "nvidia.com/gpu.sharing-strategy"
_REPLICAS: Final = "nvidia.com/gpu.replicas"
_MINOR: Final = re.compile(r"v?1\.([0-9]{1,3})\b")
_OPTION: Final = re.compile(r"([a-z-]+)(?:=([a-z0-9]+))?")


@dataclass(frozen=True)
class State:
    """A node's devices, its kubelet, and what is free; `idle` makes one of a topology alone."""

    topology: Topology
    kubelet: Kubelet = field(default_factory=Kubelet)
    capacity: Counted = ()
    """The devices that the node offers; of a resource that is not listed as many as it has."""
    free: Counted = ()
    """The devices that no pod has; of a resource that is not listed all are free."""
    gpus: tuple[int, ...] | None = None
    """The free GPUs; None if only their number is known."""
    used: tuple[tuple[int, int], ...] = ()
    """The rails in use, and by how many pods each."""
    product: str = ""
    """The GPUs' product as the node's label has it."""
    sliced: bool = False
    """True where GPUs are time-sliced or under MPS: then which GPU a pod gets says little."""

    @cached_property
    def _hash(self) -> int:
        known = (self.topology, self.kubelet, self.capacity, self.free, self.gpus, self.used)
        return hash(known)

    def __hash__(self) -> int:
        """Counted once: a state is the key of caches that are asked on every call."""
        return self._hash

    def has(self, devices: Counted) -> bool:
        """Whether so many devices are free, as far as that is known."""
        free = dict(self.free)
        return all(free.get(name, count) >= count for name, count in devices)

    @cached_property
    def down(self) -> frozenset[int]:
        """The rails without a NIC that may be up."""
        nics = self.topology.nics
        up = {nic.rail for nic in nics if nic.state is not Port.DOWN}
        return frozenset(set(self.topology.rails) - up)

    @cached_property
    def rails(self) -> tuple[int, ...]:
        """The rails that can be used, ascending."""
        return tuple(rail for rail in self.topology.rails if rail not in self.down)

    @cached_property
    def uses(self) -> Mapping[int, int]:
        """How many pods use each rail."""
        return dict(self.used)

    @cached_property
    def health(self) -> Mapping[int, float]:
        """For each rail 1, one half if its port is suspect, 0 if it is down."""
        nics = self.topology.nics
        sound = {nic.rail for nic in nics if nic.state not in {Port.DOWN, Port.SUSPECT}}
        worth = {rail: 1.0 if rail in sound else 0.5 for rail in self.rails}
        return worth | dict.fromkeys(self.down, 0.0)

    @cached_property
    def healthy_gpus(self) -> tuple[int, ...]:
        """The GPUs that the device plugin offers."""
        every = range(len(self.topology.gpus))
        return tuple(gpu for gpu in every if self.topology.card(gpu).healthy)

    @cached_property
    def products(self) -> frozenset[str]:
        """What kinds of GPU there are; empty if nobody says."""
        cards = {card.product for card in self.topology.cards} - {""}
        return frozenset({self.product} - {""} or cards)

    @cached_property
    def gbps(self) -> int | None:
        """The speed of the slowest rail; None if nobody says."""
        speeds = (nic.gbps for nic in self.topology.nics if nic.rail is not None)
        return min((speed for speed in speeds if speed is not None), default=None)


def idle(topology: Topology) -> State:
    """The state of a node of which only the topology is known: all is taken to be free."""
    return same(State(plain(topology)))


def counted(devices: Mapping[str, int]) -> Counted:
    """Devices by resource in the form that a state has; none is ever fewer than no device."""
    return tuple(sorted((name, max(0, count)) for name, count in devices.items()))


@lru_cache(maxsize=65_536)
def same(state: State) -> State:
    """The one object for all states that are equal to this one."""
    return state


@lru_cache(maxsize=65_536)
def plain(topology: Topology) -> Topology:
    """The topology with its rails and without anything that tells two equal nodes apart."""
    kept = [at for at, nic in enumerate(topology.nics) if nic.rail is not None]
    nics = (topology.nics[at] for at in kept)
    cards = tuple(Gpu(product=card.product, healthy=card.healthy) for card in topology.cards)
    return _one(
        replace(
            topology,
            shape="",
            nics=tuple(
                Nic("", nic.rail, nic.numa, state=nic.state, gbps=nic.gbps, resource=nic.resource)
                for nic in nics
            ),
            tiers=tuple(tuple(row[at] for at in kept) for row in topology.tiers),
            cards=() if set(cards) <= {Gpu()} else cards,
            sources=(),
            missing=(),
            partial=False,
            warnings=(),
        )
    )


@lru_cache(maxsize=4096)
def _one(topology: Topology) -> Topology:
    return topology


def kubelet(policy: str, scope: str, options: Sequence[str], version: str = "") -> Kubelet:
    """A kubelet's settings from its own spellings; what is empty or unknown is as by default."""
    found = {
        match[1]: match[2] or "true"
        for text in options
        if (match := _OPTION.fullmatch(text.strip()))
    }
    most = found.get("max-allowable-numa-nodes", "")
    minor = _MINOR.match(version)
    default = Kubelet()
    return Kubelet(
        policy=Policy(policy) if policy in set(Policy) else default.policy,
        scope=Scope(scope) if scope in set(Scope) else default.scope,
        closest=found.get("prefer-closest-numa-nodes") == "true",
        most_numas=int(most) if most.isdecimal() else default.most_numas,
        minor=int(minor[1]) if minor else default.minor,
    )


def sliced(labels: Mapping[str, str]) -> bool:
    """True if a node's labels (gpu-feature-discovery's) say that its GPUs are shared in time."""
    replicas = labels.get(_REPLICAS, "")
    return (
        labels.get(_SHARING, "none") != "none"
        or labels.get(names.GPU_PRODUCT, "").endswith("-SHARED")
        or (replicas.isdecimal() and int(replicas) > 1)
    )


def free_gpus(
    topology: Topology, held: Iterable[Collection[int]], free: int
) -> tuple[int, ...] | None:
    """The GPUs that nobody holds; None if they are not as many as are free.

    held has the GPUs of each pod of which they are known for sure; of another pod nothing is.
    """
    taken = {gpu for gpus in held for gpu in gpus}
    every = range(len(topology.gpus))
    left = tuple(gpu for gpu in every if gpu not in taken and topology.card(gpu).healthy)
    return left if len(left) == free else None


def sure_gpus(text: str | None) -> tuple[int, ...]:
    """The GPUs in a placement marker, if the kubelet had no choice; else none."""
    try:
        top = Reader.of(json.loads(text or "{}"), names.PLACEMENT)
    except (ValueError, RecursionError):
        return ()
    sets = top.parts("gpuSets", 64)
    if len(sets) != 1 or sets[0].raw("p") != 1:
        return ()
    return tuple(gpu for gpu in sets[0].items("gpus", 64) if type(gpu) is int and gpu >= 0)


def held(devices: Iterable[str], topology: Topology) -> tuple[int, ...]:
    """The GPUs with these device identifiers, as the kubelet's PodResources tells them."""
    known = {topology.card(gpu).id: gpu for gpu in range(len(topology.gpus))}
    known.pop("", None)
    return tuple(sorted({known[device] for device in devices if device in known}))

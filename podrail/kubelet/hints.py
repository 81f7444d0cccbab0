"""The TopologyManager's arithmetic (Kubernetes 1.36.3, pkg/kubelet/cm/topologymanager).

A hint is a mask of NUMA nodes. The kubelet merges every permutation of hints; here the sets of
masks are folded instead, which comes to the same because its choice among merged masks is a total
order: preferred first, then by count against the widest need, then by distance or number.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Final

from podrail.kubelet.node import Machine, Policy, Resource, Stock

HINTS_OF_DEVICE_NODES: Final = 36
"""Since Kubernetes 1.36 only NUMA nodes that bear the resource's devices are combined."""


@dataclass(frozen=True, slots=True)
class Hints:
    """The masks that a resource could be served from, and those of them that are preferred."""

    masks: frozenset[int]
    preferred: frozenset[int]
    narrowest: int = 0
    """How many NUMA nodes would do if every device were free."""


ANYWHERE: Final = None
"""The resource does not care."""
NOWHERE: Final = Hints(frozenset(), frozenset())
"""There are too few devices."""


@dataclass(frozen=True, slots=True)
class Affinity:
    """What containers are aligned to; no mask means to nothing."""

    mask: int | None
    preferred: bool


@lru_cache(maxsize=8192)
def of(machine: Machine, at: int, stock: Stock, want: int) -> Hints | None:
    """The hints of the machine's resource at a position, with what is free and what is had.

    As devicemanager/topology_hints.go: preferred are the masks of the smallest size that could
    hold the request if every device were free and healthy.
    """
    resource = machine.resources[at]
    if all(numa is None for numa in resource.numas):
        return ANYWHERE
    if sum(stock.free) + sum(stock.had) < want:
        return NOWHERE
    masks, narrowest = set[int](), len(nodes := _nodes(machine, resource))
    for mask in _masks(nodes):
        inside = [numa is not None and bool(mask >> numa & 1) for numa in resource.numas]
        devices = (card.devices * here for card, here in zip(resource.cards, inside, strict=True))
        if sum(devices) >= want:
            narrowest = min(narrowest, mask.bit_count())
        if _holds(resource, inside, stock) >= want:
            masks.add(mask)
    preferred = frozenset(mask for mask in masks if mask.bit_count() == narrowest)
    return Hints(frozenset(masks), preferred, narrowest)


def _nodes(machine: Machine, resource: Resource) -> tuple[int, ...]:
    """The NUMA nodes that are combined for the resource."""
    bearing = set(resource.numas) & set(machine.numas)
    if machine.kubelet.minor < HINTS_OF_DEVICE_NODES or not bearing:
        return machine.numas
    return tuple(numa for numa in machine.numas if numa in bearing)


@lru_cache(maxsize=64)
def _masks(nodes: tuple[int, ...]) -> tuple[int, ...]:
    sizes = range(1, len(nodes) + 1)
    return tuple(
        sum(1 << one for one in some) for size in sizes for some in combinations(nodes, size)
    )


def _holds(resource: Resource, inside: Sequence[bool], stock: Stock) -> int:
    """How many devices a mask offers; too few for anything if one that is had lies outside it."""
    found = 0
    for numa, here, spare, kept in zip(resource.numas, inside, stock.free, stock.had, strict=True):
        if kept and numa is not None and not here:
            return -1
        found += (spare + kept) * here
    return found


def merge(machine: Machine, hints: Iterable[Hints | None]) -> Affinity:
    """The affinity that the policy settles on; for the policy none there is none."""
    policy = machine.kubelet.policy
    if policy is Policy.NONE:
        return Affinity(None, preferred=True)
    known = list(hints)
    if policy is Policy.SINGLE_NUMA_NODE:
        known = [one if one is ANYWHERE else _single(one) for one in known]
        if any(one is not ANYWHERE and not one.masks for one in known):
            return Affinity(None, preferred=False)
    found = _best(machine, known)
    if policy is Policy.SINGLE_NUMA_NODE and found.mask == _all(machine):
        return Affinity(None, found.preferred)
    return found


def _single(hints: Hints) -> Hints:
    one = frozenset(mask for mask in hints.preferred if mask.bit_count() == 1)
    return Hints(one, one)


def _all(machine: Machine) -> int:
    return sum(1 << numa for numa in machine.numas)


def _best(machine: Machine, hints: Sequence[Hints | None]) -> Affinity:
    caring = [one for one in hints if one is not ANYWHERE]
    whole = _all(machine)
    if not caring:
        return Affinity(whole, preferred=True)
    agreed = frozenset.intersection(*(one.preferred for one in caring))
    if agreed:
        return Affinity(_fittest(machine, agreed), preferred=True)
    reached = {whole}
    # A resource with too few devices has one hint: no mask, not preferred.
    for one in caring:
        if one.masks:
            reached = {mask & own for mask in reached for own in one.masks}
    reached.discard(0)
    if not reached:
        return Affinity(whole, preferred=False)
    widest = max((min(map(int.bit_count, one.masks)) for one in caring if one.masks), default=0)
    return Affinity(_fittest(machine, _nearest(reached, widest)), preferred=False)


def _nearest(masks: set[int], widest: int) -> set[int]:
    """Those whose count is nearest to the widest need from below, else the narrowest."""
    counts = {mask.bit_count() for mask in masks}
    below = [count for count in counts if count <= widest]
    wanted = max(below) if below else min(counts)
    return {mask for mask in masks if mask.bit_count() == wanted}


def _fittest(machine: Machine, masks: Iterable[int]) -> int:
    """The narrowest mask; of several the closest, if so configured, then the lowest."""
    closest = machine.kubelet.closest and machine.kubelet.policy is not Policy.SINGLE_NUMA_NODE
    return min(
        masks,
        key=lambda mask: (mask.bit_count(), _spread(machine, mask) if closest else 0, mask),
    )


def _spread(machine: Machine, mask: int) -> float:
    nodes = [numa for numa in machine.numas if mask >> numa & 1]
    total = sum(machine.distances[one][other] for one in nodes for other in nodes)
    return total / len(nodes) ** 2


def admits(policy: Policy, affinity: Affinity) -> bool:
    """True if the policy lets a container with this affinity run."""
    return affinity.preferred or policy in {Policy.NONE, Policy.BEST_EFFORT}

"""What a pod leaves of a node: whole nodes, NUMA halves, switch groups, GPUs with their own rails.

Broken up, they are lost to pods that need them whole, whatever their number
(kubernetes/ci-infra#696: one GPU taken on each socket, and no pod of four finds a half).
"""

from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from podrail import alignment
from podrail.topology import Topology

NODE: Final = 4
HALF: Final = 3
SWITCH: Final = 2
PAIR: Final = 1
"""How much the loss of the last whole one of each counts."""


@dataclass(frozen=True, slots=True)
class Left:
    """GPUs that are free, and rails that can be had; no rails stands for every one."""

    gpus: frozenset[int]
    rails: frozenset[int] | None = None


def kept(topology: Topology, before: Left, after: Left) -> float:
    """How much of what could be had whole can still be had, from 0 to 1."""
    return 1.0 - whole(topology, before) + whole(topology, after)


@lru_cache(maxsize=16_384)
def whole(topology: Topology, left: Left) -> float:
    """What can be had whole, from 0 to 1, which is an empty node."""
    found = [
        (NODE, [frozenset(range(len(topology.gpus)))]),
        (HALF, _halves(topology)),
        (SWITCH, [frozenset(gpus) for gpus, _ in topology.groups if len(gpus) > 1]),
    ]
    parts = [(weight, _share(sets, left.gpus)) for weight, sets in found if sets]
    own = _own(topology)
    if own:
        pairs = [gpu for gpu in left.gpus if left.rails is None or own[gpu] in left.rails]
        parts.append((PAIR, len(pairs) / len(own)))
    return sum(weight * share for weight, share in parts) / sum(weight for weight, _ in parts)


def _share(sets: Collection[frozenset[int]], free: frozenset[int]) -> float:
    return sum(one <= free for one in sets) / len(sets)


def _halves(topology: Topology) -> list[frozenset[int]]:
    """The GPUs of each NUMA node, where there are several of them."""
    numas = sorted({numa for numa in topology.gpus if numa is not None})
    found = [frozenset(g for g, here in enumerate(topology.gpus) if here == n) for n in numas]
    return found if len(found) > 1 else []


@lru_cache(maxsize=1024)
def _own(topology: Topology) -> tuple[int, ...]:
    """The rail of each GPU in the whole node's best pairing; empty if there are no rails."""
    if not topology.rails or not topology.gpus:
        return ()
    return alignment.best(topology, tuple(range(len(topology.gpus))), topology.rails).rails

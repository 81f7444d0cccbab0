"""What a pod leaves of a node: whole nodes, NUMA halves, switch groups, GPUs with their own rail.

Broken up, they are lost to pods that need them whole, whatever their number
(kubernetes/ci-infra#696: one GPU taken on each socket, and no pod of four finds a half). What is
lost is what such a pod could have expected of them: of a node whose NICs are far it is little.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from podrail import alignment
from podrail.topology import WORTH, Tier, Topology

NODE: Final = 4
HALF: Final = 3
SWITCH: Final = 2
PAIR: Final = 1
"""How much the loss of the last whole one of each counts."""
FAR: Final = WORTH[Tier.SYS]
"""What a GPU without a rail counts, as much as one whose rail is far: pods without rails use it."""


@dataclass(frozen=True, slots=True)
class Left:
    """GPUs that are free, and rails that can be had; no rails stands for every one."""

    gpus: frozenset[int]
    rails: frozenset[int] | None = None


@dataclass(frozen=True, slots=True)
class _Piece:
    """GPUs that a pod may want whole, with the rail if it is one pair.

    share is what they count, together 1; near is what their rails are worth to them, from 0 to 1.
    """

    gpus: frozenset[int]
    rail: int | None
    share: float
    near: float

    def had(self, left: Left) -> bool:
        """True if it can be had whole."""
        rail = self.rail is None or left.rails is None or self.rail in left.rails
        return rail and self.gpus <= left.gpus


def kept(topology: Topology, before: Left, after: Left, worth: float) -> float:
    """One less what others lose, from 0 to 1; worth is what the pod's rails are worth to its GPUs.

    Half of it is what could be had whole and cannot any more, but for what the pod itself takes
    whole and makes use of. The other half is how much nearer rails its GPUs have than it uses.
    """
    taken = before.gpus - after.gpus
    if not taken:
        return 1.0
    near, used = _near(topology), worth * _share(topology, taken)
    broken = whole(topology, before) - whole(topology, after) - used
    wasted = math.fsum(near[gpu] for gpu in taken) / len(taken) - worth
    return 1.0 - (max(broken, 0.0) + max(wasted, 0.0)) / 2


@lru_cache(maxsize=16_384)
def whole(topology: Topology, left: Left) -> float:
    """The worth of what can be had whole; 1 is an empty node with a near rail for each GPU."""
    return math.fsum(one.share * one.near for one in _pieces(topology) if one.had(left))


@lru_cache(maxsize=16_384)
def _share(topology: Topology, gpus: frozenset[int]) -> float:
    """What these GPUs count that are taken whole."""
    return math.fsum(one.share for one in _pieces(topology) if one.gpus <= gpus)


@lru_cache(maxsize=1024)
def _pieces(topology: Topology) -> tuple[_Piece, ...]:
    """All that can be had whole of an empty node; a level that it has not is left out."""
    every, own, near = range(len(topology.gpus)), _own(topology), _near(topology)
    levels: tuple[tuple[int, list[tuple[frozenset[int], int | None]]], ...] = (
        (NODE, [(frozenset(every), None)] if every else []),
        (HALF, [(gpus, None) for gpus in _halves(topology)]),
        (SWITCH, [(frozenset(gpus), None) for gpus, _ in topology.groups if len(gpus) > 1]),
        (PAIR, [(frozenset({gpu}), rail) for gpu, rail in enumerate(own)]),
    )
    most = sum(weight for weight, sets in levels if sets)
    return tuple(
        _Piece(gpus, rail, weight / most / len(sets), sum(map(near.__getitem__, gpus)) / len(gpus))
        for weight, sets in levels
        for gpus, rail in sets
    )


def _halves(topology: Topology) -> list[frozenset[int]]:
    """The GPUs of each NUMA node, where there are several of them."""
    numas = sorted({numa for numa in topology.gpus if numa is not None})
    found = [frozenset(g for g, here in enumerate(topology.gpus) if here == n) for n in numas]
    return found if len(found) > 1 else []


@lru_cache(maxsize=1024)
def _near(topology: Topology) -> tuple[float, ...]:
    """What its rail is worth to each GPU in the whole node's best pairing."""
    own = _own(topology)
    every = range(len(topology.gpus))
    return tuple(max(FAR, topology.worth[own[gpu]][gpu]) if own else FAR for gpu in every)


def _own(topology: Topology) -> tuple[int, ...]:
    """The rail of each GPU in the whole node's best pairing; empty if there are no rails."""
    if not topology.rails or not topology.gpus:
        return ()
    return alignment.best(topology, tuple(range(len(topology.gpus))), topology.rails).rails

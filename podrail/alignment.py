"""How well a pod's GPUs and rails line up on a node: the best pairing, and what to expect.

The pairing is an optimal assignment (Hungarian method, exact). Which GPUs a pod with a part of a
node gets is the kubelet's affair and not known yet: every set is taken to be as likely as another.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Final

from podrail.topology import ALIGNED, WORTH, Tier, Topology

MOST_SETS: Final = 128
"""Sets of GPUs looked at; 4 of 8 are 70. More are sampled evenly."""
_WORK: Final = 2**17
"""Fewer sets are looked at where each is more work; kube-scheduler waits for the answer."""
TOLD_SETS: Final = 8


@dataclass(frozen=True, slots=True)
class Pairing:
    """Which rail serves each GPU, what that is worth on the whole from 0 to 1, the worst tier."""

    rails: tuple[int, ...]
    worth: float
    tier: Tier | None


@dataclass(frozen=True, slots=True)
class Alignment:
    """What a pod can expect: worth from 0 to 1, the likely pairing's tier, likely sets of GPUs."""

    expected: float
    tier: Tier | None
    gpu_sets: tuple[tuple[tuple[int, ...], float], ...]


@lru_cache(maxsize=4096)
def expected(topology: Topology, gpus: int, rails: tuple[int, ...]) -> Alignment:
    """What a pod with this many GPUs can expect of these rails; 0 if there are none to pair."""
    here = tuple(rail for rail in rails if rail in topology.rails)
    if not here or not gpus:
        return Alignment(0.0, None, ())
    most = max(TOLD_SETS, min(MOST_SETS, _WORK // (gpus * gpus * len(here))))
    sets = _sets(len(topology.gpus), gpus, most)
    pairings = [best(topology, one, here) for one in sets]
    share = 1 / max(1, math.comb(len(topology.gpus), gpus))
    told = tuple((one, share) for one in sets[:TOLD_SETS])
    # Rounded, so that two machines of one kind never differ by an error of floating point.
    worth = round(math.fsum(one.worth for one in pairings) / len(sets), 6)
    return Alignment(worth, pairings[0].tier, told)


def _sets(all_gpus: int, gpus: int, most: int) -> list[tuple[int, ...]]:
    if gpus >= all_gpus:
        return [tuple(range(all_gpus))]
    total = math.comb(all_gpus, gpus)
    if total <= most:
        return list(combinations(range(all_gpus), gpus))
    return [_numbered(all_gpus, gpus, total * one // most) for one in range(most)]


def _numbered(all_gpus: int, gpus: int, number: int) -> tuple[int, ...]:
    """The set with this number among all of its size, without counting up to it."""
    found: list[int] = []
    for gpu in range(all_gpus):
        left = gpus - len(found)
        with_it = math.comb(all_gpus - gpu - 1, left - 1) if left else 0
        if number < with_it:
            found.append(gpu)
        else:
            number -= with_it
    return tuple(found)


@lru_cache(maxsize=4096)
def best(topology: Topology, gpus: tuple[int, ...], rails: tuple[int, ...]) -> Pairing:
    """The pairing of GPUs with rails that is worth most; rails are shared as evenly as need be.

    gpus and rails are not empty, and the rails are the node's.
    """
    node = -(-len(topology.gpus) // len(topology.rails))
    each = max(node, -(-len(gpus) // len(rails)))
    slots = [rail for rail in rails for _ in range(each)]
    worth = [[topology.worth[rail][gpu] for rail in slots] for gpu in gpus]
    chosen = assign([[ALIGNED - one for one in row] for row in worth])
    total = sum(row[slot] for row, slot in zip(worth, chosen, strict=True))
    paired = tuple(slots[slot] for slot in chosen)
    tiers = [topology.tier(gpu, rail) for gpu, rail in zip(gpus, paired, strict=True)]
    return Pairing(paired, total / len(gpus), min(tiers, key=lambda tier: WORTH[tier]))


def assign(cost: Sequence[Sequence[float]]) -> tuple[int, ...]:
    """The column of each row in the cheapest assignment; rows must not outnumber columns.

    Kuhn's Hungarian method with potentials, in the shortest-augmenting-path form: O(rows² columns).
    """
    columns = len(cost[0])
    by_row, by_column = [0.0] * len(cost), [0.0] * columns
    owner: list[int | None] = [None] * columns
    for row in range(len(cost)):
        _augment(cost, row, owner, (by_row, by_column))
    taken = {row: column for column, row in enumerate(owner) if row is not None}
    return tuple(taken[row] for row in range(len(cost)))


def _augment(
    cost: Sequence[Sequence[float]],
    start: int,
    owner: list[int | None],
    potentials: tuple[list[float], list[float]],
) -> None:
    """Give one more row a column by the cheapest chain of changes."""
    by_row, by_column = potentials
    distance = [math.inf] * len(owner)
    previous: list[int | None] = [None] * len(owner)
    open_columns, done = list(range(len(owner))), list[int]()
    row: int | None = start
    at: int | None = None
    while row is not None:
        base = (distance[at] if at is not None else 0.0) - by_row[row]
        costs = cost[row]
        for column in open_columns:
            reach = base + costs[column] - by_column[column]
            if reach < distance[column]:
                distance[column], previous[column] = reach, at
        at = min(open_columns, key=distance.__getitem__)
        open_columns.remove(at)
        done.append(at)
        row = owner[at]
    length = distance[done[-1]]
    by_row[start] += length
    for column in done[:-1]:
        gain = length - distance[column]
        by_column[column] -= gain
        by_row[_owned(owner, column)] += gain
    while at is not None:
        before = previous[at]
        owner[at] = start if before is None else owner[before]
        at = before


def _owned(owner: list[int | None], column: int) -> int:
    row = owner[column]
    assert row is not None  # noqa: S101 - only columns that have a row lie on the way
    return row


def aligned_pairs(topology: Topology, pairs: Sequence[tuple[int, int]]) -> int:
    """How many of the (GPU, rail) pairs are at the best that this kind of machine offers."""
    return sum(topology.worth[rail][gpu] >= ALIGNED for gpu, rail in pairs)

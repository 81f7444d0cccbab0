"""How well some GPUs and rails of a node line up: the pairing that is worth most.

The pairing is an optimal assignment: where each GPU can have a rail that is worth most to it that
is the answer, else Kuhn's Hungarian method gives it. Answers are kept, so that each kind of machine
has its table of the sets that occur. Which GPUs a pod gets is the kubelet's affair.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from podrail.topology import ALIGNED, WORTH, Tier, Topology


@dataclass(frozen=True, slots=True)
class Pairing:
    """Which rail serves each GPU, what that is worth on the whole from 0 to 1, the worst tier."""

    rails: tuple[int, ...]
    worth: float
    tier: Tier | None


@lru_cache(maxsize=65_536)
def best(topology: Topology, gpus: tuple[int, ...], rails: tuple[int, ...]) -> Pairing:
    """The pairing of GPUs with rails that is worth most; rails are shared as evenly as need be.

    gpus and rails are not empty, and the rails are the node's.
    """
    slots = [rail for rail in rails for _ in range(_each(topology, len(gpus), len(rails)))]
    worth = [[topology.worth[rail][gpu] for rail in slots] for gpu in gpus]
    columns = _at_once(worth) or assign([[ALIGNED - one for one in row] for row in worth])
    total = math.fsum(row[slot] for row, slot in zip(worth, columns, strict=True))
    paired = tuple(slots[slot] for slot in columns)
    tiers = [topology.tier(gpu, rail) for gpu, rail in zip(gpus, paired, strict=True)]
    return Pairing(paired, total / len(gpus), min(tiers, key=lambda tier: WORTH[tier]))


def _each(topology: Topology, gpus: int, rails: int) -> int:
    """How many GPUs may share a rail: as many as on the whole node, or as must."""
    node = -(-len(topology.gpus) // len(topology.rails))
    return max(node, -(-gpus // rails))


def _at_once(worth: Sequence[Sequence[float]]) -> tuple[int, ...]:
    """The first free column of those worth most, row by row; empty if one row finds none."""
    found: list[int] = []
    for row in worth:
        most = max(row)
        at = next((at for at, one in enumerate(row) if one == most and at not in found), None)
        if at is None:
            return ()
        found.append(at)
    return tuple(found)


@lru_cache(maxsize=4096)
def ideal(topology: Topology, gpus: int) -> float:
    """What the best pairing of so many GPUs is worth on the whole node, each GPU 0 to 1.

    The other GPUs are paired with nothing, which costs nothing, so that they take no good rail.
    """
    rails = topology.rails
    paired = min(gpus, len(topology.gpus))
    if not rails or not paired:
        return 0.0
    slots = [rail for rail in rails for _ in range(_each(topology, paired, len(rails)))]
    spare = len(topology.gpus) - paired
    cost = [
        [*(ALIGNED - topology.worth[rail][gpu] for rail in slots), *(0.0,) * spare]
        for gpu in range(len(topology.gpus))
    ]
    columns = assign(cost)
    lost = math.fsum(row[column] for row, column in zip(cost, columns, strict=True))
    return ALIGNED - lost / paired


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

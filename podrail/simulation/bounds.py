"""The best that any placement could do: bounds that no rule of placement can beat.

Alignment and bandwidth: the best set of GPUs on the best machine, each job as if it were alone.
Leaf groups and blocks: the fewest that hold the job when all nodes are empty.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from podrail import alignment
from podrail.locality import Level
from podrail.simulation import floor, model
from podrail.simulation.order import Order
from podrail.snapshot import Spot
from podrail.topology import ALIGNED, Topology


@dataclass(frozen=True, slots=True)
class Bound:
    """Of one job; None where it cannot be computed.

    aligned and bandwidth are shares from 0 to 1, leaves and blocks are counts.
    """

    aligned: float | None
    bandwidth: float | None
    leaves: int | None
    blocks: int | None


def of(order: Order, spots: Sequence[Spot]) -> Bound:
    """The bound of a job on these nodes."""
    machines = {spot.state.topology for spot in spots if spot.state is not None}
    known = all(spot.state is not None for spot in spots)
    fit = [one for one in machines if order.work.gpus <= len(one.gpus) and _rails(order, one)]
    return Bound(
        max((_most(order, one, _aligned) for one in fit), default=None) if known else None,
        max((_most(order, one, model.rate) for one in fit), default=None) if known else None,
        fewest(order, spots, Level.LEAF),
        fewest(order, spots, Level.BLOCK),
    )


def _aligned(topology: Topology, gpu: int, rail: int) -> float:
    return float(topology.worth[rail][gpu] >= ALIGNED)


def _rails(order: Order, topology: Topology) -> tuple[int, ...]:
    """The rails that a pod may have there: those of admission, or any if they come later."""
    need = order.need
    if need.late or need.pooled:
        return topology.rails
    return tuple(rail for rail in need.rails if rail in topology.rails)


def _most(order: Order, topology: Topology, worth: Callable[[Topology, int, int], float]) -> float:
    """The most that the pairs of a pod can be worth, on the average.

    A rail serves as many GPUs as it would if the pod had the fewest rails that it may have.
    """
    gpus, rails = order.work.gpus, _rails(order, topology)
    fewest_ = 1 if order.need.pooled else max(1, min(len(order.need.rails), len(rails)))
    each = max(model.fair(topology), -(-gpus // fewest_))
    slots = [rail for rail in rails for _ in range(each)]
    spare = len(topology.gpus) - gpus
    cost = [
        [*(1.0 - worth(topology, gpu, rail) for rail in slots), *(0.0,) * spare]
        for gpu in range(len(topology.gpus))
    ]
    columns = alignment.assign(cost)
    lost = sum(row[column] for row, column in zip(cost, columns, strict=True))
    return 1.0 - lost / gpus


def fewest(order: Order, spots: Iterable[Spot], level: Level) -> int | None:
    """The fewest places of a level that can hold the job; None if not all nodes name theirs."""
    rooms: Counter[str] = Counter()
    for spot in spots:
        if not spot.place.names[level]:
            return None
        rooms[spot.place.names[level]] += max(0, floor.room(spot.capacity, order.asked))
    left, found = order.work.pods, 0
    for room in sorted(rooms.values(), reverse=True):
        if left <= 0:
            break
        left, found = left - room, found + 1
    return found if left <= 0 else None

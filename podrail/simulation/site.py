"""Nodes that exist only for a simulation: so many of a machine type, in leaf groups and blocks."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from podrail import names
from podrail.errors import MalformedError, Problem
from podrail.fabric import Profile
from podrail.locality import Place
from podrail.reading import shown
from podrail.score import state
from podrail.score.state import State
from podrail.simulation import order
from podrail.simulation.trace import Work
from podrail.snapshot import Spot
from podrail.topology import Topology

MOST_NODES: Final = 100_000
SHARED: Final = 1000
"""How many pods may share a device: rdmaHcaMax, as examples of k8s-rdma-shared-dev-plugin have."""


@dataclass(frozen=True, slots=True)
class Row:
    """Nodes of one machine type; leaf and block are how many nodes each has, 0 for unknown."""

    shape: str
    count: int
    leaf: int = 0
    block: int = 0


def row(text: str) -> Row:
    """The row of SHAPE:COUNT[:LEAF[:BLOCK]].

    Raises:
        MalformedError: it is none.
    """
    shape, *numbers = text.split(":")
    counts = [
        int(one) for one in numbers if one.isdecimal() and len(one) < len(str(MOST_NODES)) + 1
    ]
    right = shape and 1 <= len(numbers) == len(counts) <= 3 and 1 <= counts[0] <= MOST_NODES  # noqa: PLR2004 - the parts above
    if not right:
        expected = f"expected SHAPE:COUNT[:LEAF[:BLOCK]], got {shown(text)}"
        raise MalformedError("--nodes", [Problem("--nodes", expected)])
    return Row(shape, *counts)


def spots(
    rows: Iterable[Row], shapes: Mapping[str, Topology], fabrics: Iterable[Profile]
) -> tuple[Spot, ...]:
    """The idle nodes of the rows, with the devices that pods of the fabrics ask for.

    Counted devices are as many as a pod with all GPUs of a node is given.

    Raises:
        MalformedError: the catalog has no such machine type, or not its distances.
        PodError: a fabric does not suit it.
    """
    profiles = tuple(fabrics)
    found: list[Spot] = []
    for number, one in enumerate(rows):
        topology = shapes.get(one.shape)
        if topology is None or not topology.gpus or not topology.rails:
            known = ", ".join(sorted(name for name, at in shapes.items() if at.gpus and at.rails))
            problem = Problem(one.shape, f"no such machine type with rails; there are {known}")
            raise MalformedError("--nodes", [problem])
        found += _row(one, number, topology, profiles)
    return tuple(found)


def settled(found: Iterable[Spot], gpu_names: Iterable[str]) -> tuple[Spot, ...]:
    """The nodes with their free GPUs by number: where nobody knows which, the last ones."""
    resources = tuple(gpu_names)
    return tuple(_settled(spot, resources) for spot in found)


def _settled(spot: Spot, resources: tuple[str, ...]) -> Spot:
    known = spot.state
    if known is None or known.gpus is not None:
        return spot
    healthy = known.healthy_gpus
    free = max(0, sum(spot.free.get(name, 0) for name in resources))
    gpus = healthy[max(0, len(healthy) - free) :]
    return replace(spot, state=state.same(replace(known, gpus=gpus)))


def _row(
    one: Row, number: int, topology: Topology, profiles: tuple[Profile, ...]
) -> Iterator[Spot]:
    capacity: dict[str, int] = {}
    for fabric in profiles:
        capacity.update(_devices(one, topology, fabric))
    plain = state.plain(topology)
    counted, gpus = state.counted(capacity), tuple(range(len(topology.gpus)))
    plain = state.plain(topology)
    known = state.same(State(plain, capacity=counted, free=counted, gpus=gpus))
    labels = {names.INSTANCE_TYPE: one.shape}
    places: dict[Place, Place] = {}
    for at in range(one.count):
        place = _place(one, number, at)
        place = places.setdefault(place, place)
        name = f"{one.shape}-{number}-{at}"
        yield Spot(name, labels, place, known, capacity, capacity, topology="catalog")


def _devices(one: Row, topology: Topology, fabric: Profile) -> Mapping[str, int]:
    gpus = len(topology.gpus)
    whole = order.order(Work(f"all of a {one.shape}", 0, 1, gpus, 0, fabric.name), fabric)
    return {
        name: count if name == whole.gpu_name or whole.need.counted else SHARED * count
        for name, count in whole.asked.items()
    }


def _place(one: Row, number: int, at: int) -> Place:
    block = f"{number}.{at // one.block}" if one.block else f"{number}" if one.leaf else ""
    return Place(block=block, leaf=f"{block}/{at // one.leaf}" if one.leaf else "")

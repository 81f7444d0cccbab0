"""The nodes of a simulation while jobs come and go: what is free, and which nodes are alike.

Nodes that are in one place and in the same state are one kind, so that a pod costs as many looks
as there are kinds. What the kubelet hands out is drawn from its model with a chance that is given.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from podrail import alignment
from podrail.kubelet.model import Refused
from podrail.locality import Place
from podrail.score import outcomes, state, value
from podrail.score.outcomes import Got, Lot
from podrail.score.state import Counted, State
from podrail.score.value import Seat
from podrail.simulation.order import Order
from podrail.snapshot import Spot

Chance = Callable[[], float]
"""A number from 0 to below 1, each as likely as another."""


@dataclass(frozen=True, slots=True)
class Class:
    """What nodes have free, and their state; None if nothing is known of their devices."""

    state: State | None
    free: Counted
    capacity: Counted

    def left(self, name: str) -> int:
        """How many devices of a resource are free."""
        return dict(self.free).get(name, 0)

    def fits(self, asked: Mapping[str, int]) -> int:
        """How many pods that ask for so much there is room for."""
        return room(dict(self.free), asked)


def room(devices: Mapping[str, int], asked: Mapping[str, int]) -> int:
    """How many pods that ask for so much these devices are enough for."""
    return min(devices.get(name, 0) // count for name, count in asked.items())


def drawn(lot: Lot, chance: Chance) -> Got | None:
    """One of the outcomes, each as likely as it is; None for a refusal."""
    mark = chance()
    for got in lot.got:
        mark -= got.chance
        if mark < 0:
            return got
    return lot.got[-1] if lot.refused == 0 else None


@dataclass(eq=False, slots=True)
class Kind:
    """Nodes of one class at one place, by their numbers."""

    at: Class
    seat: Seat
    nodes: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Seated:
    """A pod on a node: the GPUs and rails that it got, and the rail that serves each GPU.

    All empty on a node of which nothing is known.
    """

    order: Order
    node: int
    gpus: tuple[int, ...]
    rails: tuple[int, ...]
    serving: tuple[int, ...]
    nics: tuple[int, ...] = ()
    """The NICs of a pool's devices, by position."""


class Floor:
    """All nodes. What is free on each changes only by seating pods and by letting them go."""

    def __init__(self, spots: tuple[Spot, ...]) -> None:
        self.spots = spots
        self.classes: dict[Class, dict[Place, Kind]] = {}
        self._kinds: list[Kind] = []
        self._at: list[int] = []
        self.loads: list[Counter[int]] = [Counter() for _ in spots]
        """Of each node: how many GPUs each rail serves."""
        self._uses: list[Counter[int]] = []
        self._nics: list[Counter[int]] = [Counter() for _ in spots]
        for node, spot in enumerate(spots):
            free, capacity = state.counted(spot.free), state.counted(spot.capacity)
            self._kinds.append(self._kind(Class(spot.state, free, capacity), spot.place))
            self._at.append(0)
            self._enter(node)
            self._uses.append(Counter(spot.state.uses if spot.state is not None else {}))

    def kind(self, node: int) -> Kind:
        """The kind that the node is of now."""
        return self._kinds[node]

    def kinds(self, suits: Callable[[Class], bool]) -> Iterator[Kind]:
        """The kinds of the classes that suit."""
        for one, places in self.classes.items():
            if suits(one):
                yield from places.values()

    def draw(self, node: int, order: Order, chance: Chance) -> Got | None:
        """What the kubelet hands out there; None if it refuses the pod.

        On a node of which nothing is known it is nothing that could be paired.
        """
        known = self.kind(node).at.state
        if known is None:
            return Got((), (), (), 1.0)
        lot = outcomes.of(known, order.need)
        got = None if isinstance(lot, Refused) else drawn(lot, chance)
        if got is None or not order.need.pooled:
            return got
        return replace(got, nics=self._free_nics(node, order, got.nics, chance))

    def _free_nics(
        self, node: int, order: Order, nics: tuple[int, ...], chance: Chance
    ) -> tuple[int, ...]:
        """The NICs, or any free ones instead: the model knows only how many devices are free."""
        known, taken = self.kind(node).at, self._nics[node]
        every = range(len(known.state.topology.nics)) if known.state is not None else range(0)
        most = max(dict(known.capacity).get(name, 0) for name in order.need.nics)
        each = -(-most // max(len(every), 1))
        if all(taken[nic] + many <= each for nic, many in Counter(nics).items()):
            return nics
        free = [nic for nic in every for _ in range(each - taken[nic])]
        return tuple(sorted(free.pop(int(chance() * len(free))) for _ in nics if free))

    def seat(self, node: int, order: Order, got: Got, rails: tuple[int, ...]) -> Seated:
        """The pod once it has what it got; rails are those of its networks."""
        known = self.kind(node).at.state
        if known is not None and order.need.pooled and got.nics:
            numbers = (known.topology.nics[at].rail for at in got.nics)
            rails = tuple(sorted({rail for rail in numbers if rail is not None}))
        usable = () if known is None else tuple(rail for rail in rails if rail in known.rails)
        serving: tuple[int, ...] = ()
        if known is not None and usable and got.gpus:
            serving = alignment.best(known.topology, got.gpus, usable).rails
        nics = got.nics if order.need.pooled else ()
        seated = Seated(order, node, got.gpus, rails, serving, nics)
        self._change(seated, 1)
        return seated

    def leave(self, seated: Seated) -> None:
        """Give back what the pod has."""
        self._change(seated, -1)

    def _change(self, seated: Seated, by: int) -> None:
        node, before = seated.node, self.kind(seated.node)
        free = dict(before.at.free)
        for name, count in seated.order.asked.items():
            free[name] -= by * count
        for counts, used in (
            (self.loads[node], seated.serving),
            (self._uses[node], seated.rails),
            (self._nics[node], seated.nics),
        ):
            for one in used:
                counts[one] += by
        left = tuple(free.items())
        known = before.at.state
        if known is not None:
            known = self._state(known, left, seated, by)
        self._leave(node)
        self._kinds[node] = self._kind(
            replace(before.at, state=known, free=left), before.seat.place
        )
        self._enter(node)

    def _state(self, known: State, free: Counted, seated: Seated, by: int) -> State:
        gpus = known.gpus
        if gpus is not None:
            own = set(seated.gpus)
            gpus = tuple(sorted(set(gpus) - own if by > 0 else own.union(gpus)))
        used = sorted((rail, many) for rail, many in self._uses[seated.node].items() if many)
        return state.same(replace(known, free=free, gpus=gpus, used=tuple(used)))

    def _kind(self, one: Class, place: Place) -> Kind:
        places = self.classes.setdefault(one, {})
        if place not in places:
            places[place] = Kind(one, value.seat(one.state, place))
        return places[place]

    def _enter(self, node: int) -> None:
        nodes = self._kinds[node].nodes
        self._at[node] = len(nodes)
        nodes.append(node)

    def _leave(self, node: int) -> None:
        """Take the node out of its kind in one step: the last one takes its position."""
        kind = self._kinds[node]
        last = kind.nodes.pop()
        if last != node:
            kind.nodes[self._at[node]] = last
            self._at[last] = self._at[node]
        if not kind.nodes:
            places = self.classes[kind.at]
            del places[kind.seat.place]
            if not places:
                del self.classes[kind.at]

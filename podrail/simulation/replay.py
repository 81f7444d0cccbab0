"""The replay of a trace: jobs come, start when all of their pods find nodes, and end.

A job is a gang: it waits until it fits as a whole, and later ones that fit do not wait for it. The
pods of jobs that start at one moment are placed in turn, as kube-scheduler's queue mixes them.
"""

import heapq
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from podrail.simulation.floor import Chance, Floor, Seated
from podrail.simulation.order import Order
from podrail.simulation.rules import Asker, Rules
from podrail.snapshot import Spot

ATTEMPTS = 3
"""How often a pod that a kubelet refuses is made anew before its job waits."""


@dataclass(frozen=True, slots=True)
class Run:
    """A job that was started, with its pods; loads are how many GPUs the rail of each pair serves.

    Taken when the job starts: for each pod, for each of its GPUs.
    """

    order: Order
    start: float
    pods: tuple[Seated, ...]
    loads: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Replay:
    """What came of a trace."""

    spots: tuple[Spot, ...]
    runs: tuple[Run, ...]
    waiting: tuple[Order, ...]
    """The jobs that never started."""
    refusals: int
    """How often a kubelet refused a pod that had been bound."""
    fragmentation: float | None
    """The share of free GPUs that are on nodes in use, over the time until the last start."""


@dataclass(slots=True)
class _Gang:
    """A job that is being started."""

    order: Order
    pods: list[Seated] = field(default_factory=list)
    failed: bool = False


@dataclass(slots=True)
class _Stage:
    """The simulation as it goes."""

    floor: Floor
    rules: Rules
    chance: Chance
    told: Callable[[int], None]
    waiting: list[Order] = field(default_factory=list)
    ends: list[tuple[float, int, Run]] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    refusals: int = 0
    bound: int = 0

    def start(self, now: float) -> None:
        """Start all waiting jobs for which there is room: together, then what failed on its own."""
        gangs = [_Gang(order) for order in self._ready()]
        for index in range(max((gang.order.work.pods for gang in gangs), default=0)):
            for gang in gangs:
                if index < gang.order.work.pods and not gang.failed:
                    self._next(gang, index, now)
        for gang in gangs:
            if gang.failed and len(gangs) > 1:
                self._again(gang, now)
        self._begin([gang for gang in gangs if not gang.failed], now)

    def _again(self, gang: _Gang, now: float) -> None:
        gang.failed = False
        for index in range(gang.order.work.pods):
            if not gang.failed:
                self._next(gang, index, now)

    def _ready(self) -> list[Order]:
        """The waiting jobs that fit beside those before them, as far as counting tells."""
        found, reserved = [], 0
        free = self._free()
        for order in self.waiting:
            gpus = order.work.pods * order.work.gpus
            if reserved + gpus <= free.get(order.gpu_name, 0) and self._room(order):
                found.append(order)
                reserved += gpus
        return found

    def _free(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for one, places in self.floor.classes.items():
            nodes = sum(len(kind.nodes) for kind in places.values())
            for name, count in one.free:
                found[name] = found.get(name, 0) + max(count, 0) * nodes
        return found

    def _room(self, order: Order) -> bool:
        wanted = order.work.pods
        for one, places in self.floor.classes.items():
            each = one.fits(order.asked)
            if each > 0:
                wanted -= each * sum(len(kind.nodes) for kind in places.values())
        return wanted <= 0

    def _next(self, gang: _Gang, index: int, now: float) -> None:
        """Seat the gang's next pod; without a node all of its pods leave again."""
        asker = Asker(gang.order, index, now)
        for _ in range(ATTEMPTS):
            node = self._node(asker)
            if node is None:
                break
            rails = self.rules.rails(self.floor, node, asker)
            got = self.floor.draw(node, gang.order, self.chance)
            if got is not None:
                seated = self.floor.seat(node, gang.order, got, rails)
                self.rules.bound(self.floor, seated, asker)
                gang.pods.append(seated)
                self.bound += 1
                self.told(self.bound)
                return
            self.refusals += 1
        self._leave(gang.order, gang.pods)
        gang.pods, gang.failed = [], True

    def _node(self, asker: Asker) -> int | None:
        """A node of those with the most points, by chance; None if none suits."""
        kinds = list(self.floor.kinds(self.rules.suits(asker)))
        if not kinds:
            return None
        points = self.rules.points(kinds, asker)
        most = max(points)
        best = [kind.nodes for kind, one in zip(kinds, points, strict=True) if one == most]
        at = int(self.chance() * sum(map(len, best)))
        while at >= len(best[0]):
            at -= len(best.pop(0))
        return best[0][at]

    def _begin(self, gangs: Sequence[_Gang], now: float) -> None:
        started = {id(gang.order) for gang in gangs}
        self.waiting = [order for order in self.waiting if id(order) not in started]
        for gang in gangs:
            loads = tuple(
                tuple(self.floor.loads[one.node][rail] for rail in one.serving) for one in gang.pods
            )
            run = Run(gang.order, now, tuple(gang.pods), loads)
            self.runs.append(run)
            if gang.order.work.seconds:
                heapq.heappush(self.ends, (now + gang.order.work.seconds, len(self.runs), run))

    def end(self, now: float) -> None:
        """Let the jobs go whose time is over."""
        while self.ends and self.ends[0][0] <= now:
            _, _, run = heapq.heappop(self.ends)
            self._leave(run.order, run.pods)

    def _leave(self, order: Order, pods: Sequence[Seated]) -> None:
        for index, seated in enumerate(pods):
            self.floor.leave(seated)
            self.rules.gone(Asker(order, index, 0.0))
        self.rules.ended(order)


def replay(
    spots: tuple[Spot, ...],
    orders: Iterable[Order],
    rules: Rules,
    chance: Chance,
    told: Callable[[int], None] = lambda _bound: None,
) -> Replay:
    """What comes of the orders, in the order of their arrival; told hears of each bound pod."""
    stage = _Stage(Floor(spots), rules, chance, told)
    coming = list(orders)
    names = {order.gpu_name for order in coming}
    broken, length, last = 0.0, 0.0, 0.0
    while coming or (stage.ends and stage.waiting):
        now = min(
            [*(order.work.arrival for order in coming[:1]), *(end[0] for end in stage.ends[:1])]
        )
        share = fragmented(stage.floor, names)
        if share is not None:
            broken, length = broken + share * (now - last), length + now - last
        last = now
        stage.end(now)
        while coming and coming[0].work.arrival <= now:
            stage.waiting.append(coming.pop(0))
        stage.start(now)
    return Replay(
        spots,
        tuple(stage.runs),
        tuple(stage.waiting),
        stage.refusals,
        broken / length if length else fragmented(stage.floor, names),
    )


def fragmented(floor: Floor, names: Iterable[str]) -> float | None:
    """The share of the free GPUs that are on nodes of which others are taken; None if none is."""
    whole = broken = 0
    for one, places in floor.classes.items():
        free, capacity = dict(one.free), dict(one.capacity)
        gpus, most = (
            sum(max(counts.get(name, 0), 0) for name in names) for counts in (free, capacity)
        )
        nodes = sum(len(kind.nodes) for kind in places.values())
        whole += gpus * nodes
        broken += gpus * nodes if gpus < most else 0
    return broken / whole if whole else None

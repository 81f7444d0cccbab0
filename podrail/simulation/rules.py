"""The rules of placement that are compared: the default scheduler's, and podrail's beside them.

Only what concerns GPUs and rails: kube-scheduler's NodeResourcesFit over the pod's GPUs, and for
podrail the extender's refusals and points on top. Both have the webhook. All nodes are looked at.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Protocol

from podrail import placement, snapshot
from podrail.gang import blocks, ties
from podrail.gang.blocks import Seeker
from podrail.gang.claims import Claims
from podrail.gang.job import Job
from podrail.gang.siblings import Siblings
from podrail.ledger import Ledger
from podrail.locality import Place
from podrail.placement import Misfit
from podrail.score import choice, value
from podrail.score.need import Need
from podrail.score.state import State
from podrail.simulation import floor as floors
from podrail.simulation.floor import Class, Floor, Kind, Seated
from podrail.simulation.order import Order

FULL: Final = 100
"""framework.MaxNodeScore."""
POINT: Final = 20 * FULL // value.BEST
"""What one point of the extender adds with the shipped weight of 20 (design §6)."""
CLAIM_SECONDS: Final = 300.0


class Strategy(StrEnum):
    """How NodeResourcesFit scores (kubescheduler.config.k8s.io/v1, scoringStrategy)."""

    LEAST = "LeastAllocated"
    MOST = "MostAllocated"


@dataclass(frozen=True, slots=True)
class Asker:
    """A pod that is to be placed: which one of its job, and for how long it has waited."""

    order: Order
    index: int
    now: float

    @property
    def uid(self) -> str:
        """What tells it from all others."""
        return f"{self.order.key} {self.index}"

    @property
    def job(self) -> Job:
        """Its job, as the resolver would say it."""
        work = self.order.work
        return Job(self.order.key, "simulation", work.pods, self.index)


class Rules(Protocol):
    """Which nodes a pod may take, which are best, which rails it gets; and what is remembered."""

    def suits(self, asker: Asker) -> Callable[[Class], bool]:
        """Whether nodes of a class may run the pod."""

    def points(self, kinds: Sequence[Kind], asker: Asker) -> Sequence[int]:
        """The total score of each kind."""

    def rails(self, floor: Floor, node: int, asker: Asker) -> tuple[int, ...]:
        """The rails of the pod's networks there."""

    def bound(self, floor: Floor, seated: Seated, asker: Asker) -> None:
        """Remember a pod that is bound."""

    def gone(self, asker: Asker) -> None:
        """Forget a pod that is not there any more."""

    def ended(self, order: Order) -> None:
        """Forget a job without pods."""


def fit(kinds: Sequence[Kind], order: Order, strategy: Strategy) -> list[int]:
    """NodeResourcesFit's score over the pod's GPUs, from 0 to 100 (leastRequestedScore, 1.36)."""
    made: dict[int, int] = {}
    for kind in kinds:
        if id(kind.at) not in made:
            made[id(kind.at)] = _fit(kind.at, order, strategy)
    return [made[id(kind.at)] for kind in kinds]


def _fit(one: Class, order: Order, strategy: Strategy) -> int:
    whole = dict(one.capacity).get(order.gpu_name, 0)
    left = one.left(order.gpu_name) - order.asked[order.gpu_name]
    if whole <= 0:
        return 0
    return (left if strategy is Strategy.LEAST else whole - left) * FULL // whole


@dataclass(frozen=True, slots=True)
class Default:
    """kube-scheduler's rules; the rails are those of admission."""

    strategy: Strategy

    def suits(self, asker: Asker) -> Callable[[Class], bool]:
        """Enough devices are free."""
        asked = asker.order.asked
        return lambda one: one.fits(asked) > 0

    def points(self, kinds: Sequence[Kind], asker: Asker) -> Sequence[int]:
        """NodeResourcesFit alone."""
        return fit(kinds, asker.order, self.strategy)

    def rails(self, _floor: Floor, _node: int, asker: Asker) -> tuple[int, ...]:
        """Those of admission."""
        return asker.order.need.rails

    def bound(self, floor: Floor, seated: Seated, asker: Asker) -> None:
        """Nothing is remembered."""

    def gone(self, asker: Asker) -> None:
        """Nothing is remembered."""

    def ended(self, order: Order) -> None:
        """Nothing is remembered."""


@dataclass(frozen=True, slots=True)
class Podrail:
    """The extender's rules, by the functions that the extender calls."""

    siblings: Siblings = field(default_factory=Siblings)
    claims: Claims = field(default_factory=Claims)
    ledger: Ledger = field(default_factory=Ledger)
    _verdicts: dict[tuple[State, Need], Misfit | None] = field(default_factory=dict)

    def suits(self, asker: Asker) -> Callable[[Class], bool]:
        """Enough devices are free, and podrail refuses nothing that its patience lets it."""
        order = asker.order
        waited = asker.now - order.work.arrival
        patient = waited < order.fabric.patience_seconds

        def suitable(one: Class) -> bool:
            if one.fits(order.asked) <= 0:
                return False
            misfit = None if one.state is None else self._misfit(one.state, order)
            return misfit is None or (misfit.temporary and not patient)

        return suitable

    def _misfit(self, state: State, order: Order) -> Misfit | None:
        key = (state, order.need)
        if key not in self._verdicts:
            self._verdicts[key] = placement.judge(state, order.wish, order.fabric, waiting=-1.0)
        return self._verdicts[key]

    def points(self, kinds: Sequence[Kind], asker: Asker) -> Sequence[int]:
        """The extender's points by weight, and NodeResourcesFit's MostAllocated."""
        order, crew = asker.order, self.siblings.crew(asker.order.key)
        there = Counter[Place]()
        for kind in kinds:
            there[kind.seat.place] += len(kind.nodes)
        per_node = max(kind.at.fits(order.asked) for kind in kinds)
        claimed = self.claims.others(order.key, asker.now)
        nears = ties.nears(there, Seeker(asker.job, crew, claimed, per_node))
        seats = [kind.seat for kind in kinds]
        points = value.scores(seats, order.need, ties.kin(crew), nears)
        fits = fit(kinds, order, Strategy.MOST)
        return [POINT * one + other for one, other in zip(points, fits, strict=True)]

    def rails(self, floor: Floor, node: int, asker: Asker) -> tuple[int, ...]:
        """As the extender chooses them when it binds."""
        need, known = asker.order.need, floor.kind(node).at.state
        used = self.ledger.used(str(node), asker.uid, asker.now)
        kin = ties.kin(self.siblings.crew(asker.order.key))
        return choice.rails(known, need, used, kin).rails

    def bound(self, floor: Floor, seated: Seated, asker: Asker) -> None:
        """Note the rails and the member, and claim the place for the rest of the job."""
        spot, key = floor.spots[seated.node], asker.order.key
        self.ledger.seen(asker.uid, str(seated.node), seated.rails)
        self.siblings.seen(asker.uid, key, snapshot.member(spot, seated.rails, asker.index))
        per_node = max(1, floors.room(spot.capacity, asker.order.asked))
        rest = blocks.rest(asker.job, self.siblings.crew(key), per_node) or 0
        self.claims.make(key, spot.place, rest, asker.now + CLAIM_SECONDS)

    def gone(self, asker: Asker) -> None:
        """Give back rails and membership."""
        self.ledger.release(asker.uid)
        self.siblings.release(asker.uid)

    def ended(self, order: Order) -> None:
        """Give back the claims."""
        self.claims.release(order.key)

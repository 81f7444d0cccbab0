"""Filter and prioritize over names: pure reads of the cluster's view, one verdict a state."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import partial
from typing import Final

from extender.asking import Asked, Desk
from extender.cluster import Cluster
from extender.view import View
from podrail import placement
from podrail.dra import worth
from podrail.dra.worth import Asked as Claims
from podrail.extension import Arguments
from podrail.job import Job
from podrail.locality import NOWHERE, Place
from podrail.placement import Misfit
from podrail.score import value
from podrail.score.kin import ANYWHERE
from podrail.score.need import Need
from podrail.score.state import State
from podrail.score.value import Seat
from podrail.score.weights import WEIGHTS, Part

MOST_KEPT: Final = 1024
_UNKNOWN: Final = value.seat(None, NOWHERE)


class Unscored(StrEnum):
    """Why all nodes are the same to a call."""

    STALE = "stale"
    NOT_INJECTED = "not_injected"
    """And claims no NICs, or by a claim that is not known."""
    NO_TOPOLOGY = "no_topology"


@dataclass(frozen=True, slots=True)
class _Answer:
    """The points of each seat, and what they follow from."""

    of: tuple[Job, Claims | None, int]
    need: Need | None
    seats: Mapping[Seat | None, int]
    points: Mapping[Seat | None, int]


@dataclass(frozen=True, slots=True)
class Judge:
    """Answers kube-scheduler's two questions."""

    cluster: Cluster
    desk: Desk
    stale_seconds: float
    now: Callable[[], datetime]
    unscored: Callable[[str], None]
    """Told of each prioritize whose scores are all the same because nothing is known."""
    _kept: dict[str, _Answer] = field(default_factory=dict)
    """By job: the last answer and all that it follows from."""

    @property
    def stale(self) -> bool:
        """True if the view is too old to judge by."""
        return self.cluster.age() > self.stale_seconds

    def filter(self, asked: Arguments) -> Mapping[str, Misfit]:
        """The nodes that the pod cannot run on, and why."""
        found = None if self.stale else self.desk.asked(asked.pod)
        # What a claim needs is for DRA to say.
        if found is None or found.claims is not None or found.wish is None:
            return {}
        seats = self.cluster.seats(asked.nodes)
        waiting = placement.waited(asked.pod, self.now())
        misfits = _misfits(
            set(seats),
            partial(placement.judge, pod=found.wish, fabric=found.fabric, waiting=waiting),
        )
        if not misfits:
            return {}
        return {
            node: misfits[seat]
            for node, seat in zip(asked.nodes, seats, strict=True)
            if seat in misfits
        }

    def prioritize(self, asked: Arguments) -> list[int]:
        """A score for each node, in the order of the names."""
        found = None if self.stale else self.desk.asked(asked.pod)
        if found is None:
            self.unscored(Unscored.STALE if self.stale else Unscored.NOT_INJECTED)
            return [0] * len(asked.nodes)
        seats = self.cluster.seats(asked.nodes)
        points = self._points(found, Counter(seats))
        return list(map(points.__getitem__, seats))

    def _points(self, found: Asked, seats: Mapping[Seat | None, int]) -> Mapping[Seat | None, int]:
        """The points of each state and place that there is; made anew if anything changed."""
        need = None if found.wish is None else found.wish.need(found.fabric)
        key, version = found.job.key, self.cluster.version
        of = (found.job, found.claims, version)
        kept = self._kept.get(key)
        if kept is None or kept.of != of or kept.need is not need or kept.seats != seats:
            kept = _Answer(of, need, seats, self._new_points(found, need, seats))
            if len(self._kept) >= MOST_KEPT:
                self._kept.clear()
            self._kept[key] = kept
        if not any(kept.points.values()):
            self.unscored(Unscored.NO_TOPOLOGY)
        return kept.points

    def _new_points(
        self, found: Asked, need: Need | None, seats: Mapping[Seat | None, int]
    ) -> Mapping[Seat | None, int]:
        known = [_UNKNOWN if seat is None else seat for seat in seats]
        there = _places(known, seats.values())
        view = self.cluster.view(found.job, there, _per_node(found, known))
        if found.claims is not None or need is None:
            points = value.points([_claimed(seat, found.claims, view) for seat in known])
        else:
            points = value.scores(known, need, view.kin, view.nears)
        return dict(zip(seats, points, strict=True))


def _misfits(
    seats: Iterable[Seat | None], judge: Callable[[State], Misfit | None]
) -> Mapping[Seat | None, Misfit]:
    """The seats that are refused: a node of which nothing is known never is."""
    states = {
        id(seat.state): seat.state for seat in seats if seat is not None and seat.state is not None
    }
    verdicts = {
        key: misfit for key, state in states.items() if (misfit := judge(state)) is not None
    }
    if not verdicts:
        return {}
    return {
        seat: verdicts[id(seat.state)]
        for seat in seats
        if seat is not None and id(seat.state) in verdicts
    }


def _places(seats: Sequence[Seat], counts: Iterable[int]) -> Mapping[Place, int]:
    """The nodes at each place; by identity first, since places are compared by all their names."""
    places: dict[int, Place] = {}
    found: Counter[int] = Counter()
    for seat, nodes in zip(seats, counts, strict=True):
        places[id(seat.place)] = seat.place
        found[id(seat.place)] += nodes
    return {places[key]: nodes for key, nodes in found.items()}


def _per_node(found: Asked, seats: Iterable[Seat]) -> int:
    """How many pods like this one a node takes, by the largest machine type that is offered."""
    gpus = max((len(one.state.topology.gpus) for one in seats if one.state is not None), default=0)
    return max(gpus // found.gpus, 1) if found.gpus else 1


def _claimed(seat: Seat, claims: Claims | None, view: View) -> float | None:
    """What a node is worth to a pod that claims its NICs: alignment and place by their weights."""
    if seat.state is None or claims is None:
        return None
    reach = worth.value(seat.state.topology, claims)
    if reach is None:
        return None
    near = view.nears.get(seat.place, ANYWHERE)
    parts = ((Part.REACH, reach), (Part.CLOSENESS, near.closeness), (Part.BLOCK, near.block))
    told = [(WEIGHTS[part], one) for part, one in parts if one is not None]
    return sum(weight * one for weight, one in told) / sum(weight for weight, _ in told)

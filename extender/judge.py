"""Filter and prioritize over names: pure reads of the cluster's view, one verdict a state."""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import partial
from typing import Any, Final

from extender.asking import Asked, Desk
from extender.candidates import Candidates
from extender.cluster import Cluster
from extender.known import Known
from extender.view import View
from podrail import placement
from podrail.dra import worth
from podrail.dra.worth import Asked as Claims
from podrail.extension import Arguments, Ranking
from podrail.gang import alike
from podrail.gang.job import Job
from podrail.placement import Misfit
from podrail.score import value
from podrail.score.kin import ANYWHERE
from podrail.score.need import Need
from podrail.score.state import Counted, State
from podrail.score.value import BEST, Seat
from podrail.score.weights import WEIGHTS, Part

SKEW_SECONDS: Final = 60.0
"""How much younger than now a pod may seem: clocks of machines differ by less."""
MOST_KEPT: Final = 16
"""Answers that are kept: a bind makes all of them out of date, and each names all the nodes."""


class Unscored(StrEnum):
    """Why all nodes are the same to a call."""

    STALE = "stale"
    NOT_INJECTED = "not_injected"
    """And claims no NICs, or by a claim that is not known."""
    NO_TOPOLOGY = "no_topology"


@dataclass(frozen=True, slots=True)
class _Answer:
    """A ranking, and all that it follows from."""

    of: tuple[Job, Claims | None, int, Candidates]
    need: Need | None
    ranking: Ranking


@dataclass(frozen=True, slots=True)
class Lately:
    """The nodes that passed kube-scheduler's own rules for a pod, and what that depends on."""

    kind: str
    nodes: Sequence[str]


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
    _lately: OrderedDict[str, Lately] = field(default_factory=OrderedDict)
    """By job, of those with several pods, the one that was heard of last at the end."""

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
        there = self.cluster.candidates(asked.nodes, _uid(asked.pod))
        waiting = _waited(asked.pod, self.now())
        return _misfits(
            there,
            partial(placement.judge, pod=found.wish, fabric=found.fabric, waiting=waiting),
        )

    def prioritize(self, asked: Arguments) -> Ranking:
        """A score for each node; the same object as long as nothing changes."""
        found = None if self.stale else self.desk.asked(asked.pod)
        if found is None:
            self.unscored(Unscored.STALE if self.stale else Unscored.NOT_INJECTED)
            return Ranking([None] * len(asked.nodes), {None: 0})
        ranking = self._ranking(found, self.cluster.candidates(asked.nodes, _uid(asked.pod)))
        self._heard(found.job, asked)
        if not any(ranking.scores.values()):
            self.unscored(Unscored.NO_TOPOLOGY)
        return ranking

    def lately(self, job: str) -> Lately | None:
        """What was last asked about a pod of a job; None if that is long ago, or nothing."""
        return self._lately.get(job)

    def best(self, pod: Known, nodes: Sequence[str]) -> Sequence[str]:
        """The nodes that pods alike would be given, one after the other, as far as that is sure.

        None if there are none, or nothing is known. Nodes in one state at one place are equal: a
        pod that takes a whole node leaves the others the best for the next. A node with a taint
        that says to rather not go there is left to kube-scheduler to weigh.
        """
        found = None if self.stale or pod.document is None else self.desk.asked(pod.document)
        if found is None or found.claims is not None or found.wish is None:
            return ()
        there = self._with_room(nodes, pod.held.devices)
        points = self._ranking(found, there).scores
        takes = partial(placement.judge, pod=found.wish, fabric=found.fabric, waiting=0)
        good = {
            seat: seat.state
            for seat in there.counts
            if points[seat] == BEST and seat.state is not None and takes(seat.state) is None
        }
        fit = [
            (name, seat)
            for name, seat in zip(there.names, there.seats, strict=True)
            if seat in good and not self.cluster.standing(name).shunned
        ]
        if not fit:
            return ()
        _, first = fit[0]
        whole = found.gpus >= len(good[first].topology.gpus)
        return [name for name, seat in fit if seat is first][: None if whole else 1]

    def _with_room(self, nodes: Sequence[str], devices: Counted) -> Candidates:
        """The nodes with so many free devices, which is otherwise kube-scheduler's to say."""
        there = self.cluster.candidates(nodes)
        roomy = {seat for seat in there.counts if seat.state is None or seat.state.has(devices)}
        seats = zip(nodes, there.seats, strict=True)
        return self.cluster.candidates([name for name, seat in seats if seat in roomy])

    def _heard(self, job: Job, asked: Arguments) -> None:
        if (job.expected or 0) > 1:
            self._lately[job.key] = Lately(alike.kind(asked.pod), asked.nodes)
            self._lately.move_to_end(job.key)
            if len(self._lately) > MOST_KEPT:
                self._lately.popitem(last=False)

    def _ranking(self, found: Asked, there: Candidates) -> Ranking:
        """The points of each state and place that there is; made anew if anything changed."""
        need = None if found.wish is None else found.wish.need(found.fabric)
        of = (found.job, found.claims, self.cluster.version, there)
        kept = self._kept.get(found.job.key)
        if kept is None or kept.of != of or kept.need is not need:
            kept = _Answer(of, need, Ranking(there.seats, self._points(found, need, there)))
            if len(self._kept) >= MOST_KEPT:
                self._kept.clear()
            self._kept[found.job.key] = kept
        return kept.ranking

    def _points(self, found: Asked, need: Need | None, there: Candidates) -> Mapping[Hashable, int]:
        seats = tuple(there.counts)
        view = self.cluster.view(found.job, there.there(), _per_node(found, there.most_gpus))
        if found.claims is not None or need is None:
            points = value.points([_claimed(seat, found.claims, view) for seat in seats])
        else:
            points = value.scores(seats, need, view.kin, view.nears)
        return dict(zip(seats, points, strict=True))


def _uid(pod: Mapping[str, Any]) -> str:
    return str(pod["metadata"].get("uid") or "")


def _waited(pod: Mapping[str, Any], now: datetime) -> float:
    """For how many seconds the pod has waited; endlessly if the API server's clock is not ours.

    With a clock that is behind, a pod would else be refused for now until it has caught up.
    """
    found = placement.waited(pod, now)
    return float("inf") if found < -SKEW_SECONDS else found


def _misfits(there: Candidates, judge: Callable[[State], Misfit | None]) -> Mapping[str, Misfit]:
    """The nodes that are refused: one of which nothing is known never is."""
    refused = {id(state): misfit for state in there.states if (misfit := judge(state)) is not None}
    if not refused:
        return {}
    return {
        name: refused[id(seat.state)]
        for name, seat in zip(there.names, there.seats, strict=True)
        if id(seat.state) in refused
    }


def _per_node(found: Asked, gpus: int) -> int:
    """How many pods like this one the largest machine type that is offered takes."""
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

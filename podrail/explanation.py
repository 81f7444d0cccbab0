"""Why a pod is worth what it is on each node: one engine for rank, explain and the page.

Nodes are judged as kube-scheduler and the extender would now: cordons and selectors, counted
devices, podrail's refusals, then the score. Taints, affinities, CPU and memory are left out.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from podrail import fit, placement
from podrail.fabric import Profile
from podrail.gang import blocks, job, ties
from podrail.gang.blocks import Seeker
from podrail.gang.job import Job
from podrail.gang.siblings import Crew
from podrail.placement import Misfit, Wish
from podrail.score import value
from podrail.score.kin import ANYWHERE
from podrail.score.outlook import Outlook
from podrail.score.value import Score
from podrail.score.weights import MEANINGS, WEIGHTS, Part
from podrail.snapshot import NOW, Snapshot, Spot

Document = Mapping[str, Any]
MOST_MISSES: Final = 3


class Kind(StrEnum):
    """Why a node is out, from what passes by itself to what never does."""

    SHORT = "devices taken"
    TEMPORARY = "refused for now"
    CORDONED = "cordoned"
    UNSELECTED = "not selected"
    TOO_SMALL = "too few devices"
    ABSENT = "not offered"
    PERMANENT = "refused for good"


HELP: Final[Mapping[Kind, str]] = {
    Kind.SHORT: "It fits once other pods there have ended, or a pod of higher priority preempts.",
    Kind.TEMPORARY: "It fits once other pods there have ended, or its profile's patience is over.",
    Kind.CORDONED: "Uncordon the node when its maintenance is over.",
    Kind.UNSELECTED: "Label the node, or change the nodeSelector of the pod or its profile.",
    Kind.TOO_SMALL: "Ask for fewer devices; if the node has more, look at its device plugin.",
    Kind.ABSENT: "Does its device plugin run there? If no node offers it, is its name right?",
    Kind.PERMANENT: "Ask for less, choose another profile, or correct the node's rails or kubelet.",
}
"""What would make the node do, by the kind of refusal."""
_MISFITS: Final[Mapping[Misfit, str]] = {
    Misfit.NO_RAILS: "Choose a profile whose rails this machine type has, or other rails.",
    Misfit.TOO_FEW_GPUS: "Ask for no more GPUs than the machine type has.",
    Misfit.RAIL_DOWN: "Have the port or cable of the rail looked at; podrail topology shows which.",
    Misfit.NEVER_ADMITTED: "Use a pool of devices, or a kubelet policy of best-effort or none.",
}


@dataclass(frozen=True, slots=True)
class Share:
    """A part of a node's worth: its value from 0 to 1, its weight, what it adds to the worth."""

    part: Part
    value: float
    weight: int
    adds: float

    @property
    def means(self) -> str:
        """What the part says, in a sentence."""
        return MEANINGS[self.part].means


@dataclass(frozen=True, slots=True)
class Candidate:
    """A node: what it is worth to the pod, or why it cannot run there."""

    spot: Spot
    points: int = 0
    worth: float | None = None
    shares: tuple[Share, ...] = ()
    outlook: Outlook | None = None
    reason: str = ""
    kind: Kind | None = None
    lacking: int = 0
    """How many devices of the first resource that is short are missing."""

    @property
    def help(self) -> str:
        """What would make the node do; empty if it does."""
        if self.kind is None:
            return ""
        own = (text for misfit, text in _MISFITS.items() if misfit.value == self.reason)
        return next(own, HELP[self.kind])


@dataclass(frozen=True, slots=True)
class Explanation:
    """Every node for one pod: those that do, best first, then the others, the nearest first."""

    wish: Wish
    crew: Crew
    best: tuple[Candidate, ...]
    misses: tuple[Candidate, ...]
    absent: tuple[str, ...] = ()
    """The resources that the pod asks for and no node offers."""

    @property
    def job(self) -> Job:
        """The job that the pod belongs to."""
        return self.wish.job

    @property
    def refusals(self) -> Mapping[tuple[Kind, str], int]:
        """How many nodes are out for each reason, the most usual first."""
        found = Counter((one.kind, _plain(one)) for one in self.misses if one.kind is not None)
        return {(kind, why): many for (kind, why), many in found.most_common()}


def _plain(one: Candidate) -> str:
    """The reason without its numbers, as kube-scheduler words it."""
    resource = one.reason.partition(":")[0]
    if one.kind is Kind.ABSENT:
        return f"no {resource}"
    return f"too few {resource}" if one.kind in {Kind.SHORT, Kind.TOO_SMALL} else one.reason


def explain(
    wanting: Document, wish: Wish, fabric: Profile | None, snapshot: Snapshot
) -> Explanation:
    """What each node of the snapshot is to an injected pod document, whose wish is given.

    Raises:
        ValueError: a count of devices is none.
    """
    namespace = str((wanting.get("metadata") or {}).get("namespace", ""))
    found = replace(wish, job=job.of(wanting, namespace, snapshot.lookup))
    wanted = fit.asked(wanting)
    out = [_out(wanting, wanted, found, fabric, spot) for spot in snapshot.spots]
    fits = [spot for spot, miss in zip(snapshot.spots, out, strict=True) if miss is None]
    misses = [miss for miss in out if miss is not None]
    crew = snapshot.siblings.crew(found.job.key)
    rank = {kind: at for at, kind in enumerate([*Kind, None])}
    return Explanation(
        found,
        crew,
        tuple(sorted(_scored(fits, found, fabric, snapshot), key=_order)),
        tuple(sorted(misses, key=lambda one: (rank[one.kind], one.lacking, one.spot.name))),
        tuple(sorted(_absent(wanted, [spot.capacity for spot in snapshot.spots]))),
    )


def _order(one: Candidate) -> tuple[int, float, str]:
    return (-one.points, -(one.worth or 0.0), one.spot.name)


def _absent(wanted: Mapping[str, int], offered: Iterable[Mapping[str, int]]) -> Iterator[str]:
    """The resources that are asked for and not offered at all.

    A kubelet whose device plugin has gone goes on to list the resource, with none of it (1.36).
    """
    there = {name for one in offered for name, count in one.items() if count > 0}
    return (name for name, count in wanted.items() if count > 0 and name not in there)


def _out(
    wanting: Document,
    wanted: Mapping[str, int],
    wish: Wish,
    fabric: Profile | None,
    spot: Spot,
) -> Candidate | None:
    """Why the pod cannot run there; None if it can."""
    if spot.cordoned:
        return Candidate(spot, reason="the node is cordoned", kind=Kind.CORDONED)
    selector = (wanting.get("spec") or {}).get("nodeSelector") or {}
    for key, text in selector.items():
        if spot.labels.get(key) != text:
            return Candidate(
                spot, reason=f"the node has no label {key}={text}", kind=Kind.UNSELECTED
            )
    short = _short(wanted, spot)
    if short is not None:
        return short
    misfit = None if spot.state is None else placement.judge(spot.state, wish, fabric)
    if misfit is None:
        return None
    kind = Kind.TEMPORARY if misfit.temporary else Kind.PERMANENT
    return Candidate(spot, outlook=_outlook(spot, wish, fabric), reason=misfit.value, kind=kind)


def _short(wanted: Mapping[str, int], spot: Spot) -> Candidate | None:
    reason = fit.shortage(wanted, spot.free)
    if not reason:
        return None
    absent = min(_absent(wanted, [spot.capacity]), default="")
    if absent:
        told = f"{absent}: the node offers none"
        return Candidate(spot, reason=told, kind=Kind.ABSENT, lacking=wanted[absent])
    name = reason.partition(":")[0]
    kind = Kind.TOO_SMALL if fit.shortage(wanted, spot.capacity) else Kind.SHORT
    lacking = wanted[name] - max(spot.free.get(name, 0), 0)
    return Candidate(spot, reason=reason, kind=kind, lacking=lacking)


def _scored(
    fits: Sequence[Spot], wish: Wish, fabric: Profile | None, snapshot: Snapshot
) -> Iterator[Candidate]:
    crew = snapshot.siblings.crew(wish.job.key)
    claimed = snapshot.claims.others(wish.job.key, NOW)
    seeker = Seeker(wish.job, crew, claimed, per_node(fits, wish))
    nears = ties.nears(blocks.free([spot.place for spot in fits]), seeker)
    kin = ties.kin(crew)
    scores = [
        None
        if spot.state is None
        else placement.score(spot.state, wish, fabric, kin, nears.get(spot.place, ANYWHERE))
        for spot in fits
    ]
    values = [None if score is None else score.value for score in scores]
    for spot, score, points in zip(fits, scores, value.points(values), strict=True):
        yield Candidate(
            spot,
            points,
            None if score is None else score.value,
            () if score is None else shares(score),
            _outlook(spot, wish, fabric),
        )


def per_node(spots: Sequence[Spot], wish: Wish) -> int:
    """How many pods like this one the largest of the nodes can take."""
    gpus = max((len(one.state.topology.gpus) for one in spots if one.state is not None), default=0)
    return max(1, gpus // max(wish.gpus, 1))


def shares(score: Score) -> tuple[Share, ...]:
    """The parts of a score, what adds most first; what they add is their share of the mean."""
    whole = sum(WEIGHTS[part] for part in score.parts)
    found = [
        Share(part, one, WEIGHTS[part], WEIGHTS[part] * one / whole)
        for part, one in score.parts.items()
    ]
    return tuple(sorted(found, key=lambda share: (-share.weight, share.part)))


def _outlook(spot: Spot, wish: Wish, fabric: Profile | None) -> Outlook | None:
    """What to expect of the node with the rails that the pod would get now."""
    if spot.state is None:
        return None
    return placement.choose(spot.state, wish, fabric, spot.state.uses).outlook

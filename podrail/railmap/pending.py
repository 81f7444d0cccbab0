"""Pods that wait: why, in the scheduler's own words, and which nodes come nearest."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from podrail.explanation import MOST_MISSES, Candidate, Explanation
from podrail.railmap import paging
from podrail.railmap.facts import Pod
from podrail.railmap.paging import Paging
from podrail.railmap.scene import Scene

_BEGIN: Final = re.compile(r"^[0-9]+/[0-9]+ nodes are available: ")
_REASON: Final = re.compile(r"([0-9]+) (.+?)(?:, (?=[0-9]+ )|\.?$)", re.DOTALL)
_PREEMPTION: Final = " preemption: "
"""How kube-scheduler 1.36 words a pod that fits nowhere (FitError.Error, framework/types.go)."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A reason, and how many nodes it keeps a pod from."""

    reason: str
    nodes: int


@dataclass(frozen=True, slots=True)
class Waiting:
    """A pod that waits, since when, and why."""

    pod: str
    profile: str
    job: str
    since: str
    words: str
    """All that the scheduler says; empty if it has not tried yet."""
    refusals: tuple[Refusal, ...]


@dataclass(frozen=True, slots=True)
class Common:
    """A reason, how many pods have it, and how many nodes it keeps from one of them at most."""

    reason: str
    pods: int
    nodes: int


@dataclass(frozen=True, slots=True)
class Pending:
    """The view: the reasons of all pods that wait, and a page of those pods."""

    reasons: tuple[Common, ...]
    unscheduled: int
    """How many the scheduler has not tried yet."""
    paging: Paging
    pods: tuple[Waiting, ...]


@dataclass(frozen=True, slots=True)
class Fit:
    """A node that would do: its points from 0 to 10, and what to expect there."""

    node: str
    points: int
    worth: float | None
    tier: str


@dataclass(frozen=True, slots=True)
class Miss:
    """A node that does not, by the rules of podrail, and what would make it."""

    node: str
    kind: str
    reason: str
    lacking: int
    help: str


@dataclass(frozen=True, slots=True)
class Tally:
    """How many nodes are out for a reason."""

    kind: str
    reason: str
    nodes: int


@dataclass(frozen=True, slots=True)
class Asked:
    """The view of one pod that waits; fits, misses and tallies are podrail's own account."""

    waiting: Waiting
    able: int
    fits: tuple[Fit, ...]
    misses: tuple[Miss, ...]
    tallies: tuple[Tally, ...]
    absent: tuple[str, ...] = ()
    """The resources that the pod asks for and no node offers."""


def of(scene: Scene, page: int = 1) -> Pending:
    """The view of all that wait."""
    found, part = paging.cut(scene.waiting, page)
    pods: Counter[str] = Counter()
    nodes: dict[str, int] = {}
    for pod in scene.waiting:
        for one in refusals(pod.words):
            pods[one.reason] += 1
            nodes[one.reason] = max(nodes.get(one.reason, 0), one.nodes)
    return Pending(
        reasons=tuple(Common(reason, many, nodes[reason]) for reason, many in pods.most_common()),
        unscheduled=sum(not pod.words for pod in scene.waiting),
        paging=found,
        pods=tuple(waiting(one) for one in part),
    )


def asked(pod: Pod, explained: Explanation | None) -> Asked:
    """The view of one, with every node for it explained; None if that cannot be."""
    if explained is None:
        return Asked(waiting(pod), 0, (), (), ())
    return Asked(
        waiting(pod),
        able=len(explained.best),
        fits=tuple(_fit(one) for one in explained.best[:MOST_MISSES]),
        misses=tuple(_miss(one) for one in explained.misses[:MOST_MISSES]),
        tallies=tuple(
            Tally(kind.value, reason, nodes) for (kind, reason), nodes in explained.refusals.items()
        ),
        absent=explained.absent,
    )


def waiting(pod: Pod) -> Waiting:
    """A pod that waits, in one line."""
    promise = None if pod.subject is None else pod.subject.promise
    return Waiting(
        pod=pod.key,
        profile="" if promise is None else promise.profile,
        job="" if pod.job is None else pod.job.key,
        since=pod.since,
        words=pod.words,
        refusals=tuple(refusals(pod.words)),
    )


def refusals(words: str) -> Iterator[Refusal]:
    """The reasons in what kube-scheduler says; words of another form are one reason of no node."""
    begin = _BEGIN.match(words)
    if begin is None:
        if words:
            yield Refusal(words, 0)
        return
    text = words[begin.end() :].partition(_PREEMPTION)[0]
    yield from (Refusal(one[2], int(one[1])) for one in _REASON.finditer(text))


def _fit(one: Candidate) -> Fit:
    tier = None if one.outlook is None else one.outlook.tier
    return Fit(one.spot.name, one.points, one.worth, "" if tier is None else tier.value)


def _miss(one: Candidate) -> Miss:
    kind = "" if one.kind is None else one.kind.value
    return Miss(one.spot.name, kind, one.reason, one.lacking, one.help)

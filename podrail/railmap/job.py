"""A job: which rails its pods have, on which leaves, and what they get of what was expected."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from podrail.audit import record
from podrail.audit.outcome import Code, Outcome, Report
from podrail.audit.promise import Forecast
from podrail.railmap import paging
from podrail.railmap.paging import Paging
from podrail.railmap.scene import Scene
from podrail.railmap.tenant import Tenant

UNSEEN: Final[Mapping[Code, str]] = {
    Code.NO_NODE_RAILS: "No agent has told of this node, so what the pod got is not known.",
    Code.NOT_LOOKED: "The agent has not looked since the pod began, or says not when it did.",
    Code.DEVICES_UNSEEN: "The agent does not see the pod's devices, so what it got is not known.",
}
"""Why what a pod got is not known."""


@dataclass(frozen=True, slots=True)
class Rank:
    """A pod of the job; worth is the share of its rails' bandwidth, None where not known."""

    pod: str
    index: int | None
    node: str
    block: str
    leaf: str
    gpus: tuple[int, ...]
    rails: tuple[int, ...]
    known_by: str
    common: bool
    """Whether its rails are those that most pods of the job have."""
    outcome: str
    expected_tier: str
    observed_tier: str
    expected: float | None
    observed: float | None
    told: str
    """What the controller's report says of it."""


@dataclass(frozen=True, slots=True)
class Brief:
    """A job in one line. same_rails is the share of pairs of pods that have the same rails."""

    key: str
    rule: str
    size: int | None
    pods: int
    nodes: int
    leaves: int
    blocks: int
    same_rails: float | None
    degraded: int


@dataclass(frozen=True, slots=True)
class Job:
    """The view; rails and leaves say how many of the pods have each."""

    brief: Brief
    rails: Mapping[int, int]
    leaves: Mapping[str, int]
    expected: float | None
    observed: float | None
    """The mean worth, of pods of which both are known."""
    paging: Paging
    ranks: tuple[Rank, ...]


@dataclass(frozen=True, slots=True)
class Jobs:
    """All jobs with a bound pod."""

    paging: Paging
    jobs: tuple[Brief, ...]


def every(scene: Scene, page: int = 1) -> Jobs:
    """A page of the jobs."""
    found, part = paging.cut([*scene.jobs.items()], page)
    return Jobs(found, tuple(_brief(key, some, scene) for key, some in part))


def of(key: str, scene: Scene, page: int = 1) -> Job:
    """The view of a job that has pods in the scene."""
    tenants = scene.jobs[key]
    usual = _usual(tenants)
    found, part = paging.cut(tenants, page)
    both = [worth for one in tenants if None not in (worth := _worth(one))]
    return Job(
        brief=_brief(key, tenants, scene),
        rails=dict(sorted(Counter(rail for one in tenants for rail in one.rails).items())),
        leaves=dict(Counter(_place(one, scene)[1] for one in tenants)),
        expected=_mean([expected for expected, _ in both]),
        observed=_mean([observed for _, observed in both]),
        paging=found,
        ranks=tuple(_rank(one, usual, scene) for one in part),
    )


def _brief(key: str, tenants: Sequence[Tenant], scene: Scene) -> Brief:
    first = tenants[0].pod.job
    places = {_place(one, scene) for one in tenants}
    return Brief(
        key=key,
        rule="" if first is None else first.rule,
        size=None if first is None else first.size,
        pods=len(tenants),
        nodes=len({one.pod.node for one in tenants}),
        leaves=len({leaf for _, leaf in places if leaf}),
        blocks=len({block for block, _ in places if block}),
        same_rails=_same(tenants),
        degraded=sum(_outcome(one) is Outcome.DEGRADED for one in tenants),
    )


def _place(one: Tenant, scene: Scene) -> tuple[str, str]:
    there = scene.machines.get(one.pod.node)
    return ("", "") if there is None else (there.node.place.block, there.node.place.leaf)


def _same(tenants: Sequence[Tenant]) -> float | None:
    """Pairs with equal rails of all pairs; None where there is no pair."""
    many = len(tenants)
    if many < 2:  # noqa: PLR2004 - a pair
        return None
    alike = Counter(one.rails for one in tenants).values()
    return sum(some * (some - 1) for some in alike) / (many * (many - 1))


def _usual(tenants: Sequence[Tenant]) -> tuple[int, ...]:
    return Counter(one.rails for one in tenants).most_common(1)[0][0]


def _outcome(one: Tenant) -> Outcome | None:
    return None if one.report is None else one.report.outcome


def _forecast(one: Tenant) -> Forecast | None:
    return None if one.pod.subject is None else one.pod.subject.forecast


def _worth(one: Tenant) -> tuple[float | None, float | None]:
    """What was expected of its rails, and what was observed."""
    forecast = _forecast(one)
    seen = None if one.report is None else one.report.observed
    return (None if forecast is None else forecast.worth), (None if seen is None else seen.worth)


def _mean(values: Sequence[float | None]) -> float | None:
    known = [one for one in values if one is not None]
    return sum(known) / len(known) if known else None


def _rank(one: Tenant, usual: tuple[int, ...], scene: Scene) -> Rank:
    report, job, forecast = one.report, one.pod.job, _forecast(one)
    seen = None if report is None else report.observed
    expected, observed = _worth(one)
    block, leaf = _place(one, scene)
    return Rank(
        pod=one.pod.key,
        index=None if job is None else job.index,
        node=one.pod.node,
        block=block,
        leaf=leaf,
        gpus=one.gpus,
        rails=one.rails,
        known_by="" if one.by is None else one.by.value,
        common=one.rails == usual,
        outcome="" if report is None else report.outcome.value,
        expected_tier="" if forecast is None or forecast.tier is None else forecast.tier.value,
        observed_tier="" if seen is None or seen.tier is None else seen.tier.value,
        expected=expected,
        observed=observed,
        told=_told(report),
    )


def _told(report: Report | None) -> str:
    if report is None:
        return ""
    if report.outcome is Outcome.UNKNOWN:
        return UNSEEN[report.findings[0].code]
    return record.message(report)

"""Predicted against observed: the outcome of a pod, by its markers and what its node's agent saw.

Aligned is a pod whose GPUs reach its rails as well as so many GPUs can on that node, and no worse
than its placement expected. What nobody could have seen is unknown, never good or bad.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from podrail import alignment
from podrail.audit.promise import Forecast, Promise
from podrail.audit.sight import Holding, Sight
from podrail.audit.subject import Subject
from podrail.topology import State, Tier

TOLERANCE: Final = 0.005
"""Markers have four digits, and sums of shares are not exact."""


class Outcome(StrEnum):
    """What became of a pod's rails; all but the last are reasons of Events."""

    ALIGNED = "RailsAligned"
    DEGRADED = "RailsDegraded"
    UNSCORED = "RailsUnscored"
    NOT_INJECTED = "RailsNotInjected"
    UNKNOWN = "Unknown"


class Code(StrEnum):
    """Why an outcome is not aligned."""

    RAIL_DOWN = "RailDown"
    RAIL_SUSPECT = "RailSuspect"
    RAIL_MISSING = "RailMissing"
    RAILS_LACKING = "RailsLacking"
    GPU_UNHEALTHY = "GpuUnhealthy"
    MISALIGNED = "Misaligned"
    BELOW_EXPECTED = "BelowExpected"
    NO_PLACEMENT = "NoPlacement"
    NO_MARKER = "NoMarker"
    NO_NODE_RAILS = "NoNodeRails"
    NOT_LOOKED = "NotLookedSince"
    DEVICES_UNSEEN = "DevicesUnseen"


class By(StrEnum):
    """How the rails of a pod are known: by the devices that it holds, or by its markers alone."""

    DEVICES = "devices"
    MARKERS = "markers"


@dataclass(frozen=True, slots=True)
class Finding:
    """One reason, the rails that it is about, and the agent's code for what is wrong with them."""

    code: Code
    rails: tuple[int, ...] = ()
    cause: str = ""


@dataclass(frozen=True, slots=True)
class Observed:
    """What a pod got. aligned is the share of its GPUs paired at the node's best distance."""

    gpus: tuple[int, ...]
    nics: tuple[str, ...]
    rails: tuple[int, ...]
    by: By
    tier: Tier | None = None
    """The worst distance of the best pairing."""
    aligned: float | None = None
    worth: float | None = None
    """The share of its rails' bandwidth that its GPUs can expect."""


@dataclass(frozen=True, slots=True)
class Report:
    """What there is to say of a pod."""

    outcome: Outcome
    profile: str
    node: str = ""
    findings: tuple[Finding, ...] = ()
    observed: Observed | None = None
    forecast: Forecast | None = None


@dataclass(frozen=True, slots=True)
class Ours:
    """Whose pods are asked of: our schedulers, the names of GPUs, namespaces nobody looks at."""

    schedulers: frozenset[str]
    gpus: frozenset[str]
    spared: frozenset[str] = frozenset()


def judge(pod: Subject, sight: Sight | None, ours: Ours, fabric: str = "") -> Report | None:
    """The report on a pod; None if there is nothing to say yet, or at all.

    sight is of the pod's node, fabric what the label of its namespace says.
    """
    promise = pod.promise
    if promise is None:
        return _slipped(pod, ours, fabric)
    if not promise.injected or not pod.node:
        return None
    seen = _seen(pod, promise, sight)
    rails = _promised(pod, promise)
    outcome, findings = Outcome.ALIGNED, tuple[Finding, ...]()
    if isinstance(seen, Observed) and sight is not None:
        findings = tuple(_ill(seen, rails, sight))
        outcome = Outcome.DEGRADED if findings else Outcome.ALIGNED
    if not findings and pod.forecast is None and pod.scheduler in ours.schedulers:
        outcome, findings = Outcome.UNSCORED, (Finding(Code.NO_PLACEMENT),)
    if not findings and (not rails or pod.started is None):
        return None
    if not findings:
        outcome, findings = _compared(seen, pod.forecast, sight)
    observed = seen if isinstance(seen, Observed) else None
    return Report(outcome, promise.profile, pod.node, findings, observed, pod.forecast)


def _slipped(pod: Subject, ours: Ours, fabric: str) -> Report | None:
    """A pod without a marker that should have one: its namespace's label counts for GPUs only."""
    wanted = pod.fabric or (fabric if ours.gpus.intersection(pod.devices) else "")
    if not wanted or pod.namespace in ours.spared:
        return None
    return Report(Outcome.NOT_INJECTED, wanted, pod.node, (Finding(Code.NO_MARKER),))


def _promised(pod: Subject, promise: Promise) -> tuple[int, ...]:
    return promise.rails if pod.forecast is None else pod.forecast.rails


def _seen(pod: Subject, promise: Promise, sight: Sight | None) -> Observed | Code:
    """What the agent saw of the pod, or why it saw nothing.

    An earlier pod may have had the same name: what was seen before this one began is not its own.
    """
    if sight is None:
        return Code.NO_NODE_RAILS
    if sight.observed_at is None or pod.started is None or sight.observed_at < pod.started:
        return Code.NOT_LOOKED
    held = [one for one in sight.pods.get(pod.key, ()) if promise.container in {"", one.container}]
    gpus = tuple(sorted({gpu for one in held for gpu in one.gpus}))
    at = tuple(sorted({nic for one in held for nic in one.nics}))
    by = By.DEVICES if at and not _hidden(held, promise) else By.MARKERS
    if by is By.DEVICES:
        on = {sight.topology.nics[one].rail for one in at}
        rails = tuple(sorted(rail for rail in on if rail is not None))
    else:
        there = set(sight.topology.rails)
        rails = tuple(rail for rail in _promised(pod, promise) if rail in there)
    found = Observed(gpus, tuple(sight.nics[one] for one in at), rails, by)
    return _paired(found, sight) if gpus and rails else found


def _hidden(held: list[Holding], promise: Promise) -> bool:
    """Whether some of the NICs' devices do not tell which NIC they are of."""
    return any(set(one.others) & set(promise.resources) for one in held)


def _paired(found: Observed, sight: Sight) -> Observed:
    """With what its GPUs can get of its rails; one whose ports are all down gives nothing."""
    topology = sight.topology
    usable = tuple(rail for rail in found.rails if rail in _up(sight))
    if not usable:
        return replace(found, aligned=0.0, worth=0.0)
    best = alignment.best(topology, found.gpus, usable)
    most = max(max(row) for row in topology.worth.values())
    pairs = list(zip(found.gpus, best.rails, strict=True))
    aligned = sum(topology.worth[rail][gpu] >= most for gpu, rail in pairs)
    return replace(found, tier=best.tier, aligned=aligned / len(pairs), worth=best.worth)


def _up(sight: Sight) -> frozenset[int | None]:
    ports = zip(sight.topology.nics, sight.ports, strict=True)
    return frozenset(nic.rail for nic, port in ports if port is not State.DOWN)


def _ill(seen: Observed, promised: tuple[int, ...], sight: Sight) -> Iterator[Finding]:
    """What keeps the pod from what it has: the health of its devices, and rails it lacks."""
    topology = sight.topology
    mine = [
        (name, nic.rail, port)
        for name, nic, port in zip(sight.nics, topology.nics, sight.ports, strict=True)
        if (name in seen.nics if seen.by is By.DEVICES else nic.rail in seen.rails)
    ]
    for code, bad in ((Code.RAIL_DOWN, State.DOWN), (Code.RAIL_SUSPECT, State.SUSPECT)):
        some = [(name, rail) for name, rail, port in mine if port is bad]
        if some:
            rails = tuple(sorted({rail for _, rail in some if rail is not None}))
            yield Finding(code, rails, sight.causes.get(some[0][0], ""))
    missing = tuple(rail for rail in promised if rail not in topology.rails)
    if missing:
        yield Finding(Code.RAIL_MISSING, missing)
    elif len(seen.rails) < len(promised):
        # Which ones is no question where a pool gives any.
        yield Finding(Code.RAILS_LACKING)
    if set(sight.unwell).intersection(seen.gpus):
        yield Finding(Code.GPU_UNHEALTHY)


def _compared(
    seen: Observed | Code, forecast: Forecast | None, sight: Sight | None
) -> tuple[Outcome, tuple[Finding, ...]]:
    """The outcome of a pod whose devices are well."""
    if isinstance(seen, Code):
        return Outcome.UNKNOWN, (Finding(seen),)
    if seen.worth is None or sight is None:
        return Outcome.UNKNOWN, (Finding(Code.DEVICES_UNSEEN),)
    findings = []
    if seen.worth < alignment.ideal(sight.topology, len(seen.gpus)) - TOLERANCE:
        findings.append(Finding(Code.MISALIGNED))
    expected = None if forecast is None else forecast.worth
    if expected is not None and seen.worth < expected - TOLERANCE:
        findings.append(Finding(Code.BELOW_EXPECTED))
    return (Outcome.DEGRADED if findings else Outcome.ALIGNED), tuple(findings)

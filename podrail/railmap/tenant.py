"""A pod on a node: what it holds, and how that is known.

What its agent saw comes first; else the markers tell, whose GPUs count only where the kubelet had
no choice.
"""

from dataclasses import dataclass
from typing import Final

from podrail.audit.outcome import By, Report
from podrail.audit.sight import Sight
from podrail.railmap.facts import Pod

CERTAIN: Final = 1.0


@dataclass(frozen=True, slots=True)
class Tenant:
    """A bound pod; gpus and rails are empty where nothing is known of them."""

    pod: Pod
    gpus: tuple[int, ...] = ()
    rails: tuple[int, ...] = ()
    by: By | None = None
    report: Report | None = None


def of(pod: Pod, sight: Sight | None, report: Report | None) -> Tenant:
    """The pod with what it holds of the node that its agent saw so."""
    seen = None if report is None else report.observed
    if seen is not None:
        return Tenant(pod, seen.gpus, seen.rails, seen.by, report)
    gpus, rails = _held(pod, sight)
    if gpus or rails:
        return Tenant(pod, gpus, rails, By.DEVICES, report)
    gpus, rails = _told(pod)
    return Tenant(pod, gpus, rails, By.MARKERS if rails else None, report)


def _held(pod: Pod, sight: Sight | None) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """By PodResources, whose pods have no UID: one that began later is not the one seen."""
    if sight is None or not _seen_since(pod, sight):
        return (), ()
    held = sight.pods.get(pod.key, ())
    gpus = {gpu for one in held for gpu in one.gpus}
    on = {sight.topology.nics[nic].rail for one in held for nic in one.nics}
    return tuple(sorted(gpus)), tuple(sorted(rail for rail in on if rail is not None))


def _seen_since(pod: Pod, sight: Sight) -> bool:
    started = None if pod.subject is None else pod.subject.started
    return started is not None and sight.observed_at is not None and started <= sight.observed_at


def _told(pod: Pod) -> tuple[tuple[int, ...], tuple[int, ...]]:
    subject = pod.subject
    if subject is None or subject.promise is None or not subject.promise.injected:
        return (), ()
    if subject.forecast is None:
        return (), subject.promise.rails
    sets = subject.forecast.gpu_sets
    sure = sets[0][0] if len(sets) == 1 and sets[0][1] == CERTAIN else ()
    return sure, subject.forecast.rails

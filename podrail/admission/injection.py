"""The fold of the rules over a pod: what comes out is the pod with its rails, and why."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from podrail import names
from podrail import pod as pods
from podrail.admission import (
    advice,
    attachment,
    claiming,
    demand,
    environment,
    extras,
    resources,
    review,
)
from podrail.admission.demand import Skip
from podrail.admission.draft import Draft
from podrail.admission.vicinity import NOWHERE, Vicinity
from podrail.fabric import Mode, Profile
from podrail.marker import Injected, Outcome, Reason
from podrail.pod import Pod

RULES: Final[tuple[Callable[[Draft], Draft], ...]] = (
    attachment.attach,
    resources.request,
    claiming.claim,
    environment.export,
    extras.grant,
    advice.advise,
)

_LINE: Final = review.WARNING - len("podrail: ")
_PROFILE: Final = 63 + len(" adds , ")


@dataclass(frozen=True, slots=True)
class Injection:
    """The pod as it should be, the marker it carries, and what its author should read."""

    pod: Pod
    marker: Injected
    warnings: tuple[str, ...]


def inject(pod: Pod, profile: Profile, vicinity: Vicinity = NOWHERE) -> Injection:
    """The pod with the rails of the profile, computed afresh whatever marker it carries.

    Raises:
        PodError: the pod contradicts itself or the profile.
    """
    blank = Injected(profile.name, profile.generation)
    if profile.mode is Mode.SUSPENDED:
        message = f"profile {profile.name} is suspended: the pod gets no rails"
        return skipped(pod, blank, Reason("Suspended", "spec.mode", message))
    found = demand.of(pod, profile, vicinity)
    if isinstance(found, Skip):
        return skipped(pod, blank, found.reason)
    container = pod.containers[found.container].get("name", "")
    marker = blank._replace(container=container, rails=found.rails)
    draft = Draft(pod, marker, profile, found, vicinity)
    for rule in RULES:
        draft = rule(draft)
    if profile.mode is Mode.OBSERVE:
        return _observed(pod, draft)
    return _finished(draft.pod, draft.marker, (*_summary(draft, "injected"), *draft.warnings))


def skipped(pod: Pod, blank: Injected, reason: Reason) -> Injection:
    """The pod unchanged but for the marker that says why."""
    marker = blank._replace(outcome=Outcome.SKIPPED, reason=reason.code, reasons=(reason,))
    warning = f"{marker.profile} is not injected: {reason.path}: {reason.message}"
    return _finished(pod, marker, (warning,))


def _observed(pod: Pod, draft: Draft) -> Injection:
    marker = draft.marker._replace(outcome=Outcome.SKIPPED, reason="Observed")
    return _finished(pod, marker, (*_summary(draft, "would inject"), *draft.warnings))


def _finished(pod: Pod, marker: Injected, warnings: tuple[str, ...]) -> Injection:
    """The pod with its marker and without the podrail annotations of a pod it was copied from."""
    written = {names.NCCL_CONF, *(names.ENV_PREFIX + name for name in marker.env)}
    keep = names.USERS | {names.INJECTED} | (written if marker.injected else set())
    prefix = f"{names.GROUP}/"
    stale = [key for key in pod.annotations if key.startswith(prefix) and key not in keep]
    done = pod.without_annotations(stale).annotate(names.INJECTED, marker.text())
    return Injection(done, marker, tuple(f"podrail: {warning}" for warning in warnings))


def _summary(draft: Draft, did: str) -> tuple[str, ...]:
    """What was done, in one warning, or in as many as its resources need."""
    marker = draft.marker
    parts = [f"{did} {marker.profile} into container {marker.container}"]
    if draft.profile.rails.count:
        parts.append(f"rails {','.join(str(rail) for rail in marker.rails)}")
    if marker.networks:
        parts.append(f"{len(marker.networks)} networks")
    # What a ResourceQuota or a Kueue queue may count is told in full.
    counts = [f"{name}: {count}" for name, count in marker.resources.items()]
    sizes = [
        f"{one.name}: {one.size}"
        for one in draft.profile.resources
        if one.size and one.name in pods.limits(draft.container)
    ]
    whole = "; ".join([*parts, *([", ".join(counts)] if counts else ()), *sizes])
    if len(whole) <= _LINE:
        return (whole,)
    lines = _lines([*counts, *sizes])
    return ("; ".join(parts), *(f"{marker.profile} adds {line}" for line in lines))


def _lines(items: Sequence[str]) -> Iterator[str]:
    """The items joined by commas, in lines that no warning is too short for."""
    line = ""
    for item in items:
        if line and len(line) + len(item) > _LINE - _PROFILE:
            yield line
            line = ""
        line = f"{line}, {item}" if line else item
    yield line

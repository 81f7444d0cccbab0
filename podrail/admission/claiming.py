"""The rule that makes a pod claim its GPUs and NICs, where the profile's attachment is Dra.

How many GPUs a pod claims stands in its annotation podrail.dev/gpus: a count in the limits is a
request of its own (to the device plugin, or a claim that kube-scheduler makes), and no constraint
reaches across claims. Limits that name all of a node's GPUs need no pairing, so these pods claim
the node's NICs alone.
"""

import re
import zlib
from collections.abc import Iterator, Mapping
from typing import Any, Final

from podrail import names
from podrail import pod as pods
from podrail.admission.draft import Draft
from podrail.dra import template
from podrail.dra.template import Template
from podrail.errors import PodError
from podrail.fabric import Profile
from podrail.gang import job
from podrail.pod import Pod
from podrail.reading import shown

NAME: Final = "podrail"
_COUNT: Final = re.compile("0|[1-9][0-9]{0,2}")
_PATH: Final = f"metadata.annotations['{names.GPUS}']"


def gpus(pod: Pod, profile: Profile) -> int:
    """How many GPUs the pod claims; 0 if it does not say, or the profile has no claims.

    Raises:
        PodError: not a whole number, or more than a node has.
    """
    asked = pod.annotations.get(names.GPUS)
    if profile.claim is None or asked is None:
        return 0
    most = profile.rails.gpus
    if not _COUNT.fullmatch(asked) or int(asked) > most:
        message = (
            f"expected a whole number from 0 to {most}, the GPUs of a node; got {shown(asked)}"
        )
        raise PodError("MalformedGpus", _PATH, message)
    return int(asked)


def counts(pod: Pod, profile: Profile) -> Mapping[int, int]:
    """The claimed GPUs by the containers that may get them, all of the app's; empty if none are.

    Raises as gpus does.
    """
    claimed = gpus(pod, profile)
    return dict.fromkeys(range(len(pod.containers)), claimed) if claimed else {}


def ours(pod: Pod, profile: Profile, entry: Mapping[str, Any]) -> bool:
    """True for the entry of spec.resourceClaims that the profile makes for this pod."""
    return profile.claim is not None and _template(entry) == _wanted(pod, profile).name


def earlier(profile: Profile, entry: Mapping[str, Any]) -> bool:
    """True for an entry that names a template of the profile, in whatever generation."""
    return profile.claim is not None and _template(entry).startswith(template.stem(profile))


def claim(draft: Draft) -> Draft:
    """The pod with an entry for its template, and the container that may use what is claimed."""
    profile = draft.profile
    if profile.claim is None:
        return draft
    _check(draft)
    if names.RAILS in draft.pod.annotations:
        message = "which rails a claim gets is the scheduler's choice: the annotation has no effect"
        everything = tuple(range(profile.rails.count))
        path = f"metadata.annotations['{names.RAILS}']"
        draft = draft.marked(rails=everything).noting("RailsAreClaimed", path, message)
    wanted = _wanted(draft.pod, profile)
    draft = draft.marked(resources={**draft.marker.resources, **wanted.devices})
    present = draft.pod.spec.get("resourceClaims") or ()
    taken = {one.get("name"): one for one in present}
    entry = next(one for one in _spellings(wanted) if taken.get(one["name"], one) == one)
    if entry not in present:
        draft = draft.to(draft.pod.put(("spec", "resourceClaims"), [*present, entry]))
    return _used(draft, entry["name"])


def _check(draft: Draft) -> None:
    """Refuse GPUs that are asked for twice, or in a way that leaves their NICs to chance."""
    profile, claimed = draft.profile, gpus(draft.pod, draft.profile)
    limited = [
        f"spec.containers[{index}].resources.limits['{name}']"
        for index, container in enumerate(draft.pod.containers)
        for name in profile.gpu_resources
        if pods.limits(container).get(name, 0) not in ("0", 0)
    ]
    if claimed and limited:
        message = f"the pod claims {claimed} GPUs ({names.GPUS}) and would get these beside them"
        raise PodError("GpusAskedTwice", limited[0], message)
    if not claimed and draft.demand.gpus < profile.rails.gpus:
        message = (
            f"{profile.name} claims GPUs together with their NICs, which limits cannot say: write "
            f'the annotation {names.GPUS}: "{draft.demand.gpus}" in place of this'
        )
        raise PodError("GpusNotClaimed", limited[0], message)


def _used(draft: Draft, name: str) -> Draft:
    given = draft.container.get("resources") or {}
    claims = given.get("claims") or ()
    if any(one.get("name") == name for one in claims):
        return draft
    return draft.put("resources", {**given, "claims": [*claims, {"name": name}]})


def _wanted(pod: Pod, profile: Profile) -> Template:
    claimed = gpus(pod, profile)
    if not claimed or profile.claim is None:
        return template.nics(profile)
    groups = max(1, len(profile.claim.groups))
    own = zlib.crc32(job.of(pod.document, pod.namespace).key.encode()) % groups
    return template.pairs(profile, claimed, own)


def _template(entry: Mapping[str, Any]) -> str:
    name = entry.get("resourceClaimTemplateName")
    return name if isinstance(name, str) else ""


def _spellings(wanted: Template) -> Iterator[dict[str, str]]:
    """The entry, under one name after the other, in an order that a second pass finds again."""
    number = 1
    while True:
        name = NAME if number == 1 else f"{NAME}-{number}"
        yield {"name": name, "resourceClaimTemplateName": wanted.name}
        number += 1

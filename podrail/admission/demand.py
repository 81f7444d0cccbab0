"""What a pod asks of a fabric: which container, how many GPUs, which rails; or why nothing."""

import re
import zlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final, assert_never

from podrail import names, quantity
from podrail import pod as pods
from podrail.admission import claiming
from podrail.admission.draft import Demand
from podrail.admission.vicinity import NOWHERE, Vicinity
from podrail.dra import device
from podrail.errors import PodError
from podrail.fabric import Attachment, Partial, Profile
from podrail.gang import job
from podrail.marker import Reason
from podrail.pod import Document, Pod
from podrail.reading import shown

_RAILS: Final = re.compile(r"[0-9]{1,3}(,[0-9]{1,3}){0,63}")
_FRACTIONS: Final = ("nvidia.com/gpumem", "nvidia.com/gpumem-percentage", "nvidia.com/gpucores")
"""HAMi's resources: a pod that names one shares its GPU."""
_FRACTION_ANNOTATIONS: Final = ("gpu-fraction", "gpu-memory", "gpu-fraction-num-devices")
"""KAI's annotations for the same."""
_MIG: Final = "nvidia.com/mig-"
"""Prefix of the resources of a GPU's slices (k8s-device-plugin, mixed strategy)."""
_SHARED: Final = ".shared"
"""Suffix of a GPU resource under time-slicing or MPS (k8s-device-plugin, renameByDefault)."""
_SHARING_LABEL: Final = "nvidia.com/gpu.sharing-strategy"


@dataclass(frozen=True, slots=True)
class Skip:
    """The pod gets nothing, and why."""

    reason: Reason


def of(pod: Pod, profile: Profile, vicinity: Vicinity = NOWHERE) -> Demand | Skip:
    """The pod's demand.

    Raises:
        PodError: two GPU containers and no choice, quantities that are no counts, rails that the
            fabric has not, or a part of a node where the profile gives whole nodes only.
    """
    for rule in (_untouchable, _part_of_a_gpu, _claimed, _elsewhere):
        reason = rule(pod, profile, vicinity)
        if reason is not None:
            return Skip(reason)
    counts = claiming.counts(pod, profile) or _counts(pod, profile)
    if not counts:
        return Skip(_gpuless(profile))
    index = _target(pod, counts)
    declined = _declined(pod, index, profile)
    if declined is not None:
        return Skip(declined)
    return Demand(index, counts[index], _rails(pod, profile, counts[index]))


def _counts(pod: Pod, profile: Profile) -> Mapping[int, int]:
    return {
        index: count
        for index, container in enumerate(pod.containers)
        if (count := _gpus(container, f"spec.containers[{index}]", profile))
    }


def _gpuless(profile: Profile) -> Reason:
    message = f"no container asks for {', '.join(profile.gpu_resources)}"
    if profile.claim is not None:
        message += f", nor does the annotation {names.GPUS}"
    return Reason("NoGpu", "spec.containers", message)


def _untouchable(pod: Pod, _profile: Profile, _vicinity: Vicinity) -> Reason | None:
    if not pod.mirror:
        return None
    return Reason("MirrorPod", "metadata.annotations", "a mirror pod cannot be changed")


def _part_of_a_gpu(pod: Pod, profile: Profile, _vicinity: Vicinity) -> Reason | None:
    """A GPU that is shared or cut up has no rail of its own."""
    for index, container in enumerate(pod.containers):
        for name in pods.limits(container):
            code, message = _partial(name, profile)
            if code:
                path = f"spec.containers[{index}].resources.limits"
                return Reason(code, path, f"{name}: {message}")
    if any(name in pod.annotations for name in _FRACTION_ANNOTATIONS):
        return Reason("FractionalGpu", "metadata.annotations", "the GPU is shared (KAI)")
    selector = pod.spec.get("nodeSelector") or {}
    if selector.get(_SHARING_LABEL, "none") != "none" or selector.get(
        names.GPU_PRODUCT, ""
    ).endswith("-SHARED"):
        return Reason("SharedGpu", "spec.nodeSelector", "the nodes' GPUs are time-sliced or MPS")
    return None


def _partial(resource: str, profile: Profile) -> tuple[str, str]:
    """The code and message for a resource that is a part of a GPU; empty for any other."""
    if resource in _FRACTIONS:
        return "FractionalGpu", "the GPU is shared (HAMi)"
    if resource.startswith(_MIG):
        return "Mig", "a slice of a GPU has no rail of its own"
    if resource.removesuffix(_SHARED) in profile.gpu_resources and resource.endswith(_SHARED):
        return "SharedGpu", "the GPU is time-sliced or under MPS"
    return "", ""


def _claimed(pod: Pod, profile: Profile, vicinity: Vicinity) -> Reason | None:
    """NICs that the pod claims itself (DRA) are its rails."""
    for index, claim in enumerate(pod.spec.get("resourceClaims") or ()):
        path = f"spec.resourceClaims[{index}]"
        if claiming.ours(pod, profile, claim):
            continue
        if claiming.earlier(profile, claim):
            message = "podrail's of another time, or for other GPUs: remove it for one of now"
            return Reason("DraNetworks", path, message)
        for name in sorted(vicinity.claim_classes(pod.namespace, claim) or ()):
            if device.NIC.fullmatch(name):
                message = f"device class {name}: the pod claims its NICs itself"
                return Reason("DraNetworks", path, message)
    return None


def _declined(pod: Pod, index: int, profile: Profile) -> Reason | None:
    """A count of zero is the user's word that the pod wants none (mlbatch, AMD's operator)."""
    asked = pods.limits(pod.containers[index])
    path = f"spec.containers[{index}]"
    for resource in profile.resources:
        name = resource.name
        if name in asked and not resource.size and not count(pod.containers[index], path, name):
            message = "the pod asks for none of them"
            return Reason("ZeroRails", f"{path}.resources.limits['{name}']", message)
    return None


def _elsewhere(pod: Pod, profile: Profile, _vicinity: Vicinity) -> Reason | None:
    if profile.attachment is not Attachment.HOST_NETWORK or pod.spec.get("hostNetwork") is True:
        return None
    message = f"{profile.name} is for pods on the host's network: set hostNetwork: true"
    return Reason("NotOnHostNetwork", "spec.hostNetwork", message)


def asks_for(pod: Pod, resources: Collection[str]) -> bool:
    """True if an app container names one of the resources in its limits."""
    return any(name in pods.limits(container) for container in pod.containers for name in resources)


def count(container: Document, path: str, resource: str) -> int:
    """How many of a resource the container asks for; its limit, since requests must equal it.

    Raises:
        PodError: not a whole number, or a request that differs from the limit.
    """
    resources = container.get("resources") or {}
    found: dict[str, int] = {}
    for kind in ("limits", "requests"):
        value = (resources.get(kind) or {}).get(resource)
        if value is None:
            continue
        try:
            found[kind] = quantity.whole(value)
        except ValueError as error:
            where = f"{path}.resources.{kind}['{resource}']"
            raise PodError("MalformedQuantity", where, str(error)) from error
    limit = found.get("limits", 0)
    if found.get("requests", limit) != limit:
        message = f"expected the limit {limit}, got {found['requests']} (extended resources)"
        raise PodError("RequestIsNotLimit", f"{path}.resources.requests['{resource}']", message)
    return limit


def _gpus(container: Document, path: str, profile: Profile) -> int:
    return sum(count(container, path, resource) for resource in profile.gpu_resources)


def _target(pod: Pod, counts: Mapping[int, int]) -> int:
    named = pod.annotations.get(names.CONTAINER)
    with_gpus = {pod.containers[index].get("name", ""): index for index in counts}
    path = f"metadata.annotations['{names.CONTAINER}']"
    if named is not None:
        if named not in with_gpus:
            message = f"expected a container with GPUs ({', '.join(with_gpus)}), got {shown(named)}"
            raise PodError("NoSuchContainer", path, message)
        return with_gpus[named]
    if len(counts) > 1:
        listed = ", ".join(pod.containers[index].get("name", "") for index in counts)
        message = (
            f"containers {listed} all ask for GPUs, but network devices belong to one container: "
            f"name it in the annotation {names.CONTAINER}"
        )
        raise PodError("SeveralGpuContainers", "spec.containers", message)
    return next(iter(counts))


def _rails(pod: Pod, profile: Profile, gpus: int) -> tuple[int, ...]:
    """The rails the pod gets: its own choice, or the profile's answer to a part of a node."""
    rails = profile.rails
    everything = tuple(range(rails.count))
    asked = pod.annotations.get(names.RAILS)
    if asked is not None:
        return _asked(asked, rails.count)
    if gpus >= rails.gpus or not rails.count:
        return everything
    groups = _from_own_group(pod, profile)
    need = -(-gpus * rails.count // rails.gpus)
    match profile.partial:
        case Partial.ALL_RAILS:
            return everything
        case Partial.PROPORTIONAL:
            return tuple(sorted([rail for group in groups for rail in group][:need]))
        case Partial.SAME_NUMA:
            taken: list[int] = []
            for group in groups:
                taken += group if len(taken) < need else ()
            return tuple(sorted(taken))
        case Partial.DENY:
            message = f"{profile.name} gives whole nodes only: {rails.gpus} GPUs, not {gpus}"
            raise PodError("PartOfANode", "spec.containers", message)
    assert_never(profile.partial)


def _from_own_group(pod: Pod, profile: Profile) -> list[tuple[int, ...]]:
    """The NUMA groups, beginning with the job's own: the same for all pods of a job (design §4)."""
    groups = profile.rails.numa_groups
    own = zlib.crc32(job.of(pod.document, pod.namespace).key.encode()) % len(groups)
    return [*groups[own:], *groups[:own]]


def _asked(text: str, total: int) -> tuple[int, ...]:
    found = tuple(int(rail) for rail in text.split(",")) if _RAILS.fullmatch(text) else ()
    if not found or len(set(found)) < len(found) or max(found) >= total:
        message = f"expected different rails from 0 to {total - 1} such as 0,1; got {shown(text)}"
        raise PodError("NoSuchRail", f"metadata.annotations['{names.RAILS}']", message)
    return tuple(sorted(found))

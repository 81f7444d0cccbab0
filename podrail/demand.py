"""What a pod asks of a fabric: which container, how many GPUs, which rails; or why nothing."""

import re
import zlib
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final, assert_never

from podrail import job, names, quantity
from podrail.draft import Demand
from podrail.errors import PodError
from podrail.fabric import Partial, Profile
from podrail.marker import Reason
from podrail.pod import Document, Pod
from podrail.reading import shown

_RAILS: Final = re.compile(r"[0-9]{1,3}(,[0-9]{1,3}){0,63}")
_FRACTIONS: Final = ("nvidia.com/gpumem", "nvidia.com/gpumem-percentage", "nvidia.com/gpucores")
"""HAMi's resources: a pod that names one shares its GPU."""
_FRACTION_ANNOTATIONS: Final = ("gpu-fraction", "gpu-memory", "gpu-fraction-num-devices")
"""KAI's annotations for the same."""


@dataclass(frozen=True, slots=True)
class Skip:
    """The pod gets nothing, and why."""

    reason: Reason


def of(pod: Pod, profile: Profile) -> Demand | Skip:
    """The pod's demand.

    Raises:
        PodError: two GPU containers and no choice, quantities that are no counts, rails that the
            fabric has not, or a part of a node where the profile gives whole nodes only.
    """
    if pod.mirror:
        return _skip("MirrorPod", "metadata.annotations", "a mirror pod cannot be changed")
    for index, container in enumerate(pod.containers):
        if any(name in _limits(container) for name in _FRACTIONS):
            path = f"spec.containers[{index}].resources.limits"
            return _skip("FractionalGpu", path, "the GPU is shared (HAMi): no rail is its own")
    if any(name in pod.annotations for name in _FRACTION_ANNOTATIONS):
        return _skip("FractionalGpu", "metadata.annotations", "the GPU is shared (KAI)")
    counts = {
        index: count
        for index, container in enumerate(pod.containers)
        if (count := _gpus(container, f"spec.containers[{index}]", profile))
    }
    if not counts:
        wanted = ", ".join(profile.gpu_resources)
        return _skip("NoGpu", "spec.containers", f"no container asks for {wanted}")
    index = _target(pod, counts)
    return Demand(index, counts[index], _rails(pod, profile, counts[index]))


def _skip(code: str, path: str, message: str) -> Skip:
    return Skip(Reason(code, path, message))


def _limits(container: Document) -> Document:
    return (container.get("resources") or {}).get("limits") or {}


def asks_for(pod: Pod, resources: Collection[str]) -> bool:
    """True if an app container names one of the resources in its limits."""
    return any(name in _limits(container) for container in pod.containers for name in resources)


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
    if "requests" in found and found["requests"] != limit:
        message = f"expected the limit {limit}, got {found['requests']} (extended resources)"
        raise PodError("RequestIsNotLimit", f"{path}.resources.requests['{resource}']", message)
    return limit


def _gpus(container: Document, path: str, profile: Profile) -> int:
    return sum(count(container, path, resource) for resource in profile.gpu_resources)


def _target(pod: Pod, counts: dict[int, int]) -> int:
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

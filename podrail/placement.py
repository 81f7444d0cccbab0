"""Where a pod fits, how well, and which rails it gets there; every part can be explained.

Reasons are a fixed vocabulary without any value in them: kube-scheduler writes a changed reason to
the pod, and that update makes it try again at once (146 calls in 10 s for one pod, 1.36.3).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from typing import Any, Final

from podrail import alignment, job, marker, names, quantity
from podrail.alignment import Alignment
from podrail.job import Job
from podrail.marker import Injected
from podrail.topology import Topology

BEST: Final = 10
"""extender/v1 MaxExtenderPriority."""
NEUTRAL: Final = 5
NETWORKS_LATE: Final = "networks"


class Misfit(StrEnum):
    """Why a node is refused for good; preemption would not help."""

    NO_RAILS = "podrail: the node lacks rails that the pod was given"
    TOO_FEW_GPUS = "podrail: the machine type has fewer GPUs than the pod asks for"


@dataclass(frozen=True, slots=True)
class Wish:
    """What an injected pod wants of a node."""

    marker: Injected
    gpus: int
    job: Job

    @property
    def late(self) -> bool:
        """True if its rails are chosen when it is bound."""
        return NETWORKS_LATE in self.marker.late


@dataclass(frozen=True, slots=True)
class Choice:
    """The rails that a pod gets on a node, what to expect of them, and whether others use them."""

    rails: tuple[int, ...]
    alignment: Alignment
    conflict: bool


def wish(pod: Mapping[str, Any], gpu_resources: Sequence[str]) -> Wish | None:
    """The wish of a pod document; None if it was not injected, so that nothing is known of it."""
    metadata = pod.get("metadata") or {}
    found = marker.injected((metadata.get("annotations") or {}).get(names.INJECTED))
    if found is None or not found.injected:
        return None
    gpus = 0
    for container in (pod.get("spec") or {}).get("containers") or ():
        if container.get("name") == found.container:
            limits = (container.get("resources") or {}).get("limits") or {}
            gpus = sum(_count(limits.get(name, 0)) for name in gpu_resources)
    return Wish(found, gpus, job.of(pod, str(metadata.get("namespace", ""))))


def _count(value: object) -> int:
    try:
        return quantity.whole(value)
    except ValueError:
        return 0


def judge(topology: Topology, pod: Wish) -> Misfit | None:
    """Why the pod cannot run on a node of this topology; None if it can."""
    if pod.gpus > len(topology.gpus):
        return Misfit.TOO_FEW_GPUS
    wanted, there = set(pod.marker.rails), set(topology.rails)
    lacking = not wanted & there if pod.late else not wanted <= there
    return Misfit.NO_RAILS if wanted and lacking else None


def value(topology: Topology, pod: Wish) -> float:
    """What the node is worth to the pod, from 0 to 1."""
    return alignment.expected(topology, pod.gpus, pod.marker.rails).expected


def points(values: Sequence[float | None]) -> list[int]:
    """A score from 0 to 10 for each value: the best gets 10, a worse one at most 9.

    None is a node that is not known: in the middle if another is known, else all are equal.
    """
    known = [one for one in values if one is not None]
    if not known:
        return [0] * len(values)
    most = max(known)
    return [NEUTRAL if one is None else _point(one, most) for one in values]


def _point(one: float, most: float) -> int:
    if one >= most:
        return BEST
    return min(BEST - 1, int(BEST * one / most))


def choose(
    topology: Topology, pod: Wish, candidates: Sequence[int], used: Mapping[int, int]
) -> Choice:
    """The rails that the pod gets on a node, out of those that its profile allows.

    Rails that were counted at admission stay. Others are chosen: those that fewest pods use, of as
    few NUMA nodes as possible, the lowest of them. Nobody is ever refused here.
    """
    rails = pod.marker.rails
    conflict = False
    there = [rail for rail in candidates if rail in topology.rails]
    if pod.late and there:
        wanted = min(len(rails), len(there))
        rails = min(
            combinations(there, wanted),
            key=lambda some: (
                sum(used.get(rail, 0) for rail in some),
                len({topology.numa_of(rail) for rail in some}),
                some,
            ),
        )
        # A pod that gets every rail shares them by its profile's own choice.
        conflict = wanted < len(there) and any(used.get(rail, 0) for rail in rails)
    return Choice(rails, alignment.expected(topology, pod.gpus, rails), conflict)


def record(node: str, topology: Topology | None, pod: Wish, choice: Choice | None) -> str:
    """The placement marker (design §11)."""
    found = Alignment(0.0, None, ()) if choice is None else choice.alignment
    parts = {} if choice is None else {"alignment": round(found.expected, 4)}
    return marker.compact(
        {
            "v": names.FORMAT_VERSION,
            "node": node,
            "rails": pod.marker.rails if choice is None else choice.rails,
            "gpuSets": [{"gpus": gpus, "p": round(p, 4)} for gpus, p in found.gpu_sets],
            "tier": found.tier,
            "expected": None if choice is None else round(found.expected, 4),
            "evidence": "none" if topology is None else topology.evidence.value,
            "job": {"key": pod.job.key, "rule": pod.job.rule, "size": pod.job.size},
            "score": {"total": round(BEST * found.expected), "parts": parts},
            "conflict": choice is not None and choice.conflict,
        }
    )

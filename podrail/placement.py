"""Where a pod fits, how well, and which rails it gets there; every part can be explained.

Reasons are a fixed vocabulary without any value in them: kube-scheduler writes a changed reason to
the pod, and that update makes it try again at once (146 calls in 10 s for one pod, 1.36.3).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations, islice
from typing import Any, Final

from podrail import alignment, job, marker, names, quantity
from podrail.alignment import Alignment
from podrail.fabric import Profile
from podrail.job import Job
from podrail.marker import Injected
from podrail.topology import Evidence, Topology

BEST: Final = 10
"""extender/v1 MaxExtenderPriority."""
NEUTRAL: Final = 5
NETWORKS_LATE: Final = "networks"
MOST_CHOICES: Final = 2000
"""Sets of rails compared at a bind; 4 of 8 are 70. Of more, the most promising ones."""


class Misfit(StrEnum):
    """Why a node is refused for good; preemption would not help."""

    NO_RAILS = "podrail: the node lacks rails that the pod was given"
    TOO_FEW_GPUS = "podrail: the machine type has fewer GPUs than the pod asks for"


@dataclass(frozen=True, slots=True)
class Wish:
    """What an injected pod wants of a node; late if its rails are chosen when it is bound."""

    marker: Injected
    gpus: int
    job: Job
    late: bool = False


@dataclass(frozen=True, slots=True)
class Choice:
    """The rails that a pod gets on a node, what to expect of them, and whether others use them.

    alignment is None on a node of which nothing is known.
    """

    rails: tuple[int, ...]
    alignment: Alignment | None
    conflict: bool


def wish(pod: Mapping[str, Any], gpu_resources: Sequence[str]) -> Wish | None:
    """The wish of a pod document; None if it was not injected, so that nothing is known of it."""
    metadata = pod.get("metadata") or {}
    annotations = metadata.get("annotations") or {}
    found = marker.injected(annotations.get(names.INJECTED))
    if found is None or not found.injected:
        return None
    gpus = 0
    for container in (pod.get("spec") or {}).get("containers") or ():
        if container.get("name") == found.container:
            limits = (container.get("resources") or {}).get("limits") or {}
            gpus = sum(_count(limits.get(name, 0)) for name in gpu_resources)
    # Rails that the user named are the user's choice.
    late = NETWORKS_LATE in found.late and names.RAILS not in annotations
    return Wish(found, gpus, job.of(pod, str(metadata.get("namespace", ""))), late)


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
    # Thousands of nodes are of a few machine types.
    point = {one: NEUTRAL if one is None else _point(one, most) for one in set(values)}
    return [point[one] for one in values]


def _point(one: float, most: float) -> int:
    if one >= most:
        return BEST
    return min(BEST - 1, int(BEST * one / most))


def choose(
    topology: Topology | None, pod: Wish, fabric: Profile | None, used: Mapping[int, int]
) -> Choice:
    """The rails that the pod gets on a node, given how many others use each rail there.

    Rails that were counted at admission stay. Late ones are chosen among the profile's that the
    node has: those that fewest pods use, of as few NUMA groups as possible, admission's own where
    that makes no difference, the lowest of them. With no rail free admission's stay. Nobody is
    ever refused here.
    """
    stay = pod.marker.rails
    there = _late_rails(topology, fabric) if pod.late and fabric is not None else ()
    wanted = min(len(stay), len(there))
    if not wanted or fabric is None:
        return chosen(topology, pod, stay)
    # A pod that gets every rail shares them by its profile's own choice.
    shares = wanted < len(there)
    if shares and all(used.get(rail) for rail in there) and set(stay) <= set(there):
        return chosen(topology, pod, stay, conflict=True)
    group = {rail: _group(rail, topology, fabric) for rail in there}
    promising = sorted(there, key=lambda rail: (used.get(rail, 0), group[rail], rail))
    rails = min(
        map(sorted, islice(combinations(promising, wanted), MOST_CHOICES)),
        key=lambda some: (
            sum(used.get(rail, 0) for rail in some),
            len({group[rail] for rail in some}),
            len(set(some).difference(stay)),
            some,
        ),
    )
    conflict = shares and any(used.get(rail) for rail in rails)
    return chosen(topology, pod, tuple(rails), conflict=conflict)


def movable(fabric: Profile) -> Mapping[str, int]:
    """The rail that each network stands for; none at all if one network stands for several."""
    found: dict[str, int] = {}
    for network in fabric.networks:
        if (
            network.rail is not None
            and found.setdefault(network.name, network.rail) != network.rail
        ):
            return {}
    return found


def _late_rails(topology: Topology | None, fabric: Profile) -> tuple[int, ...]:
    """The rails that can be chosen and that the node has; an unknown node has them all."""
    rails = set(movable(fabric).values())
    return tuple(sorted(rails if topology is None else rails & set(topology.rails)))


def _group(rail: int, topology: Topology | None, fabric: Profile) -> tuple[bool, int]:
    """The NUMA node of the rail, else its group in the profile."""
    numa = None if topology is None else topology.numa_of(rail)
    if numa is not None:
        return (True, numa)
    return (False, next(at for at, group in enumerate(fabric.rails.numa_groups) if rail in group))


def chosen(
    topology: Topology | None, pod: Wish, rails: tuple[int, ...], *, conflict: bool = False
) -> Choice:
    """The choice of these rails, with what to expect of them on the node."""
    if topology is None:
        return Choice(rails, None, conflict)
    return Choice(rails, alignment.expected(topology, pod.gpus, rails), conflict)


def record(node: str, topology: Topology | None, pod: Wish, choice: Choice) -> str:
    """The placement marker (design §11); expected is null on a node that is not known."""
    found = choice.alignment or Alignment(0.0, None, ())
    known = choice.alignment is not None
    return marker.compact(
        {
            "v": names.FORMAT_VERSION,
            "node": node,
            "rails": choice.rails,
            "gpuSets": [{"gpus": gpus, "p": round(p, 4)} for gpus, p in found.gpu_sets],
            "tier": found.tier,
            "expected": round(found.expected, 4) if known else None,
            "evidence": (Evidence.NONE if topology is None else topology.evidence).value,
            "job": {"key": pod.job.key, "rule": pod.job.rule, "size": pod.job.size},
            "score": {
                "total": round(BEST * found.expected),
                "parts": {"alignment": round(found.expected, 4)} if known else {},
            },
            "conflict": choice.conflict,
        }
    )

"""Where a pod fits, how well, and which rails it gets there; every part can be explained.

Reasons are a fixed vocabulary without any value in them: kube-scheduler writes a changed reason to
the pod, and that update makes it try again at once (146 calls in 10 s for one pod, 1.36.3).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from podrail import marker, names, quantity
from podrail import pod as pods
from podrail.dra import worth
from podrail.fabric import Profile
from podrail.gang import job
from podrail.gang.job import Job
from podrail.kubelet.model import Code, Lasting, Refused
from podrail.kubelet.node import Container, Kind, Request
from podrail.marker import Injected
from podrail.score import choice, need, outcomes, outlook, value
from podrail.score.kin import ANYWHERE, NOBODY, Kin, Near
from podrail.score.need import Need
from podrail.score.outlook import Outlook
from podrail.score.state import State
from podrail.score.value import BEST, Score
from podrail.topology import Evidence, Topology

NETWORKS_LATE: Final = "networks"


class Misfit(StrEnum):
    """Why a node is refused: for good, so that preemption would not help, or for now."""

    NO_RAILS = "podrail: the node lacks rails that the pod was given"
    TOO_FEW_GPUS = "podrail: the machine type has fewer GPUs than the pod asks for"
    RAIL_DOWN = "podrail: a rail that the pod was given is down"
    NEVER_ADMITTED = "podrail: the kubelet's topology policy never admits the pod on this node"
    RAILS_HELD = "podrail: other pods hold the rails that the pod would get"
    NUMA_FRAGMENTED = "podrail: the kubelet's topology policy finds no NUMA nodes free for the pod"

    @property
    def temporary(self) -> bool:
        """True if the node may do once other pods are gone: then preemption may look there."""
        return self in {Misfit.RAILS_HELD, Misfit.NUMA_FRAGMENTED}


@dataclass(frozen=True, slots=True)
class Wish:
    """What an injected pod wants of a node; late if its rails are chosen when it is bound."""

    marker: Injected
    gpus: int
    job: Job
    late: bool = False
    request: Request = ()
    """The devices that its containers ask for."""
    gpu_names: tuple[str, ...] = ("nvidia.com/gpu",)

    def need(self, fabric: Profile | None) -> Need:
        """What its worth depends on, and nothing else: equal for all pods of a template."""
        rails = self.marker.rails
        wanted = (self.gpus, rails, self.late, self.request, self.gpu_names)
        return need.same(Need(*wanted, fabric))


@dataclass(frozen=True, slots=True)
class Choice:
    """The rails that a pod gets on a node, what to expect of them, and whether others use them.

    outlook is None on a node of which nothing is known, or that the kubelet will refuse.
    """

    rails: tuple[int, ...]
    outlook: Outlook | None
    conflict: bool


class Alignment(StrEnum):
    """How much of what a node's shape offers a pod is expected to get; metric labels."""

    FULL = "full"
    PARTIAL = "partial"
    NONE = "none"
    UNSCORED = "unscored"


def wish(pod: Mapping[str, Any], gpu_resources: Sequence[str]) -> Wish | None:
    """The wish of a pod document; None if it was not injected, so that nothing is known of it."""
    metadata = pod.get("metadata") or {}
    annotations = metadata.get("annotations") or {}
    found = marker.injected(annotations.get(names.INJECTED))
    if found is None or not found.injected:
        return None
    spec = pod.get("spec") or {}
    request = _request(spec)
    asked = {name for container in request for name, _ in container.wants}
    gpus = 0
    for container in spec.get("containers") or ():
        if container.get("name") == found.container:
            gpus = sum(_limits(container).get(name, 0) for name in gpu_resources)
    gpus = gpus or worth.gpus(found)
    return Wish(
        marker=found,
        gpus=gpus,
        job=job.of(pod, str(metadata.get("namespace", ""))),
        # Rails that the user named are the user's choice.
        late=NETWORKS_LATE in found.late and names.RAILS not in annotations,
        request=request,
        gpu_names=tuple(name for name in gpu_resources if name in asked) or ("nvidia.com/gpu",),
    )


def _request(spec: Mapping[str, Any]) -> Request:
    """What the pod's containers ask for, in the order in which the kubelet gives it."""
    found = []
    for one in spec.get("initContainers") or ():
        sidecar = one.get("restartPolicy") == "Always"
        found.append((one, Kind.SIDECAR if sidecar else Kind.INIT))
    found += [(one, Kind.APP) for one in spec.get("containers") or ()]
    wants = [(tuple(sorted(_limits(one).items())), kind) for one, kind in found]
    return tuple(Container(some, kind) for some, kind in wants if some)


def _limits(container: Mapping[str, Any]) -> dict[str, int]:
    """The extended resources of a container, those it asks for none of left out."""
    limits = pods.limits(container).items()
    counts = {name: quantity.count(count) for name, count in limits if "/" in name}
    return {name: count for name, count in counts.items() if count > 0}


def waited(pod: Mapping[str, Any], now: datetime) -> float:
    """For how many seconds the pod has existed; endlessly if it does not say since when."""
    since = (pod.get("metadata") or {}).get("creationTimestamp")
    try:
        return (now - datetime.fromisoformat(str(since))).total_seconds()
    except (ValueError, TypeError):
        return float("inf")


def judge(
    state: State, pod: Wish, fabric: Profile | None = None, waiting: float = float("inf")
) -> Misfit | None:
    """Why the pod cannot run in this state; None if it can.

    waiting is how many seconds the pod has waited: once its profile's patience is over, which may
    be none, it is no longer refused for what will pass.
    """
    wanted = pod.need(fabric)
    for rule in (_devices, _down, _kubelet, _held):
        misfit = rule(state, wanted)
        if misfit is not None and not (misfit.temporary and waiting >= _patience(fabric)):
            return misfit
    return None


def _patience(fabric: Profile | None) -> int:
    return 0 if fabric is None else fabric.patience_seconds


def _devices(state: State, wanted: Need) -> Misfit | None:
    topology = state.topology
    if wanted.gpus > len(topology.gpus):
        return Misfit.TOO_FEW_GPUS
    rails, there = set(wanted.rails), set(topology.rails)
    lacking = not rails & there if wanted.late else not rails <= there
    return Misfit.NO_RAILS if rails and lacking else None


def _down(state: State, wanted: Need) -> Misfit | None:
    """Rails that were counted at admission cannot be exchanged; of others one must be up."""
    down = state.down.intersection(wanted.rails)
    some = wanted.fixed if down else False
    return Misfit.RAIL_DOWN if some or (down and not state.rails) else None


def _kubelet(state: State, wanted: Need) -> Misfit | None:
    """That too few devices are free is for kube-scheduler to say, which counts them."""
    if wanted.fabric is not None and wanted.fabric.claim is not None:
        return None  # claimed devices are allocated by kube-scheduler
    found = outcomes.of(state, wanted)
    if not isinstance(found, Refused) or found.code is Code.TOO_FEW_DEVICES:
        return None
    permanent = found.lasting is Lasting.PERMANENT
    return Misfit.NEVER_ADMITTED if permanent else Misfit.NUMA_FRAGMENTED


def _held(state: State, wanted: Need) -> Misfit | None:
    """Late rails that are to be the pod's own, and of which too few are free."""
    if not choice.exclusive(state, wanted):
        return None
    free = [rail for rail in choice.there(state, wanted) if not state.uses.get(rail)]
    return Misfit.RAILS_HELD if len(free) < len(wanted.rails) else None


def score(
    state: State, pod: Wish, fabric: Profile | None = None, kin: Kin = NOBODY, near: Near = ANYWHERE
) -> Score:
    """What the node is worth to the pod, from 0 to 1, with its parts."""
    return value.score(state, pod.need(fabric), kin, near)


def choose(
    state: State | None,
    pod: Wish,
    fabric: Profile | None,
    used: Mapping[int, int],
    kin: Kin = NOBODY,
) -> Choice:
    """The rails that the pod gets on a node, given how many others use each rail there.

    Rails that were counted at admission stay; late ones are chosen as podrail.score.choice says.
    Nobody is ever refused here.
    """
    found = choice.rails(state, pod.need(fabric), used, kin)
    return chosen(state, pod, fabric, found.rails, conflict=found.conflict)


def chosen(
    state: State | None,
    pod: Wish,
    fabric: Profile | None,
    rails: tuple[int, ...],
    *,
    conflict: bool = False,
) -> Choice:
    """The choice of these rails, with what to expect of them on the node."""
    found = None if state is None else outlook.given(state, pod.need(fabric), rails)
    return Choice(rails, None if isinstance(found, Refused) else found, conflict)


def alignment(choice_: Choice) -> Alignment:
    """What is expected of a choice, in a word; unscored where nothing is known or nothing asked."""
    relative = None if choice_.outlook is None else choice_.outlook.relative
    if relative is None:
        return Alignment.UNSCORED
    # As the marker rounds: it is a sum over probabilities.
    rounded = round(relative, 4)
    if 0 < rounded < 1:
        return Alignment.PARTIAL
    return Alignment.FULL if rounded else Alignment.NONE


def record(
    node: str, topology: Topology | None, pod: Wish, choice_: Choice, score_: Score | None = None
) -> str:
    """The placement marker (design §11); expected is null on a node that is not known."""
    found = choice_.outlook
    parts = {} if score_ is None else score_.parts
    worth = score_.value if score_ is not None else None
    return marker.compact(
        {
            "v": names.FORMAT_VERSION,
            "node": node,
            "rails": choice_.rails,
            "gpuSets": [
                {"gpus": gpus, "p": round(p, 4)} for gpus, p in (found.gpu_sets if found else ())
            ],
            "tier": found.tier if found else None,
            "expected": round(found.worth, 4) if found and found.worth is not None else None,
            "evidence": (Evidence.NONE if topology is None else topology.evidence).value,
            "job": {"key": pod.job.key, "rule": pod.job.rule, "size": pod.job.size},
            "score": {
                "total": round(BEST * (worth or 0.0)),
                "parts": {part.value: round(one, 4) for part, one in parts.items()},
            },
            "conflict": choice_.conflict,
        }
    )

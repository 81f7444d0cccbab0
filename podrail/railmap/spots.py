"""The map as the score has it: each node's state, each job's pods, what a pod is worth where.

What explains a pod that waits is podrail.explanation, as in rank and explain.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Final

from podrail import explanation, names, placement, snapshot
from podrail.evidence.noderails import Kubelet
from podrail.explanation import Explanation
from podrail.fabric import Profile
from podrail.gang import blocks
from podrail.gang.claims import Claims
from podrail.gang.jobsize import Owner
from podrail.gang.siblings import Siblings
from podrail.railmap.facts import Pod
from podrail.railmap.machine import Machine
from podrail.railmap.scene import Scene
from podrail.score import state
from podrail.score.state import State
from podrail.snapshot import NOW, Snapshot, Spot

_LASTING: Final = 1.0


class Plotter:
    """Plots one scene after another; the spot of a machine that is the same is not made anew."""

    def __init__(self) -> None:
        self._spots: dict[str, tuple[Machine, Spot]] = {}

    def plot(self, scene: Scene, gpu_resources: Collection[str]) -> Snapshot:
        """The snapshot of a scene; how many pods a job has is known only where its pods say it."""
        before, self._spots = self._spots, {}
        for name, one in scene.machines.items():
            known = before.get(name)
            same = known is not None and known[0] is one
            self._spots[name] = known if known and same else (one, _spot(one, gpu_resources))
        spots = {name: spot for name, (_, spot) in self._spots.items()}
        return Snapshot(tuple(spots.values()), *_jobs(scene, spots), _unknown)


def _jobs(scene: Scene, spots: Mapping[str, Spot]) -> tuple[Siblings, Claims]:
    siblings, claims = Siblings(), Claims()
    for key, tenants in scene.jobs.items():
        there = [one for one in tenants if one.pod.node in spots]
        for one in there:
            index = None if one.pod.job is None else one.pod.job.index
            member = snapshot.member(spots[one.pod.node], one.rails, index)
            siblings.seen(one.pod.key, key, member)
        job = there[-1].pod.job if there else None
        if job is not None:
            rest = blocks.rest(job, siblings.crew(key)) or 0
            claims.make(key, spots[there[-1].pod.node].place, rest, NOW + _LASTING)
    return siblings, claims


def explained(
    pod: Pod, there: Snapshot, gpu_resources: Collection[str], profiles: Mapping[str, Profile]
) -> Explanation | None:
    """Every node for a pod that waits; None for one whose marker says that it got no rails."""
    wanting = pod.document or {}
    wish = placement.wish(wanting, tuple(gpu_resources))
    if wish is None:
        return None
    return explanation.explain(wanting, wish, profiles.get(wish.marker.profile), there)


def _unknown(_owner: Owner) -> int | None:
    return None


def _spot(one: Machine, gpu_resources: Collection[str]) -> Spot:
    capacity = dict(one.node.devices)
    free = Counter(capacity)
    for tenant in one.tenants:
        free.subtract(dict(tenant.pod.asked))
    known = _state(one, free, gpu_resources)
    return Spot(
        name=one.node.name,
        labels=one.node.labels,
        place=one.node.place,
        state=known,
        free=free,
        capacity=capacity,
        cordoned=one.node.cordoned,
        topology="" if known is None else one.evidence.value,
    )


def _state(one: Machine, free: Mapping[str, int], gpu_resources: Collection[str]) -> State | None:
    topology = one.topology
    if topology is None or not topology.gpus or not topology.rails:
        return None
    seen = Kubelet() if one.agent is None else one.agent.kubelet
    uses = Counter(rail for tenant in one.tenants for rail in tenant.rails)
    gpus = sum(free.get(name, 0) for name in gpu_resources)
    return state.same(
        State(
            state.plain(topology),
            state.kubelet(seen.policy, seen.scope, seen.options, one.node.version),
            capacity=state.counted(dict(one.node.devices)),
            free=state.counted(free),
            gpus=state.free_gpus(topology, [tenant.gpus for tenant in one.tenants], gpus),
            used=tuple(sorted(uses.items())),
            product=one.node.labels.get(names.GPU_PRODUCT, ""),
            sliced=state.sliced(one.node.labels),
        )
    )

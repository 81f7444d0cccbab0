"""Whether the nodes are known, and whether their kubelets and limits suit the profiles in use."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Final

from podrail import fit, fleet, placement, snapshot
from podrail import pod as pods
from podrail.admission import injection
from podrail.doctor import fields
from podrail.doctor.cluster import Cluster, Document
from podrail.doctor.finding import Finding, Topic, many, some
from podrail.dump import Dump
from podrail.errors import PodError
from podrail.evidence import noderails
from podrail.evidence.atlas import Unused
from podrail.evidence.noderails import NodeRails
from podrail.fabric import Attachment, Profile
from podrail.kubelet import caution
from podrail.kubelet.caution import Caution
from podrail.placement import Misfit, Wish
from podrail.score import machine
from podrail.score.state import State
from podrail.snapshot import Spot

AGENTS: Final = Topic("agents", "Node agents")
KUBELET: Final = Topic("kubelet", "Kubelet's policy")
MEMLOCK: Final = Topic("memlock", "Locked memory")
STALE: Final = timedelta(minutes=15)
"""An agent writes every six minutes at the latest, whether anything has changed or not."""
ENOUGH: Final = 1 << 30
"""RDMA registers the buffers of every connection; container runtimes allow 8 MiB by default."""
_LOGS: Final = (
    "kubectl -n podrail-system logs -l app.kubernetes.io/component=nodeagent --prefix --tail 20"
)


def agents(cluster: Cluster) -> Iterator[Finding]:
    """Every node with GPUs has a NodeRails object that is not old."""
    kinds = ("Node", noderails.KIND)
    hidden = [kind for kind in kinds if kind not in cluster.seen]
    if hidden:
        yield AGENTS.unknown(cluster.why(hidden[0]), cluster.look("nodes,noderails"))
        return
    told = cluster.rails
    names = [fields.name(one) for one in cluster.gpu_nodes]
    wrong = [*_missing(names, told), *_stale(names, told, cluster.now)]
    yield from wrong
    if not wrong:
        yield AGENTS.ok(
            f"{many(len(names), 'node')} with GPUs, each told of within {STALE.seconds // 60} min"
        )


def _missing(names: Sequence[str], told: Mapping[str, NodeRails | Unused]) -> Iterator[Finding]:
    missing = [name for name in names if name not in told]
    if missing:
        yield AGENTS.warn(
            f"{many(len(names), 'node')} with GPUs, {len(missing)} without NodeRails: "
            f"{some(missing)}; these are taken for what their machine type says",
            "Deploy deploy/nodeagent there; on a node where it runs, look at its log: " + _LOGS,
        )
    broken = [name for name in names if isinstance(told.get(name), Unused)]
    if broken:
        yield AGENTS.warn(
            f"NodeRails of {some(broken)} cannot be read",
            "Have agents and custom resources of one version of podrail.",
        )


def _stale(
    names: Sequence[str], told: Mapping[str, NodeRails | Unused], now: datetime | None
) -> Iterator[Finding]:
    old = [name for name in names if now is not None and _age(told.get(name), now) > STALE]
    if old:
        yield AGENTS.warn(
            f"{many(len(old), 'agent')} not heard for {STALE.seconds // 60} min: {some(old)}",
            "What they told may be wrong by now. " + _LOGS,
        )


def _age(found: NodeRails | Unused | None, now: datetime) -> timedelta:
    """How old it is; no age at all if it does not say when it was written."""
    if not isinstance(found, NodeRails):
        return timedelta(0)
    try:
        return now - datetime.fromisoformat(found.observed_at)
    except (ValueError, TypeError):
        return timedelta(0)


def kubelet(cluster: Cluster) -> Iterator[Finding]:
    """No kubelet refuses a pod that has all GPUs of its node, nor takes very long over it."""
    if not cluster.gpu_nodes or not cluster.used:
        return
    told = [one for profile in cluster.used for one in _judged(cluster, profile)]
    yield from told
    if told:
        return
    policies = Counter(
        cluster.found[name].kubelet.policy or "unknown"
        for node in cluster.gpu_nodes
        if (name := fields.name(node)) in cluster.found
    )
    listed = ", ".join(f"{policy} on {count}" for policy, count in policies.most_common())
    if set(policies) <= {"unknown"}:
        yield KUBELET.unknown(
            "no agent tells the policy of any kubelet",
            "Mount the kubelet's configuration into the agents (docs/user/nodeagent.md).",
        )
    else:
        yield KUBELET.ok(f"{listed}; none refuses the pods of a profile in use")


def _judge(
    cluster: Cluster, profile: Profile
) -> Callable[[State | None, int], tuple[bool, tuple[Caution, ...]]]:
    """Tells of an idle node if it never admits a pod with all its GPUs, and what to caution."""

    # Thousands of nodes are of a few kinds, and a trial pod costs as much as an admission.
    @cache
    def wanted(gpus: int) -> Wish | None:
        return probe(profile, gpus, cluster.gpu_resources)

    @cache
    def judged(state: State | None, gpus: int) -> tuple[bool, tuple[Caution, ...]]:
        wish = wanted(gpus)
        if wish is None or state is None:
            return False, ()
        need = wish.need(profile)
        refused = placement.judge(state, wish, profile) is Misfit.NEVER_ADMITTED
        return refused, caution.warnings(machine.of(state, need), need.containers)

    return judged


def _judged(cluster: Cluster, profile: Profile) -> Iterator[Finding]:
    """The nodes that never admit a pod with all of their GPUs, or are to be cautioned about."""
    judged = _judge(cluster, profile)
    refusing: list[str] = []
    cautioned: dict[Caution, list[str]] = {}
    for spot in _spots(cluster, profile):
        gpus = sum(spot.free[name] for name in profile.gpu_resources)
        refused, cautions = judged(spot.state, gpus)
        if refused:
            refusing.append(spot.name)
        for one in cautions:
            cautioned.setdefault(one, []).append(spot.name)
    if refusing:
        yield KUBELET.fail(
            f"{profile.name}: the kubelet of {some(refusing)} refuses every pod that has all GPUs "
            "(TopologyAffinityError)",
            "Set topologyManagerPolicy best-effort there, or use a profile with one pool of "
            "devices in place of a resource for each rail.",
        )
    for one, names in cautioned.items():
        yield KUBELET.warn(f"{profile.name}: {some(names)}: {one.message}", one.remedy)


def _spots(cluster: Cluster, profile: Profile) -> Iterator[Spot]:
    """The nodes of the profile as they are when nothing runs there."""
    nodes = [node for node in cluster.gpu_nodes if fleet.of(profile, [node]).machines]
    taken = snapshot.take(Dump(tuple(nodes), (), {}, ()), cluster.found, profile.gpu_resources)
    yield from taken.spots


def probe(profile: Profile, gpus: int, gpu_resources: Sequence[str]) -> Wish | None:
    """What a pod with so many GPUs wants under a profile; None if it would get no rails."""
    document = trial(profile, gpus)
    return None if document is None else placement.wish(document, gpu_resources)


def trial(profile: Profile, gpus: int) -> Document | None:
    """A pod with so many GPUs after injection; None if it is refused."""
    container = {"name": "c", "resources": {"limits": {profile.gpu_resources[0]: str(gpus)}}}
    spec: dict[str, Any] = {"containers": [container]}
    if profile.attachment is Attachment.HOST_NETWORK:
        spec["hostNetwork"] = True
    document = {"metadata": {"name": "doctor"}, "spec": spec}
    try:
        return injection.inject(pods.read(document, "default"), profile).pod.document
    except PodError:
        return None


def asked(profile: Profile, gpus: int) -> dict[str, int]:
    """The devices that a pod with so many GPUs asks for under a profile; none if it is refused."""
    document = trial(profile, gpus)
    return {} if document is None else dict(fit.asked(document))


def over_rdma(profile: Profile) -> bool:
    """True if NCCL's traffic goes over RDMA devices that pods are given."""
    given = bool(profile.networks or profile.resources or profile.claim)
    by_tcp = profile.ib_disabled or profile.attachment is Attachment.IPOIB
    return not by_tcp and (given or profile.attachment is Attachment.HOST_NETWORK)


def memlock(cluster: Cluster) -> Iterator[Finding]:
    """Containers may lock as much memory as RDMA registers."""
    profiles = [one for one in cluster.used if over_rdma(one)]
    if not profiles or not cluster.gpu_nodes:
        return
    known = {
        name: found.host.memlock
        for name, found in cluster.rails.items()
        if isinstance(found, NodeRails) and found.host.memlock
    }
    if not known:
        yield MEMLOCK.unknown("no agent tells the limit", "In a pod of yours: ulimit -l")
        return
    low = [name for name, limit in known.items() if limit.isdecimal() and int(limit) < ENOUGH]
    bare = [one.name for one in profiles if not one.extras.ipc_lock]
    if not low:
        yield MEMLOCK.ok(f"enough on {many(len(known), 'node')} whose agents tell it")
        return
    who = f"pods of {some(bare)}" if bare else "containers that do not run as root"
    yield MEMLOCK.warn(
        f"{who} may lock {int(known[low[0]]) >> 10} KiB on {many(len(low), 'node')}, such as "
        f"{some(low)}: NCCL then falls back to TCP without a word",
        "Set LimitMEMLOCK=infinity for the container runtime's service; extras.ipcLock of the "
        "profile helps containers that run as root.",
    )

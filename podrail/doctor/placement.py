"""Whether pods are placed by podrail: the scheduler's settings, its pods, strangers beside them."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from podrail import fit, marker, names
from podrail.doctor import fields, schedulers
from podrail.doctor.cluster import Cluster, Document
from podrail.doctor.finding import Finding, Topic, many, some
from podrail.doctor.schedulers import Fault
from podrail.fabric import Attachment

SCHEDULER: Final = Topic("scheduler", "Scheduler's settings")
PODS: Final = Topic("pods", "Pods with the label")
STRANGERS: Final = Topic("strangers", "GPU pods of other schedulers")
_SHOW: Final = "podrail doctor --scheduler-config FILE, with the file that its --config names."


def scheduler(cluster: Cluster) -> Iterator[Finding]:
    """Each scheduler that asks podrail's extender does so as it must."""
    found = schedulers.lineup(cluster)
    if not found.asking:
        yield _nobody(cluster, found)
        return
    for one in found.asking:
        extender = one.extender or {}
        wrong = [*schedulers.rules(one, extender), *_unasked(cluster, extender)]
        for fault in wrong:
            make = SCHEDULER.fail if fault.fails else SCHEDULER.warn
            yield make(f"{one.place}: {fault.what}", fault.remedy)
        if not wrong:
            weight = extender.get("weight")
            yield SCHEDULER.ok(f"{one.place} ({some(one.names)}): all nodes, weight {weight}")
    served = {name for one in found.seen for name in one.names}
    lost = {one.extras.scheduler_name for one in cluster.used} - served - {""}
    if lost and not found.hidden:
        yield SCHEDULER.fail(
            f"no scheduler serves the schedulerName {some(sorted(lost))} of profiles in use",
            "Start that scheduler, or change extras.schedulerName of the profiles.",
        )


def _nobody(cluster: Cluster, found: schedulers.Lineup) -> Finding:
    if "Pod" not in cluster.seen and not found.seen:
        return SCHEDULER.unknown(cluster.why("Pod"), _SHOW)
    if found.hidden or not found.seen:
        hidden = f": {some(found.hidden)}" if found.hidden else ""
        return SCHEDULER.unknown(f"no scheduler shows its configuration{hidden}", _SHOW)
    places = [one.place for one in found.seen]
    return SCHEDULER.fail(
        f"no extender of podrail's in {some(places)}: pods are placed without regard to rails",
        "Start the second scheduler (deploy/extender), or add the extender's entry to this one.",
    )


def _unasked(cluster: Cluster, extender: Document) -> Iterator[Fault]:
    """Pods that kube-scheduler never sends: it looks at limits and requests only."""
    managed = schedulers.managed(extender)
    if not managed:
        return
    wanted = {name for one in cluster.used for name in one.gpu_resources}
    if lacking := sorted(wanted.difference(managed)):
        yield Fault(
            f"managedResources lacks {some(lacking)}: pods that ask for it are not placed",
            "Add it to managedResources of the extender's entry.",
        )
    if claims := [one.name for one in cluster.used if one.attachment is Attachment.DRA]:
        yield Fault(
            f"pods of {some(claims)} claim their GPUs, which managedResources cannot name: they "
            "are not placed",
            "Use the second scheduler for them: its extender manages no resources, so all pods.",
        )


def pods(cluster: Cluster) -> Iterator[Finding]:
    """Opted-in pods carry the marker, and those that are bound the placement."""
    if "Pod" not in cluster.seen:
        yield PODS.unknown(cluster.why("Pod"), cluster.look("pods"))
        return
    living = [pod for pod in cluster.of("Pod") if not fit.ended(pod)]
    opted = [p for p in living if fields.label(p, names.FABRIC) not in {"", names.OPT_OUT}]
    bare = [fields.place(pod) for pod in opted if not _note(pod, names.INJECTED)]
    unplaced = [fields.place(pod) for pod in living if _unplaced(pod)]
    if bare:
        yield PODS.warn(
            f"{many(len(bare), 'pod')} created without the webhook, so without rails: {some(bare)}",
            "Create them again, now that the webhook answers.",
        )
    if unplaced:
        yield PODS.warn(
            f"{many(len(unplaced), 'pod')} bound without podrail's placement: {some(unplaced)}",
            "Was the extender away, or does another scheduler serve them?",
        )
    if not bare and not unplaced:
        yield PODS.ok(f"{many(len(opted), 'pod')} with the label; none slipped through")


def _note(pod: Document, key: str) -> str:
    return fields.text(pod, "metadata", "annotations", key)


def _unplaced(pod: Document) -> bool:
    """True for a pod with rails that is bound, and not by podrail."""
    found = marker.injected(_note(pod, names.INJECTED) or None)
    bound = bool(fields.text(pod, "spec", "nodeName"))
    return found is not None and found.injected and bound and not _note(pod, names.PLACEMENT)


def strangers(cluster: Cluster) -> Iterator[Finding]:
    """Two schedulers that give away the same GPUs may both give away the same one."""
    if "Pod" not in cluster.seen:
        yield STRANGERS.unknown(cluster.why("Pod"), cluster.look("pods"))
        return
    asking = schedulers.lineup(cluster).asking
    ours = {name for one in asking for name in one.names}
    ours |= {one.extras.scheduler_name for one in cluster.used} - {""}
    nodes = {fields.name(one) for one in cluster.gpu_nodes}
    found = Counter(
        _scheduler_of(pod)
        for pod in cluster.of("Pod")
        if fields.text(pod, "spec", "nodeName") in nodes and _has_gpus(cluster, pod)
    )
    others = {name: count for name, count in found.most_common() if name not in ours}
    if not ours:
        yield STRANGERS.unknown("no profile is in use, and no scheduler asks podrail", _SHOW)
    elif others:
        told = [f"{name} ({count})" for name, count in others.items()]
        yield STRANGERS.warn(
            f"pods on the GPU nodes placed by {some(told)}: two schedulers can give away one GPU",
            f"Taint the GPU nodes and let all their pods have schedulerName {min(ours)}, or ask "
            "the extender from the cluster's own scheduler.",
        )
    else:
        yield STRANGERS.ok(
            f"{many(found.total(), 'GPU pod')} on the GPU nodes, all placed by {min(ours)}"
        )


def _scheduler_of(pod: Document) -> str:
    return fields.text(pod, "spec", "schedulerName") or schedulers.DEFAULT


def _has_gpus(cluster: Cluster, pod: Document) -> bool:
    limits = [fields.part(one, "resources", "limits") for one in fields.containers(pod)]
    asks = any(name in one for one in limits for name in cluster.gpu_resources)
    return asks and not fit.ended(pod)

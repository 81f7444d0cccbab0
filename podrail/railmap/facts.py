"""What the rail map keeps of each object: little, since there are tens of thousands of pods."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from podrail import fit, locality, quantity
from podrail.audit import sight, subject, unique
from podrail.audit.sight import Sight
from podrail.audit.subject import Subject
from podrail.evidence import cluster, noderails
from podrail.evidence.atlas import Unused
from podrail.evidence.noderails import Kubelet, Trouble
from podrail.gang import job
from podrail.gang.job import Job
from podrail.locality import NOWHERE, Place
from podrail.score import state
from podrail.score.state import Counted
from podrail.topology import Topology

Document = Mapping[str, Any]
MOST_WORDS: Final = 4096
"""The characters of a scheduler's message that are kept."""
_APPLICATION: Final = "app.kubernetes.io/name"
_COMPONENT: Final = "app.kubernetes.io/component"


@dataclass(frozen=True, slots=True)
class Pod:
    """A living pod that has devices or a fabric, or that is a program of podrail's own."""

    key: str
    """Its namespace/name."""
    node: str = ""
    asked: Counted = ()
    subject: Subject | None = None
    job: Job | None = None
    """None for a pod without rails."""
    words: str = ""
    """What the scheduler says of one that waits."""
    since: str = ""
    """When it was created, for one that waits or is podrail's own (RFC 3339)."""
    document: Document | None = None
    """What its score depends on; kept while it waits."""
    component: str = ""
    """Which program of podrail's it is."""
    ready: bool = False


@dataclass(frozen=True, slots=True)
class Node:
    """A node apart from its pods and from what its agent says."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    place: Place = NOWHERE
    devices: Counted = ()
    cordoned: bool = False
    version: str = ""


@dataclass(frozen=True, slots=True)
class Agent:
    """What an agent says of its node; why is told where it cannot be read."""

    sight: Sight | None = None
    topology: Topology | None = None
    """With the names of its devices; the identifiers of GPUs are left out."""
    kubelet: Kubelet = field(default_factory=Kubelet)
    gpudirect: str = ""
    troubles: tuple[Trouble, ...] = ()
    why: str = ""


def pod(document: Document) -> Pod | None:
    """What is kept of a pod; None if it is nobody's business here."""
    metadata, spec = document["metadata"], document.get("spec") or {}
    labels, status = metadata.get("labels") or {}, document.get("status") or {}
    if fit.ended(document):
        return None
    asked = unique.one(state.counted(fit.asked(document)))
    found = subject.kept(document)
    own = labels.get(_COMPONENT, "") if labels.get(_APPLICATION) == "podrail" else ""
    if not (asked or found or own):
        return None
    node, namespace = spec.get("nodeName") or "", metadata["namespace"]
    waits = not node and not own
    railed = found is not None and found.promise is not None and found.promise.injected
    return Pod(
        key=f"{namespace}/{metadata['name']}",
        node=unique.one(node),
        asked=asked,
        subject=found,
        job=unique.one(job.of(document, namespace)) if railed else None,
        words=_words(status) if waits else "",
        since=str(metadata.get("creationTimestamp") or "") if waits or own else "",
        document=_trimmed(document) if waits and railed else None,
        component=unique.one(str(own)),
        ready=bool(own) and _condition(status, "Ready").get("status") == "True",
    )


def _condition(status: Document, kind: str) -> Document:
    found = (one for one in status.get("conditions") or () if one.get("type") == kind)
    return next(found, {})


def _words(status: Document) -> str:
    return str(_condition(status, "PodScheduled").get("message") or "")[:MOST_WORDS]


def _trimmed(document: Document) -> Document:
    """What placement.wish and explanation.explain read of a pod."""
    metadata, spec = document["metadata"], document.get("spec") or {}
    kept = ("name", "namespace", "labels", "annotations", "ownerReferences", "generateName")
    named = ("name", "resources", "restartPolicy")
    containers = {
        kind: [{key: one[key] for key in named if key in one} for one in spec.get(kind) or ()]
        for kind in ("containers", "initContainers")
    }
    return {
        "metadata": {key: metadata[key] for key in kept if key in metadata},
        "spec": {
            **containers,
            "nodeSelector": spec.get("nodeSelector") or {},
            "schedulingGroup": spec.get("schedulingGroup"),
        },
    }


def node(document: Document) -> Node:
    """What is kept of a node."""
    metadata, status = document["metadata"], document.get("status") or {}
    labels = metadata.get("labels") or {}
    allocatable = status.get("allocatable") or {}
    devices = {name: quantity.count(count) for name, count in allocatable.items() if "/" in name}
    return Node(
        name=metadata["name"],
        labels=labels,
        place=unique.one(locality.of(labels)),
        devices=unique.one(state.counted(devices)),
        cordoned=(document.get("spec") or {}).get("unschedulable") is True,
        version=unique.one(str((status.get("nodeInfo") or {}).get("kubeletVersion") or "")),
    )


def agent(document: Document) -> Agent:
    """What a NodeRails object says."""
    kind = {"kind": noderails.KIND, "apiVersion": noderails.API_VERSION}
    found = cluster.node_rails(kind | dict(document))
    if isinstance(found, Unused):
        return Agent(why=found.why)
    return Agent(
        sight=sight.of(found),
        topology=_bare(found.topology),
        kubelet=unique.one(found.kubelet),
        gpudirect="" if found.gpudirect is None else found.gpudirect.value,
        troubles=found.troubles,
    )


def _bare(topology: Topology | None) -> Topology | None:
    """One object for all nodes that are alike, which identifiers of GPUs would tell apart."""
    if topology is None:
        return None
    cards = tuple(replace(card, id="") for card in topology.cards)
    return unique.one(replace(topology, cards=cards))

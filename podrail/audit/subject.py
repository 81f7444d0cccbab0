"""What is kept of a pod that may have to be reported on; of tens of thousands there is little each.

Kept are pods with podrail's markers, and those that may have slipped past admission: the ones with
a fabric's label, and those with devices, whose namespace may have it. Those that the policy of
deploy/webhook exempts (mirror pods, DaemonSets' pods) cannot have slipped.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from podrail import fit, names
from podrail import pod as pods
from podrail.audit import promise, sight, told, unique
from podrail.audit.promise import Forecast, Promise
from podrail.audit.told import NOTHING, Told

Document = Mapping[str, Any]
MOST_NAME: Final = 63
"""What a label's value may have."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A living pod. node is empty while it waits, fabric if its own label names none."""

    key: str
    """Its namespace/name."""
    uid: str
    node: str = ""
    scheduler: str = ""
    fabric: str = ""
    devices: tuple[str, ...] = ()
    """The extended resources that it asks for; kept only where it has no promise."""
    started: float | None = None
    """When its kubelet took it up, in seconds since the epoch by the node's clock."""
    promise: Promise | None = None
    forecast: Forecast | None = None
    told: Told = NOTHING

    @property
    def namespace(self) -> str:
        """Where it is."""
        return self.key.partition("/")[0]

    @property
    def name(self) -> str:
        """Its name there."""
        return self.key.partition("/")[2]


def kept(document: Document) -> Subject | None:
    """What is kept of a pod; None for one that ended or is ending, or is nobody's business here."""
    metadata, spec = document["metadata"], document.get("spec") or {}
    if fit.ended(document) or metadata.get("deletionTimestamp"):
        return None
    annotations = metadata.get("annotations") or {}
    fabric = str((metadata.get("labels") or {}).get(names.FABRIC) or "")[:MOST_NAME]
    promised = promise.admitted(annotations.get(names.INJECTED) or "")
    devices = () if promised else unique.one(tuple(sorted(set(_devices(spec)))))
    if promised is None and (
        fabric == names.OPT_OUT or not (fabric or devices) or _exempt(metadata)
    ):
        return None
    node = spec.get("nodeName") or ""
    return Subject(
        key=f"{metadata['namespace']}/{metadata['name']}",
        uid=metadata["uid"],
        node=unique.one(node),
        scheduler=unique.one(spec.get("schedulerName") or ""),
        fabric=unique.one(fabric),
        devices=devices,
        started=sight.moment((document.get("status") or {}).get("startTime")),
        promise=promised,
        forecast=promise.forecast(annotations.get(names.PLACEMENT) or "", node),
        told=told.read(annotations.get(names.OBSERVED)),
    )


def _exempt(metadata: Document) -> bool:
    owners = metadata.get("ownerReferences") or ()
    daemon = ("DaemonSet", "apps/v1")
    return names.MIRROR in (metadata.get("annotations") or {}) or any(
        (one.get("kind"), one.get("apiVersion")) == daemon for one in owners
    )


def _devices(spec: Document) -> Iterator[str]:
    for container in spec.get("containers") or ():
        yield from (name for name in pods.limits(container) if "/" in name)

"""What is kept of a pod: of one that waits what its bind needs, of a bound one what it holds.

Of tens of thousands of pods there is little each, and equal parts are one object.
"""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from podrail import fit, marker, names
from podrail.gang import alike, job
from podrail.gang.job import Job, Lookup
from podrail.score import state
from podrail.score.state import Counted

Document = Mapping[str, Any]
NOMINATOR: Final = "podrail-nominator"
"""The field manager of nominations: by it a restart knows its own."""
_METADATA: Final = (
    "name", "namespace", "uid", "generateName", "labels", "annotations", "ownerReferences",
    "creationTimestamp", "resourceVersion",
)  # fmt: skip
_SPEC: Final = (
    "schedulerName", "schedulingGroup", "containers", "initContainers", "resourceClaims",
)  # fmt: skip
_CONTAINERS: Final = frozenset({"containers", "initContainers"})
_CONTAINER: Final = ("name", "resources", "restartPolicy")


@dataclass(frozen=True, slots=True)
class Held:
    """What a bound pod holds of its node, and where it stands in its job."""

    devices: Counted = ()
    rails: tuple[int, ...] = ()
    gpus: tuple[int, ...] = ()
    """The GPUs that its marker is sure of."""
    job: Job | None = None
    """None for a pod that podrail has nothing to do with."""


@dataclass(frozen=True, slots=True)
class Known:
    """A pod: node is empty while it waits; since orders the pods of a job by their binding.

    What a waiting pod holds is what it will.
    """

    uid: str
    node: str
    held: Held = Held()
    since: str = ""
    document: Document | None = None
    """Of an injected pod that waits, the parts that its bind needs."""
    kind: str = ""
    """Of such a pod: equal for pods that kube-scheduler treats alike; empty for one of its own."""
    nominated: bool = False
    """True for one that waits with a node in its status that podrail nominated."""


def keeper(lookup: Lookup) -> Callable[[Document], Known | None]:
    """What makes a Known of a pod's document; None for pods that need not be known."""
    return lambda document: kept(document, lookup)


def kept(document: Document, lookup: Lookup = job.nothing) -> Known | None:
    """What is kept of a pod; None for those that ended, or are bound and hold no devices."""
    metadata, spec = document["metadata"], document.get("spec") or {}
    if fit.ended(document):
        return None
    node = spec.get("nodeName") or ""
    injected = names.INJECTED in (metadata.get("annotations") or {})
    if not node and not injected:
        return Known(metadata["uid"], "")
    held = _held(document, lookup, injected=injected)
    if not node:
        kind = sys.intern(alike.kind(document))
        return Known(metadata["uid"], "", held, "", slim(document), kind, _nominated(document))
    if held == Held():
        return None
    return Known(metadata["uid"], sys.intern(node), held, fit.since(document) if injected else "")


def _nominated(document: Document) -> bool:
    """Whether podrail nominated the pod's node, and not kube-scheduler's preemption."""
    fields = document["metadata"].get("managedFields") or ()
    said = (document.get("status") or {}).get("nominatedNodeName")
    return bool(said) and any(one.get("manager") == NOMINATOR for one in fields)


def slim(document: Document) -> Document:
    """The parts of a pod's document that a bind needs: no status, no managed fields."""
    spec = document.get("spec") or {}
    parts = {
        key: [_some(one, _CONTAINER) for one in spec[key] or ()]
        if key in _CONTAINERS
        else spec[key]
        for key in _SPEC
        if key in spec
    }
    return {"metadata": _some(document["metadata"], _METADATA), "spec": parts}


def _some(fields: Document, keys: tuple[str, ...]) -> Document:
    return {key: fields[key] for key in keys if key in fields}


def _held(document: Document, lookup: Lookup, *, injected: bool) -> Held:
    counted = _devices(document)
    if not injected:
        return Held(counted)
    metadata = document["metadata"]
    annotations = metadata.get("annotations") or {}
    admitted = _admitted(annotations[names.INJECTED])
    if admitted is None:
        return Held(counted)
    placed = annotations.get(names.PLACEMENT)
    rails = admitted if placed is None else marker.placed_rails(placed)
    found = job.of(document, metadata.get("namespace", ""), lookup)
    return Held(
        counted,
        _one(rails),
        _one(state.sure_gpus(placed)),
        Job(sys.intern(found.key), found.rule, found.size, found.index, found.at_least),
    )


@lru_cache(maxsize=4096)
def _admitted(text: str) -> tuple[int, ...] | None:
    """The rails of an admission marker; None if it gave the pod none. A template's are equal."""
    found = marker.injected(text)
    return found.rails if found is not None and found.injected else None


def _devices(document: Document) -> Counted:
    """The devices that a pod's containers ask for."""
    try:
        asked = fit.asked(document)
    except ValueError:
        return ()
    return _counted(state.counted(+asked))


@lru_cache(maxsize=4096)
def _counted(devices: Counted) -> Counted:
    return devices


@lru_cache(maxsize=4096)
def _one(numbers: tuple[int, ...]) -> tuple[int, ...]:
    return numbers

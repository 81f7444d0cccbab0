"""The nodes, pods and owners of pods in a cluster's documents (`kubectl get -o json`).

What is read of a node or pod has the types that core/v1 gives it: a dump may be edited by hand.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from podrail import pod
from podrail.errors import MalformedError, Problem
from podrail.evidence import cluster, noderails
from podrail.gang import jobsize
from podrail.gang.jobsize import Owner
from podrail.reading import shown

Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Dump:
    """The documents by what they are."""

    nodes: tuple[Document, ...]
    pods: tuple[Document, ...]
    owners: Mapping[Owner, Document]
    """The objects that know how many pods a job has."""
    rails: tuple[Document, ...]
    """The NodeRails objects."""


def read(documents: Iterable[object]) -> Dump:
    """The dump of documents and lists of documents; kinds that say nothing here are passed over.

    Raises:
        MalformedError, PodError: a node or pod is not what core/v1 says.
    """
    kinds: dict[str, list[Document]] = defaultdict(list)
    owners: dict[Owner, Document] = {}
    for kind, one in cluster.flat(documents):
        if kind in _CHECKS:
            _CHECKS[kind](one)
        kinds[kind].append(one)
        owner = jobsize.owner(one) if isinstance(one.get("metadata"), dict) else None
        if owner is not None and owner.kind in jobsize.KINDS:
            owners[owner] = one
    nodes, pods, rails = (tuple(kinds[kind]) for kind in ("Node", "Pod", noderails.KIND))
    return Dump(nodes, pods, owners, rails)


def labels(node: Document) -> Mapping[str, str]:
    """The labels of an object."""
    found: Mapping[str, str] = node["metadata"].get("labels") or {}
    return found


def node_of(bound: Document) -> str:
    """The node that a pod is bound to; empty if it waits."""
    return str((bound.get("spec") or {}).get("nodeName") or "")


def _check_node(node: Document) -> None:
    metadata = _part(node, "metadata", "metadata")
    name = metadata.get("name")
    if not isinstance(name, str):
        raise _wrong("metadata.name", "a string", name)
    _part(metadata, "labels", f"node {name}: metadata.labels")
    _part(_part(node, "status", f"node {name}: status"), "allocatable", f"node {name}: allocatable")
    _part(node, "spec", f"node {name}: spec")


def _check_pod(document: Document) -> None:
    node = pod.read(document, "").spec.get("nodeName")
    if node is not None and not isinstance(node, str):
        raise _wrong("pod: spec.nodeName", "a string", node)


def _part(parent: Document, key: str, path: str) -> Document:
    value = parent.get(key)
    if value is not None and not isinstance(value, dict):
        raise _wrong(path, "an object", value)
    return value or {}


def _wrong(path: str, expected: str, value: object) -> MalformedError:
    return MalformedError(
        "the cluster", [Problem(path, f"expected {expected}, got {shown(value)}")]
    )


_CHECKS: Final = {"Node": _check_node, "Pod": _check_pod}

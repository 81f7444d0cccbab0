"""Clusters as documents, and pods that are bound in them, for rank, explain and simulate."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any, Final

import placing

from podrail import dump, snapshot
from podrail.evidence import cluster
from podrail.evidence.atlas import Atlas
from podrail.evidence.cluster import Resources
from podrail.snapshot import Snapshot

SHAPES: Final = str(resources.files("podrail_cli") / "data" / "shapes")
RACK: Final = "topology.kubernetes.io/rack"
BLOCK: Final = "topology.kubernetes.io/block"
COUNTED: Final = Resources(placing.GPUS, {f"nvidia.com/rail{rail}" for rail in range(8)})


def node(
    name: str,
    shape: str = "podrail-aligned",
    *,
    gpus: int = 8,
    labels: Mapping[str, str] | None = None,
    **spec: Any,
) -> dict[str, Any]:
    """A node of a shape with eight rails; its rack and block are given as labels."""
    rails = {f"nvidia.com/rail{rail}": "1" for rail in range(8)}
    own = {"node.kubernetes.io/instance-type": shape, **(labels or {})}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": own},
        "spec": spec,
        "status": {"allocatable": {"nvidia.com/gpu": str(gpus), **rails}},
    }


def at(rack: str, block: str = "b") -> dict[str, str]:
    """Labels of a place."""
    return {RACK: rack, BLOCK: block}


def bound(
    document: dict[str, Any], node_name: str, placement: str | None = None, **status: Any
) -> dict[str, Any]:
    """The pod as it is once bound to the node, with podrail's placement marker if one is given."""
    metadata = dict(document["metadata"])
    if placement is not None:
        metadata["annotations"] = {**metadata["annotations"], "podrail.dev/placement": placement}
    spec = {**document["spec"], "nodeName": node_name}
    return {**document, "metadata": metadata, "spec": spec, "status": status}


def listed(folder: Path, *documents: Mapping[str, Any]) -> Path:
    """A file as kubectl get -o json writes it."""
    path = folder / "cluster.json"
    path.write_text(json.dumps({"kind": "List", "items": documents}))
    return path


def snap(*documents: Mapping[str, Any], apart_from: tuple[str, str] = ("", "")) -> Snapshot:
    """The snapshot of these documents, with the tests' shapes."""
    found = cluster.read(documents, Atlas(placing.SHAPES), COUNTED)
    return snapshot.take(dump.read(documents), found, placing.GPUS, apart_from)

"""Jobs of a test at the real control plane: their pods, and where those were put."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any

import builders
from controlplane.installed import eventually
from controlplane.plane import Cluster

from podrail import names

GROUP = "kueue.x-k8s.io/pod-group-name"
TOTAL = "kueue.x-k8s.io/pod-group-total-count"
INDEX = "kueue.x-k8s.io/pod-group-pod-index"
POOL = "pool"
"""The label of the nodes that are a test's own."""


def member(job: str, index: int, size: int, pool: str, **fields: Any) -> dict[str, Any]:
    """A pod of a job that says its size on its pods."""
    fields = {"fabric": "sriov-rails", "gpus": 8, **fields}
    return builders.document(
        builders.container(gpus=fields.pop("gpus")),
        name=f"{job}-{index}",
        labels={GROUP: job, INDEX: str(index)},
        annotations={TOTAL: str(size)},
        nodeSelector={POOL: pool},
        **fields,
    )


def create(cluster: Cluster, namespace: str, pods: Iterable[dict[str, Any]]) -> None:
    """Create pods one after the other."""
    for one in pods:
        cluster.client.create(one, namespace)


def bound(
    cluster: Cluster, namespace: str, count: int, seconds: float = 40
) -> list[dict[str, Any]]:
    """The namespace's pods once so many are bound."""
    path = f"/api/v1/namespaces/{namespace}/pods"

    def there() -> bool:
        return sum("nodeName" in one["spec"] for one in cluster.client.items(path)) >= count

    eventually(there, f"{count} pods are bound", seconds)
    return [one for one in cluster.client.items(path) if "nodeName" in one["spec"]]


def blocks_of(pods: Iterable[dict[str, Any]]) -> dict[str, Counter[str]]:
    """How many pods of each job there are in each block, by the names of nodes."""
    found: dict[str, Counter[str]] = {}
    for one in pods:
        block = one["spec"]["nodeName"].rpartition("-n")[0]
        found.setdefault(one["metadata"]["labels"][GROUP], Counter())[block] += 1
    return found


def placement(pod: dict[str, Any]) -> dict[str, Any]:
    """The placement marker of a bound pod."""
    found: dict[str, Any] = json.loads(pod["metadata"]["annotations"][names.PLACEMENT])
    return found

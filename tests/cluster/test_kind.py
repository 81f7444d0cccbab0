"""The nodes and the pod of deploy/kind, at the real control plane in place of kind's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import checkout
import pytest
import yaml
from controlplane import nodes
from controlplane.plane import Cluster
from gangs import POOL, bound, placement

pytestmark = pytest.mark.cluster


def document(name: str) -> dict[str, Any]:
    """A file of deploy/kind."""
    return dict(yaml.safe_load((checkout.ROOT / "deploy" / "kind" / "files" / name).read_text()))


@pytest.fixture
def workers(cluster: Cluster, namespace: str) -> Iterator[list[str]]:
    """The workers as the script leaves them, in the order of the file; their pool is the namespace."""
    devices = document("devices.yaml")["status"]["capacity"]
    labels = [one["labels"] for one in document("cluster.yaml")["nodes"] if one["role"] == "worker"]
    names = [f"{namespace}-worker{number or ''}" for number in range(len(labels))]
    for name, label in zip(names, labels, strict=True):
        shape = label["node.kubernetes.io/instance-type"]
        cluster.client.create(nodes.node(name, shape, devices, **{POOL: namespace}))
    yield names
    cluster.client.delete(f"/api/v1/namespaces/{namespace}/pods")
    cluster.client.delete(f"/api/v1/nodes?labelSelector={POOL}%3D{namespace}")


@pytest.mark.usefixtures("registered", "extender")
def test_the_pod_goes_where_its_rails_suffice(
    cluster: Cluster, namespace: str, workers: list[str]
) -> None:
    """Both workers have the devices; the second is of a machine type with four NICs."""
    pod = document("pod.yaml")
    cluster.client.create(
        {**pod, "spec": {**pod["spec"], "nodeSelector": {POOL: namespace}}}, namespace
    )
    (found,) = bound(cluster, namespace, 1)
    placed = placement(found)
    assert workers[0] == found["spec"]["nodeName"]
    assert (list(range(8)), "catalog", 1.0) == (
        placed["rails"],
        placed["evidence"],
        placed["expected"],
    )

"""A job of many nodes through the real kube-scheduler: whole, together, and answered fast enough."""

from __future__ import annotations

from typing import Any

import pytest
import scheduling
from controlplane.installed import metric
from controlplane.plane import Cluster
from controlplane.processes import Child
from gangs import bound, create, member, placement

pytestmark = pytest.mark.cluster
NODES = 96
PODS = 64


@pytest.fixture
def yard(cluster: Cluster, namespace: str) -> Any:
    """Six leaves of sixteen aligned nodes, the test's own."""
    name = f"pool-{namespace}"
    documents = list(scheduling.site(NODES))
    for one in documents:
        one["metadata"]["labels"]["pool"] = name
    cluster.client.create_all(documents)
    yield name
    cluster.client.delete(f"/api/v1/namespaces/{namespace}/pods")
    cluster.client.delete(f"/api/v1/nodes?labelSelector=pool%3D{name}")


@pytest.mark.usefixtures("registered")
def test_a_job_of_sixty_four_nodes_takes_four_leaves_and_every_pod_is_placed(
    cluster: Cluster, extender: Child, namespace: str, yard: str
) -> None:
    """The fewest that can hold it; no bind fell through to kube-scheduler's own."""
    before = metric(extender, 'podrail_binds_total{kind="placed"}')
    create(cluster, namespace, (member("large", index, PODS, yard) for index in range(PODS)))
    pods = bound(cluster, namespace, PODS, 60)
    assert PODS == len([placement(one) for one in pods])
    assert before + PODS == metric(extender, 'podrail_binds_total{kind="placed"}')
    assert PODS // scheduling.LEAF == len({number(one) // scheduling.LEAF for one in pods})


def number(pod: dict[str, Any]) -> int:
    """The number of a pod's node."""
    return int(pod["spec"]["nodeName"].rpartition("-")[2])

"""The extender's protocol with a real kube-scheduler, rule by rule."""

from __future__ import annotations

import json
import time
from typing import Any

import builders
import pytest
from controlplane import nodes
from controlplane.installed import Installed, eventually, metric
from controlplane.plane import Cluster
from controlplane.processes import Child

from podrail import names
from podrail.multus import networks

pytestmark = pytest.mark.cluster
MANY = 500
FOUR_RAILS = "dgx1-v100"
"""A machine type of the catalog with eight GPUs and four rails."""


def pod(cluster: Cluster, namespace: str, name: str, seconds: float = 20) -> dict[str, Any]:
    """A pod of the namespace once it is bound."""
    path = f"/api/v1/namespaces/{namespace}/pods/{name}"
    eventually(lambda: "nodeName" in cluster.client.get(path)["spec"], f"{name} is bound", seconds)
    return cluster.client.get(path)


FILTERS = 'podrail_extender_duration_seconds_count{verb="filter"}'
PRIORITIES = 'podrail_extender_duration_seconds_count{verb="prioritize"}'
REFUSED = 'podrail_nodes_refused_total{reason="no_rails"}'


@pytest.mark.usefixtures("registered")
def test_an_unschedulable_pod_costs_few_calls_and_each_sees_every_node(
    cluster: Cluster, extender: Child, namespace: str
) -> None:
    """At most 5 filter calls in 10 s, since the reason never varies; 500 nodes in each of them."""
    cluster.client.create_all(
        nodes.node(f"many-{number}", FOUR_RAILS, pool="many") for number in range(MANY)
    )
    calls, refused = metric(extender, FILTERS), metric(extender, REFUSED)
    time.sleep(1)
    cluster.client.create(builders.document(nodeSelector={"pool": "many"}), namespace)
    time.sleep(10)
    calls, refused = metric(extender, FILTERS) - calls, metric(extender, REFUSED) - refused
    found = cluster.client.get(f"/api/v1/namespaces/{namespace}/pods/worker-0")
    cluster.client.delete("/api/v1/nodes?labelSelector=pool%3Dmany")
    assert 1 <= calls <= 5
    assert calls * MANY == refused
    message = found["status"]["conditions"][0]["message"]
    assert f"{MANY} podrail: the node lacks rails that the pod was given" in message


@pytest.mark.usefixtures("registered")
def test_with_one_feasible_node_the_pod_is_placed_without_a_score(
    cluster: Cluster, extender: Child, namespace: str
) -> None:
    """kube-scheduler skips prioritize then; the bind writes the placement all the same."""
    before = metric(extender, PRIORITIES)
    one = builders.document(nodeSelector={"kubernetes.io/hostname": "crossed-5"})
    cluster.client.create(one, namespace)
    placement = json.loads(
        pod(cluster, namespace, "worker-0")["metadata"]["annotations"][names.PLACEMENT]
    )
    assert ("crossed-5", "SYS", 0.2) == (
        placement["node"],
        placement["tier"],
        placement["expected"],
    )
    assert before == metric(extender, PRIORITIES)


@pytest.mark.usefixtures("registered", "extender")
def test_a_pod_that_has_not_opted_in_is_bound_without_a_change(
    cluster: Cluster, namespace: str
) -> None:
    """Also when it comes through our scheduler."""
    made = cluster.client.create(builders.document(fabric=None, schedulerName="podrail"), namespace)
    found = pod(cluster, namespace, "worker-0")
    assert made["metadata"].get("annotations") == found["metadata"].get("annotations")
    assert made["spec"] == {key: value for key, value in found["spec"].items() if key != "nodeName"}


@pytest.mark.usefixtures("registered")
def test_an_outage_of_the_extender_stops_no_pod(
    cluster: Cluster, installed: Installed, namespace: str
) -> None:
    """It is ignorable: the pod is bound by kube-scheduler itself, without a placement."""
    config = installed.scheduler_config("127.0.0.1:9")
    config["profiles"][0]["schedulerName"] = "without-extender"
    scheduler = cluster.scheduler("without-extender", config)
    cluster.client.create(builders.document(schedulerName="without-extender"), namespace)
    found = pod(cluster, namespace, "worker-0")
    scheduler.stop()
    assert names.INJECTED in found["metadata"]["annotations"]
    assert names.PLACEMENT not in found["metadata"]["annotations"]


@pytest.mark.usefixtures("registered", "extender")
def test_two_pods_on_one_node_get_different_rails_when_they_are_bound(
    cluster: Cluster, namespace: str
) -> None:
    """Late networks: four rails of the profile each, the user's own element untouched and first."""
    mine = '[ {"name": "storage", "X-odd": 1e3} ]'
    for number in range(2):
        half = builders.document(
            builders.container(gpus=4),
            fabric="macvlan-halves",
            name=f"half-{number}",
            annotations={names.NETWORKS: mine},
            nodeSelector={"kubernetes.io/hostname": "aligned-2"},
        )
        cluster.client.create(half, namespace)
    rails: list[int] = []
    for number in range(2):
        annotations = pod(cluster, namespace, f"half-{number}")["metadata"]["annotations"]
        found = networks.parse(annotations[names.NETWORKS])
        placement = json.loads(annotations[names.PLACEMENT])
        first = found.elements[0]
        assert '{"name": "storage", "X-odd": 1e3}' == found.text[first.start : first.end]
        assert [f"rail{rail}" for rail in placement["rails"]] == sorted(
            element.name for element in found.elements[1:]
        )
        assert not placement["conflict"]
        rails += placement["rails"]
    assert list(range(8)) == sorted(rails)


@pytest.mark.usefixtures("registered", "extender")
def test_late_settings_follow_the_nodes_machine_type(cluster: Cluster, namespace: str) -> None:
    """On Azure's machines the variable is 1, in the pod that the API server keeps."""
    azure = "Standard_ND96isr_H100_v5"
    cluster.client.create(nodes.node("azure-0", azure))
    cluster.client.create(
        builders.document(nodeSelector={"kubernetes.io/hostname": "azure-0"}), namespace
    )
    annotations = pod(cluster, namespace, "worker-0")["metadata"]["annotations"]
    cluster.client.delete("/api/v1/nodes/azure-0")
    assert "1" == annotations["podrail.dev/env.NCCL_IB_PCI_RELAXED_ORDERING"]
    assert "NCCL_IB_HCA=mlx5\nNCCL_SOCKET_IFNAME=eth0\n" == annotations[names.NCCL_CONF]
    assert "PIX" == json.loads(annotations[names.PLACEMENT])["tier"]

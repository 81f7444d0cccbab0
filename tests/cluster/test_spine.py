"""The main job, end to end: one label, and a Job's pods run on aligned nodes with their rails."""

from __future__ import annotations

import json
from typing import Any

import builders
import pytest
from controlplane import nodes
from controlplane.installed import eventually
from controlplane.plane import Cluster

from podrail import names

pytestmark = pytest.mark.cluster
BUSY = 8


def job(name: str, fabric: str | None, **spec: Any) -> dict[str, Any]:
    """Four pods of eight GPUs."""
    labels = {names.FABRIC: fabric} if fabric else {}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {
            "completions": 4,
            "parallelism": 4,
            "template": {
                "metadata": {"labels": labels},
                "spec": {"restartPolicy": "Never", "containers": [builders.container()], **spec},
            },
        },
    }


def bound_pods(cluster: Cluster, namespace: str, count: int) -> list[dict[str, Any]]:
    """The namespace's pods once so many are bound."""
    path = f"/api/v1/namespaces/{namespace}/pods"

    def all_bound() -> bool:
        return sum("nodeName" in pod["spec"] for pod in cluster.client.items(path)) == count

    eventually(all_bound, f"{count} pods are bound", 40)
    return cluster.client.items(path)


def shapes(cluster: Cluster, pods: list[dict[str, Any]]) -> set[str]:
    """The machine types that the pods run on."""
    kinds = {
        node["metadata"]["name"]: node["metadata"]["labels"]["node.kubernetes.io/instance-type"]
        for node in cluster.client.items("/api/v1/nodes")
    }
    return {kinds[pod["spec"]["nodeName"]] for pod in pods}


@pytest.fixture
def busy_aligned_nodes(cluster: Cluster, namespace: str) -> None:
    """Work on every aligned node, so that the misaligned ones are emptier."""
    for number in range(BUSY):
        work = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"work-{number}"},
            "spec": {
                "nodeName": f"aligned-{number}",
                "containers": [
                    {
                        "name": "c",
                        "image": "x",
                        "resources": {"requests": {"cpu": "100", "memory": "1Ti"}},
                    }
                ],
            },
        }
        cluster.client.create(work, namespace)


@pytest.fixture(scope="module")
def plain_scheduler(cluster: Cluster) -> None:
    """A kube-scheduler with its defaults, under a name that the webhook leaves alone."""
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": "plain"}],
    }
    cluster.scheduler("plain", config)


@pytest.mark.usefixtures("busy_aligned_nodes", "registered", "extender", "plain_scheduler")
@pytest.mark.parametrize("fabric", ["sriov-rails", "macvlan-rails"])
def test_a_labelled_jobs_pods_run_on_aligned_nodes_though_others_are_emptier(
    cluster: Cluster, namespace: str, fabric: str
) -> None:
    """With the extender all four are aligned; in the same cluster without it none of them is."""
    cluster.client.create(job("with", fabric), namespace)
    cluster.client.create(job("without", fabric, schedulerName="plain"), namespace)
    pods = bound_pods(cluster, namespace, BUSY + 8)
    by_job = {
        name: [pod for pod in pods if pod["metadata"].get("labels", {}).get("job-name") == name]
        for name in ("with", "without")
    }
    assert [4, 4] == [len(found) for found in by_job.values()]
    assert {nodes.ALIGNED} == shapes(cluster, by_job["with"])
    assert {nodes.CROSSED} == shapes(cluster, by_job["without"])


@pytest.mark.usefixtures("busy_aligned_nodes", "extender")
def test_without_the_extender_the_emptier_misaligned_nodes_are_taken(
    cluster: Cluster, namespace: str
) -> None:
    """kube-scheduler's own rules put the same pods where fewer others are."""
    cluster.client.create(job("without", None), namespace)
    pods = [
        pod
        for pod in bound_pods(cluster, namespace, BUSY + 4)
        if "work" not in pod["metadata"]["name"]
    ]
    assert {nodes.CROSSED} == shapes(cluster, pods)


@pytest.mark.usefixtures("registered", "extender")
def test_every_pod_of_a_job_has_networks_limits_settings_and_both_markers(
    cluster: Cluster, namespace: str
) -> None:
    """What admission wrote and what the Binding carried, in the pods that the API server keeps."""
    cluster.client.create(job("train", "sriov-rails"), namespace)
    for pod in bound_pods(cluster, namespace, 4):
        annotations, container = pod["metadata"]["annotations"], pod["spec"]["containers"][0]
        assert 8 == len(annotations[names.NETWORKS].split(","))
        assert all(
            container["resources"]["limits"][f"nvidia.com/rail{rail}"] == "1" for rail in range(8)
        )
        assert container["resources"]["limits"] == container["resources"]["requests"]
        assert {"GLOO_SOCKET_IFNAME", "NCCL_IB_PCI_RELAXED_ORDERING"} == {
            entry["name"] for entry in container["env"]
        }
        assert annotations[names.NCCL_CONF].startswith("NCCL_IB_HCA=mlx5\n")
        assert "2" == annotations["podrail.dev/env.NCCL_IB_PCI_RELAXED_ORDERING"]
        placement = json.loads(annotations[names.PLACEMENT])
        assert pod["spec"]["nodeName"] == placement["node"]
        assert (1.0, "PIX", "catalog", False) == (
            placement["expected"],
            placement["tier"],
            placement["evidence"],
            placement["conflict"],
        )
        assert ("job", list(range(8))) == (placement["job"]["rule"], placement["rails"])


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize("fabric", ["sriov-rails", "sriov-pool", "macvlan-rails", "tcp"])
def test_each_fabric_comes_out_of_the_api_server(
    cluster: Cluster, namespace: str, fabric: str
) -> None:
    """The injected pod is valid, and a second review would change nothing."""
    made = cluster.client.create(builders.document(fabric=fabric), namespace)
    marker = json.loads(made["metadata"]["annotations"][names.INJECTED])
    assert ("injected", fabric) == (marker["outcome"], marker["profile"])
    assert ("networks" in marker["late"]) == (fabric == "macvlan-rails")

"""The control plane of the tests is a real Kubernetes of the pinned version, controllers included."""

from __future__ import annotations

import pytest
from controlplane import binaries
from controlplane.installed import eventually
from controlplane.plane import Cluster

pytestmark = pytest.mark.cluster


def test_it_has_the_pinned_version(cluster: Cluster) -> None:
    """What the API server says of itself."""
    assert f"v{binaries.VERSION}" == cluster.client.get("/version")["gitVersion"]


def test_its_nodes_take_pods(cluster: Cluster) -> None:
    """Sixteen of two machine types, ready and without a taint, though no kubelet runs."""
    demo = [
        node
        for node in cluster.client.items("/api/v1/nodes")
        if node["metadata"]["name"].startswith(("aligned-", "crossed-"))
    ]
    assert 16 == len(demo)
    for node in demo:
        assert "taints" not in node["spec"]
        assert "8" == node["status"]["allocatable"]["nvidia.com/gpu"]


def test_a_job_becomes_bound_pods_which_go_with_it(cluster: Cluster, namespace: str) -> None:
    """Made by the Job controller, bound by kube-scheduler, told to end by the garbage collector."""
    work = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "work"},
        "spec": {
            "parallelism": 2,
            "completions": 2,
            "template": {
                "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "x"}]}
            },
        },
    }
    cluster.client.create(work, namespace)
    path = f"/api/v1/namespaces/{namespace}/pods"

    def are(part: str, field: str) -> bool:
        pods = cluster.client.items(path)
        return len(pods) == 2 and all(field in pod[part] for pod in pods)

    eventually(lambda: are("spec", "nodeName"), "two pods are bound")
    job = f"/apis/batch/v1/namespaces/{namespace}/jobs/work"
    cluster.client.call("DELETE", job, {"propagationPolicy": "Background"})
    eventually(lambda: are("metadata", "deletionTimestamp"), "the pods are told to end")


def test_a_namespace_has_an_account_and_the_authoritys_certificate(
    cluster: Cluster, namespace: str
) -> None:
    """Else no pod could be created in it, and none could trust the API server."""
    root = f"/api/v1/namespaces/{namespace}"
    assert "default" == cluster.client.get(f"{root}/serviceaccounts/default")["metadata"]["name"]
    eventually(
        lambda: cluster.client.call("GET", f"{root}/configmaps/kube-root-ca.crt").status == 200,
        "the certificate is published",
    )

"""`podrail explain` at a real API server: a pod that runs, and a file that is only tried."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import builders
import pytest
import terminal
import yaml
from controlplane.installed import SHAPES, eventually
from controlplane.plane import Cluster

pytestmark = pytest.mark.cluster


def explained(cluster: Cluster, *words: str | Path, status: int = 0) -> dict[str, Any]:
    """What -o json prints."""
    given = ("--kubeconfig", cluster.kubeconfig, "--shapes", SHAPES, "-o", "json")
    result = terminal.run("explain", *words, *given)
    assert status == result.exit_code, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


@pytest.mark.usefixtures("registered", "extender")
def test_a_pod_that_runs_says_what_it_got_where_it_is_and_why(
    cluster: Cluster, namespace: str
) -> None:
    """From the markers that admission and the Binding wrote; its own node still fits it."""
    path = f"/api/v1/namespaces/{namespace}/pods/worker-0"
    cluster.client.create(builders.document(), namespace)
    eventually(
        lambda: "nodeName" in cluster.client.call("GET", path).body["spec"], "the pod is bound", 40
    )
    found = explained(cluster, "pod", "worker-0", "-n", namespace)
    assert ("injected", "sriov-rails") == (
        found["injected"]["outcome"],
        found["injected"]["profile"],
    )
    fate = found["fate"]
    assert ("PIX", False) == (fate["placement"]["tier"], fate["placement"]["conflict"])
    assert fate["node"].startswith("aligned-")
    assert (16, "pod") == (found["nodes"]["total"], found["job"]["rule"])


@pytest.mark.usefixtures("registered")
def test_a_file_is_tried_and_not_created(cluster: Cluster, namespace: str, tmp_path: Path) -> None:
    """The real webhook answers, and every node is scored; a quota's refusal is told."""
    path = tmp_path / "pod.yaml"
    path.write_text(yaml.safe_dump(builders.document(fabric="macvlan-rails")))
    found = explained(cluster, "-f", path, "-n", namespace)
    assert ("a dry run in the cluster", 16) == (found["source"], len(found["ranked"]))
    assert [] == cluster.client.items(f"/api/v1/namespaces/{namespace}/pods")
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "none"},
        "spec": {"hard": {"requests.nvidia.com/gpu": "0"}},
    }
    cluster.client.call("POST", f"/api/v1/namespaces/{namespace}/resourcequotas", quota)
    status = f"/api/v1/namespaces/{namespace}/resourcequotas/none"
    eventually(lambda: "hard" in cluster.client.call("GET", status).body.get("status", {}), "quota")
    refused = explained(cluster, "-f", path, "-n", namespace, status=1)
    assert "exceeded quota: none" in refused["refused"]

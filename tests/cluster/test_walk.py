"""The walk of docs/user/walk.md at a real control plane: what its page shows is what is printed."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import checkout
import pytest
import screens
import terminal
from controlplane.client import Client
from controlplane.installed import documents, eventually
from controlplane.plane import Cluster

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("registered", "extender")]

PAGE = Path("docs/user/walk.md")
POD = "train-0-7xk2p"
"""The name that the page shows; a Job's controller draws the last five letters."""
NODE = "aligned-0"
"""The node that the page shows; eight are as good."""


def first(client: Client, namespace: str) -> dict[str, Any]:
    """The first pod of the Job; empty as long as there is none."""
    path = f"/api/v1/namespaces/{namespace}/pods"
    pods = client.get(path, labelSelector="batch.kubernetes.io/job-completion-index=0")["items"]
    return dict(pods[0]) if pods else {}


def settled(pod: dict[str, Any]) -> bool:
    """Whether kube-scheduler has bound the pod or said why not."""
    said = (pod.get("status") or {}).get("conditions") or []
    return "nodeName" in (pod.get("spec") or {}) or any(one.get("message") for one in said)


def test_the_walk_is_as_its_page_tells(cluster: Cluster, namespace: str) -> None:
    """A Job that cannot run, its reason, the same Job corrected: each screen in its turn."""
    seen = []
    for command, shown in screens.of(PAGE):
        words = shlex.split(command)
        if words[:2] == ["kubectl", "create"]:
            cluster.client.delete(f"/apis/batch/v1/namespaces/{namespace}/jobs/train")
            cluster.client.delete(f"/api/v1/namespaces/{namespace}/pods")
            eventually(lambda: not first(cluster.client, namespace), "the last Job's pods are gone")
            (job,) = documents(checkout.ROOT / words[-1])
            cluster.client.create(job, namespace)
            eventually(lambda: settled(first(cluster.client, namespace)), "it is settled", 40)
        elif words[0] == "podrail":
            name = str(first(cluster.client, namespace)["metadata"]["name"])
            asked = [name if word == POD else word for word in words[1:]]
            place = ["-n", namespace, "--kubeconfig", str(cluster.kubeconfig)]
            printed = terminal.run(*asked, *place).stdout.replace(name, POD)
            here = re.sub(r"(?<=pod |job )default/", f"{namespace}/", shown)
            assert screens.matches(here, printed, {NODE: r"aligned-\d"}), printed
            seen.append(words[1])
    assert ["explain", "explain"] == seen

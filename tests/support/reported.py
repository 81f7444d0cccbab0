"""What the controller says of pods, read from an API server, and the account it says that with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from controlplane.client import Client
from controlplane.installed import NAMESPACE
from controlplane.plane import Cluster

from podrail import names

ACCOUNT: Final = "podrail-controller"


def token(cluster: Cluster) -> str:
    """What the kubelet gives the controller's pod: the account that the policies of deploy/ name."""
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": ACCOUNT}}
    assert cluster.client.try_create(account, NAMESPACE).status in {201, 409}
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    path = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{ACCOUNT}/token"
    found: str = cluster.client.call("POST", path, asked).body["status"]["token"]
    return found


def kubeconfig(cluster: Cluster, secret: str = "") -> Path:
    """The same as a file; of a token that is there already, if it is given."""
    return cluster.kubeconfig_of("controller-account", secret or token(cluster))


def said(pod: dict[str, Any]) -> dict[str, Any]:
    """The report in a pod's annotation; empty if there is none."""
    notes = pod["metadata"].get("annotations", {})
    found: dict[str, Any] = json.loads(notes.get(names.OBSERVED, "{}"))
    return found


def outcome(client: Client, path: str) -> str:
    """The outcome on the pod at a path; empty if there is no report."""
    return str(said(client.get(path)).get("outcome", ""))


def told(client: Client, namespace: str) -> dict[str, dict[str, int]]:
    """How often the controller's Events tell each outcome, by pod."""
    found: dict[str, dict[str, int]] = {}
    for one in client.items(f"/api/v1/namespaces/{namespace}/events"):
        if one["source"].get("component") == ACCOUNT:
            outcomes = found.setdefault(one["involvedObject"]["name"], {})
            outcomes[one["reason"]] = outcomes.get(one["reason"], 0) + one["count"]
    return found

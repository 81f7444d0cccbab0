"""An account of podrail's own under a policy of deploy/, which the tests' programs are not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from controlplane.client import Client
from controlplane.installed import NAMESPACE, documents, eventually
from controlplane.plane import Cluster

_ADMISSION = "/apis/admissionregistration.k8s.io/v1"
_KINDS = ("validatingadmissionpolicybindings", "validatingadmissionpolicies")


@contextmanager
def policed(cluster: Cluster, policy: Path) -> Iterator[None]:
    """A policy's file in the cluster; the API server heeds it a moment later."""
    found = documents(policy)
    for one in found:
        answer = cluster.client.try_create(one, fieldValidation="Strict")
        assert answer.status in {201, 409}, answer.message
    try:
        yield
    finally:
        for kind in _KINDS:
            cluster.client.delete(f"{_ADMISSION}/{kind}/{found[0]['metadata']['name']}")


def token(cluster: Cluster, account: str) -> str:
    """A token of one of podrail's accounts, which is made if it is not there."""
    made = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": account}}
    assert cluster.client.try_create(made, NAMESPACE).status in {201, 409}
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    path = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{account}/token"
    return str(cluster.client.call("POST", path, asked).body["status"]["token"])


def client(cluster: Cluster, account: str) -> Client:
    """The API server as one of podrail's accounts."""
    authority = (cluster.folder / "certs" / "apiserver.crt").read_text()
    return Client("127.0.0.1", cluster.port, authority, token(cluster, account))


def warnings(cluster: Cluster, policy: str) -> list[str]:
    """What kube-controller-manager has against a policy's expressions, by the schema of pods."""
    path = f"{_ADMISSION}/validatingadmissionpolicies/{policy}"

    def checked() -> bool:
        found = cluster.client.get(path)
        return bool(
            found.get("status", {}).get("observedGeneration") == found["metadata"]["generation"]
        )

    eventually(checked, "the policy is checked")
    types = cluster.client.get(path)["status"].get("typeChecking", {})
    return [one["warning"] for one in types.get("expressionWarnings", ())]

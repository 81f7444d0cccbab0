"""The chart as GitOps tools have it: rendered, applied server-side every few minutes, healed by them.

podrail-certs runs meanwhile with the rights of the chart and writes what no template has. Argo CD and
Flux are not here; what they send to the API server is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import helm
import pytest
import snippets
from controlplane import own
from controlplane.client import Answer, collection
from controlplane.installed import eventually, script
from controlplane.plane import Cluster

pytestmark = pytest.mark.cluster
MANAGER: Final = "gitops"
REGISTRATION: Final = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/podrail"
SECRETS: Final = f"/api/v1/namespaces/{helm.NAMESPACE}/secrets"
ANEW: Final = "ValidatingAdmissionPolicy"
"""Kubernetes 1.36 writes one that has a status anew at every apply, with another time and no more."""
Objects = dict[str, helm.Document]


def documents() -> Objects:
    """What both snippets render, by path; no hook, as `helm test` is not applied."""
    found = helm.rendered(snippets.release()["values"])
    return {
        f"{collection(one, helm.NAMESPACE)}/{one['metadata']['name']}": one
        for one in found
        if not helm.hook(one)
    }


def apply(plane: Cluster, path: str, document: helm.Document, **query: str) -> Answer:
    """Apply a document as a tool of GitOps does."""
    given = {"fieldManager": MANAGER, "force": "true", "fieldValidation": "Strict", **query}
    words = "&".join(f"{key}={value}" for key, value in given.items())
    answer = plane.client.patch(f"{path}?{words}", document, "application/apply-patch+yaml")
    assert answer.status in {200, 201}, answer.message
    return answer


def live(plane: Cluster, wanted: Objects) -> Objects:
    """The objects as the API server has them."""
    return {path: plane.client.get(path) for path in wanted}


def trusted(plane: Cluster) -> list[str]:
    """The caBundle of each entry."""
    found = plane.client.get(REGISTRATION)["webhooks"]
    return [one["clientConfig"].get("caBundle", "") for one in found]


@pytest.fixture(scope="module")
def plane(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """A control plane of its own, with the chart applied and podrail-certs at work in it."""
    with own.plane(request.session) as running:
        metadata = {"name": helm.NAMESPACE}
        running.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
        wanted = documents()
        for path, one in wanted.items():
            apply(running, path, one)
        start(running)
        eventually(lambda: all(trusted(running)), "podrail-certs has written the caBundle", 40)
        eventually(lambda: settled(running, wanted), "quotas and policies have their statuses", 40)
        yield running


def settled(plane: Cluster, wanted: Objects) -> bool:
    """Whether the controllers have written what they write once after an object is made."""
    slow = {path: one for path, one in wanted.items() if one["kind"] in {ANEW, "ResourceQuota"}}
    return all(one.get("status") for one in live(plane, slow).values())


def start(plane: Cluster) -> None:
    """Run podrail-certs under the chart's own account."""
    path = f"/api/v1/namespaces/{helm.NAMESPACE}/serviceaccounts/podrail-certs/token"
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    token = plane.client.call("POST", path, asked).body["status"]["token"]
    environ = {
        "PODRAIL_LISTEN": "127.0.0.1:0",
        "PODRAIL_KUBECONFIG": str(plane.kubeconfig_of("certs", token)),
    }
    plane.run("certs", [script("podrail-certs"), "run"], environ)


def test_applied_again_nothing_changes(plane: Cluster) -> None:
    """No object is written, and the caBundle stays: nobody else owns it, nothing renders it."""
    wanted = documents()
    before = live(plane, wanted)
    for path, one in wanted.items():
        apply(plane, path, one)
    after = live(plane, wanted)
    versions = [
        {
            path: one["metadata"]["resourceVersion"]
            for path, one in found.items()
            if one["kind"] != ANEW
        }
        for found in (before, after)
    ]
    assert versions[0] == versions[1]
    assert before[REGISTRATION] == after[REGISTRATION]
    assert all(trusted(plane))


def test_nothing_is_seen_as_drift(plane: Cluster) -> None:
    """A dry run of the apply gives what is there: so Flux looks for drift, and Argo CD by its diff."""
    wanted = documents()
    there = live(plane, wanted)
    tried = {path: apply(plane, path, one, dryRun="All").body for path, one in wanted.items()}
    for found in (there, tried):
        for one in found.values():
            for name in ("managedFields", "resourceVersion"):
                del one["metadata"][name]
    assert there == tried


def test_what_is_ignored_is_all_that_podrail_certs_owns(plane: Cluster) -> None:
    """So that neither hides a change by somebody else."""
    found = plane.client.get(REGISTRATION)
    (rule,) = snippets.release()["driftDetection"]["ignore"]
    (owner,) = {
        one["manager"]: one["fieldsV1"]
        for one in found["metadata"]["managedFields"]
        if one["manager"] != MANAGER
    }.items()
    assert "podrail-certs" == owner[0]
    assert set(rule["paths"]) == {
        f"/webhooks/{index}/clientConfig/{name.removeprefix('f:')}"
        for index, one in enumerate(found["webhooks"])
        for name in owner[1]["f:webhooks"][f'k:{{"name":"{one["name"]}"}}']["f:clientConfig"]
    }


def test_what_podrail_certs_makes_is_nobodys_to_prune(plane: Cluster) -> None:
    """Its Secrets lack what tools know their own by: Argo CD's instance label, any annotation."""
    for name in ("podrail-ca", "podrail-tls"):
        metadata = plane.client.get(f"{SECRETS}/{name}")["metadata"]
        assert "app.kubernetes.io/instance" not in metadata["labels"]
        assert {"annotations", "ownerReferences"}.isdisjoint(metadata)


@pytest.mark.parametrize("how", ["replaced", "recreated", "emptied"])
def test_a_bundle_that_a_tool_takes_away_is_back(plane: Cluster, how: str) -> None:
    """Within 30 seconds, with the same CA: a replace, a delete and create, a forced empty value."""
    before = trusted(plane)
    document: dict[str, Any] = documents()[REGISTRATION]
    if how == "replaced":
        version = plane.client.get(REGISTRATION)["metadata"]["resourceVersion"]
        metadata = {**document["metadata"], "resourceVersion": version}
        answer = plane.client.call("PUT", REGISTRATION, {**document, "metadata": metadata})
        assert 200 == answer.status, answer.message
    elif how == "recreated":
        plane.client.delete(REGISTRATION)
        apply(plane, REGISTRATION, document)
    else:
        for one in document["webhooks"]:
            one["clientConfig"] = {**one["clientConfig"], "caBundle": ""}
        apply(plane, REGISTRATION, document)
    eventually(lambda: before == trusted(plane), "both entries trust the CA again", 30)

"""What a live cluster has, kind by kind."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from dry_api import DryApi

from podrail.gang.jobsize import Owner
from podrail_cli import census
from podrail_io.kube import Api


@pytest.fixture
def server() -> Iterator[DryApi]:
    """An API server with one node."""
    running = DryApi()
    running.put("/api/v1/nodes/n1", {"metadata": {}})
    yield running
    running.stop()


@pytest.fixture
def api(server: DryApi) -> Api:
    """The way to it."""
    return Api.connect(None, server.url)


def test_items_say_what_they_are(api: Api) -> None:
    """Those of lists of the API server's own kinds do not."""
    (found,) = census.take(api, ["Node"]).documents["Node"]
    assert ("v1", "Node") == (found["apiVersion"], found["kind"])


def test_a_kind_that_is_not_served_has_no_objects(api: Api) -> None:
    """That is known of it."""
    found = census.take(api, ["NetworkAttachmentDefinition", "Node"])
    assert () == found.documents["NetworkAttachmentDefinition"]
    assert {"NetworkAttachmentDefinition", "Node"} == found.seen
    assert 1 == len(found.listed(["Node", "Pod"]))


def test_a_kind_that_may_not_be_listed_is_unseen(server: DryApi, api: Api) -> None:
    """With the API server's words."""
    server.kept = "/api/v1/nodes"
    found = census.take(api, ["Node"])
    assert {"Node": "Node may not be listed: 403 Forbidden: not for you"} == dict(found.unseen)


@pytest.mark.parametrize(
    ("path", "owner", "kind"),
    [
        ("/apis/batch/v1/namespaces/t/jobs/j", Owner("Job.batch", "t", "j"), "Job"),
        (
            "/apis/kubeflow.org/v2beta1/namespaces/t/mpijobs/j",
            Owner("kubeflow.org", "t", "j"),
            "PyTorchJob",
        ),
        ("/apis/ray.io/v1/namespaces/t/rayclusters/j", Owner("Pigeon.example", "t", "j"), None),
    ],
    ids=["job", "by a later kind", "a kind nobody knows"],
)
def test_the_owner_of_a_pod_is_found(
    server: DryApi, api: Api, path: str, owner: Owner, kind: str | None
) -> None:
    """The operator's kinds are read alike."""
    server.put(path, {"metadata": {}})
    found = census.owner(api, owner)
    assert kind == (None if found is None else found["kind"])
    assert census.owner(api, Owner(owner.kind, "t", "else")) is None

"""The webhook and its policies at a real API server: who is touched, who is not, what an outage does."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import builders
import pytest
from controlplane.installed import Installed, eventually
from controlplane.plane import Cluster

from podrail import names

pytestmark = pytest.mark.cluster


def stable(pod: dict[str, Any]) -> dict[str, Any]:
    """The pod without what differs between any two pods: name, uid, times, token volume."""
    found = copy.deepcopy(pod)
    for key in (
        "name",
        "uid",
        "creationTimestamp",
        "managedFields",
        "resourceVersion",
        "generation",
    ):
        found["metadata"].pop(key, None)
    text = str(found)
    for volume in found["spec"]["volumes"]:
        if volume["name"].startswith("kube-api-access-"):
            text = text.replace(volume["name"], "token")
    return {"text": text}


def unlabelled(name: str) -> dict[str, Any]:
    """A pod that never heard of podrail, with fields of all kinds."""
    return builders.document(
        builders.container(env=[{"name": "A", "value": "b"}]),
        builders.container("side", gpus=0, limits={"cpu": "1"}),
        fabric=None,
        name=name,
        annotations={names.NETWORKS: "other@net7"},
        nodeSelector={"a": "b"},
    )


def test_an_unlabelled_pod_is_the_one_created_without_the_webhook(
    cluster: Cluster, installed: Installed, address: str, namespace: str
) -> None:
    """Equal but for name, uid, times, token volume name and managedFields."""
    installed.unregister()
    without = cluster.client.create(unlabelled("without"), namespace)
    installed.register(address)
    with_webhook = cluster.client.create(unlabelled("with"), namespace)
    installed.unregister()
    assert stable(without) == stable(with_webhook)


@pytest.mark.usefixtures("registered")
def test_an_injected_pod_prints_what_was_done(cluster: Cluster, namespace: str) -> None:
    """Kubectl shows the webhook's warnings."""
    answer = cluster.client.try_create(builders.document(), namespace)
    assert any(
        "podrail: injected sriov-rails into container train" in one for one in answer.warnings
    )


@pytest.mark.usefixtures("registered")
def test_the_second_round_of_webhooks_changes_nothing(cluster: Cluster, namespace: str) -> None:
    """A pod that is created from what came out is the same again."""
    first = cluster.client.create(builders.document(name="a"), namespace)
    again = {key: first[key] for key in ("apiVersion", "kind", "spec")}
    again["metadata"] = {
        "name": "b",
        "labels": first["metadata"]["labels"],
        "annotations": first["metadata"]["annotations"],
    }
    second = cluster.client.create(again, namespace)
    assert stable(first) == stable(second)


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize(
    ("pod", "words"),
    [
        (builders.document(fabric="h100"), "no fabric profile 'h100'; there are ack-erdma"),
        (
            builders.document(annotations={names.NETWORKS: "a;b"}),
            "metadata.annotations['k8s.v1.cni.cncf.io/networks'][0]",
        ),
        (
            builders.document(builders.container("a"), builders.container("b")),
            "containers a, b all ask for GPUs",
        ),
        (builders.document(annotations={names.CONTAINER: "x"}), "with GPUs (train), got 'x'"),
    ],
)
def test_a_mistake_is_refused_with_what_to_change(
    cluster: Cluster, namespace: str, pod: dict[str, Any], words: str
) -> None:
    """The message reaches the author through the API server."""
    answer = cluster.client.try_create(pod, namespace)
    assert answer.status in {403, 422}
    assert words in answer.message


@pytest.mark.usefixtures("registered")
def test_a_labelled_namespace_opts_its_pods_in(cluster: Cluster, namespace: str) -> None:
    """Through the namespace's entry; a pod's own label none opts out."""
    path = f"/api/v1/namespaces/{namespace}"
    cluster.client.patch(path, {"metadata": {"labels": {names.FABRIC: "tcp"}}})

    def injected() -> bool:
        made = cluster.client.create(builders.document(fabric=None), namespace, dryRun="All")
        return names.INJECTED in made["metadata"].get("annotations", {})

    eventually(injected, "the namespace's label is known")
    out = cluster.client.create(builders.document(fabric="none"), namespace, dryRun="All")
    assert "annotations" not in out["metadata"]


@pytest.fixture
def outage(installed: Installed) -> Iterator[None]:
    """The webhook is registered and nobody listens there."""
    installed.register("127.0.0.1:9", alive=False)
    yield
    installed.unregister()


@pytest.mark.usefixtures("outage")
def test_an_outage_refuses_labelled_pods_with_the_policys_message(
    cluster: Cluster, namespace: str
) -> None:
    """A pod without its rails never starts in silence."""

    def refused() -> bool:
        answer = cluster.client.try_create(builders.document(), namespace, dryRun="All")
        return answer.status == 422 and "has not seen it" in " ".join(answer.message.split())

    eventually(refused, "the policy refuses")
    cluster.client.create(unlabelled("unlabelled"), namespace)
    cluster.client.create(builders.document(fabric="none"), namespace)
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "u"}
    daemon = builders.document(name="daemon")
    daemon["metadata"]["ownerReferences"] = [owner]
    cluster.client.create(daemon, namespace)


@pytest.mark.usefixtures("registered")
def test_the_annotations_of_a_bound_pod_stay(cluster: Cluster, namespace: str) -> None:
    """Ours cannot be changed, removed or added to; everybody else's can."""
    pod = builders.document(nodeName="crossed-0")
    cluster.client.create(pod, namespace)
    path = f"/api/v1/namespaces/{namespace}/pods/worker-0"
    for change in ({names.NCCL_CONF: "x"}, {names.INJECTED: None}, {"podrail.dev/env.NCCL_X": "1"}):
        answer = cluster.client.patch(path, {"metadata": {"annotations": change}})
        assert 422 == answer.status, change
        assert "delete the pod and create it anew" in " ".join(answer.message.split())
    assert 200 == cluster.client.patch(path, {"metadata": {"annotations": {"mine": "1"}}}).status


def test_the_webhook_is_reached_by_service(
    cluster: Cluster, installed: Installed, address: str, namespace: str
) -> None:
    """Verified by the Service's name; an ExternalName leads to this machine without a kube-proxy."""
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "podrail-webhook"},
        "spec": {"type": "ExternalName", "externalName": "localhost"},
    }
    cluster.client.create(service, "podrail-system")
    installed.register(address, by_url=False)
    made = cluster.client.create(builders.document(), namespace, dryRun="All")
    installed.unregister()
    assert names.INJECTED in made["metadata"]["annotations"]

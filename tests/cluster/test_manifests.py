"""deploy/ at a real API server and a real kube-scheduler: accepted, sufficient, and as strict as said."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import builders
import pytest
from controlplane import policed
from controlplane.installed import DEPLOY, Installed, documents, eventually, metric
from controlplane.plane import Cluster
from controlplane.processes import Child

from podrail import names

pytestmark = pytest.mark.cluster
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
OBJECTS = [
    (path.relative_to(DEPLOY), document)
    for path in sorted(DEPLOY.glob("*/*.yaml"))
    for document in documents(path)
    # A custom resource's definition cannot have another name; test_profiles.py is about it.
    if document["kind"] not in {"KubeSchedulerConfiguration", "CustomResourceDefinition"}
]
BINDS = 'podrail_extender_duration_seconds_count{verb="bind"}'
DAEMON = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "u"}


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    "document",
    [
        pytest.param(one, id=f"{path}-{one['kind']}-{one['metadata']['name']}")
        for path, one in OBJECTS
    ],
)
def test_a_manifest_is_accepted_to_the_last_field(
    cluster: Cluster, document: dict[str, Any]
) -> None:
    """With strict validation, and without a warning."""
    other = copy.deepcopy(document)
    other["metadata"]["name"] += "-tried"
    answer = cluster.client.try_create(other, dryRun="All", fieldValidation="Strict")
    assert (201, ()) == (answer.status, answer.warnings), answer.message


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("name", ["podrail-injected", "podrail-annotations"])
def test_a_policys_expressions_have_types(cluster: Cluster, name: str) -> None:
    """kube-controller-manager checks them against the schema of pods."""
    assert [] == policed.warnings(cluster, name)


@pytest.fixture
def labelled(cluster: Cluster, installed: Installed, namespace: str) -> str:
    """A namespace that opted in, with nobody to inject its pods."""
    installed.unregister()
    path = f"/api/v1/namespaces/{namespace}"
    cluster.client.patch(path, {"metadata": {"labels": {names.FABRIC: "tcp"}}})
    eventually(
        lambda: refused(cluster, builders.document(fabric=None), namespace),
        "the namespace's label is known",
    )
    return namespace


def refused(cluster: Cluster, pod: dict[str, Any], namespace: str) -> bool:
    """Whether the policy refuses the pod, with words to act on."""
    answer = cluster.client.try_create(pod, namespace, dryRun="All")
    said = " ".join(answer.message.split())
    assert answer.status == 201 or "set the label podrail.dev/fabric: none on the pod" in said
    return answer.status == 422


def changed(pod: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    """The pod with more metadata."""
    return {**pod, "metadata": {**pod["metadata"], **metadata}}


@pytest.mark.parametrize(
    ("pod", "wanted"),
    [
        pytest.param(builders.document(fabric=None), True, id="by its namespace"),
        pytest.param(builders.document(), True, id="by its own label"),
        pytest.param(builders.document(fabric="none"), False, id="opted out"),
        pytest.param(
            changed(builders.document(), ownerReferences=[DAEMON]), False, id="of a DaemonSet"
        ),
        pytest.param(
            changed(builders.document(), ownerReferences=[{**DAEMON, "kind": "ReplicaSet"}]),
            True,
            id="of a ReplicaSet",
        ),
        pytest.param(
            builders.document(
                annotations={names.MIRROR: "x"},
                automountServiceAccountToken=False,
                nodeName="aligned-0",
            ),
            False,
            id="mirror pod",
        ),
        pytest.param(
            builders.document(annotations={names.INJECTED: "{}"}), False, id="seen by the webhook"
        ),
        pytest.param(builders.document(annotations={"a": "b"}), True, id="other annotations"),
    ],
)
def test_an_opted_in_pod_without_the_marker_is_refused(
    cluster: Cluster, labelled: str, pod: dict[str, Any], *, wanted: bool
) -> None:
    """In a labelled namespace, with the webhook gone; those who cannot have been seen are exempt."""
    assert wanted == refused(cluster, pod, labelled)


@pytest.mark.usefixtures("labelled")
@pytest.mark.parametrize("space", ["kube-system", "default"])
def test_others_do_not_notice(cluster: Cluster, space: str) -> None:
    """System namespaces whatever the label, other namespaces' pods without one."""
    pod = builders.document(fabric="tcp" if space == "kube-system" else None)
    path = f"/api/v1/namespaces/{space}/serviceaccounts/default"
    eventually(lambda: cluster.client.call("GET", path).status == 200, f"{space} has an account")
    assert not refused(cluster, pod, space)


@pytest.fixture
def warning(cluster: Cluster, installed: Installed) -> Iterator[None]:
    """The policy warns."""
    installed.unregister()
    path = f"{ADMISSION}/validatingadmissionpolicybindings/podrail-injected-pod"
    assert 200 == cluster.client.patch(path, {"spec": {"validationActions": ["Warn"]}}).status
    yield
    assert 200 == cluster.client.patch(path, {"spec": {"validationActions": ["Deny"]}}).status


@pytest.mark.usefixtures("warning")
def test_the_policys_action_is_a_value(cluster: Cluster, namespace: str) -> None:
    """With Warn the same words come as a warning, and the pod is created."""

    def warned() -> bool:
        answer = cluster.client.try_create(builders.document(), namespace, dryRun="All")
        return answer.status == 201 and any(
            "has not seen it" in " ".join(one.split()) for one in answer.warnings
        )

    eventually(warned, "the policy warns")


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    ("node", "change", "status"),
    [
        pytest.param("aligned-0", {names.PLACEMENT: "{}"}, 422, id="added"),
        pytest.param("aligned-0", {names.INJECTED: None}, 422, id="removed"),
        pytest.param("aligned-0", {names.INJECTED: "x"}, 422, id="changed"),
        pytest.param("aligned-0", {names.RAILS: "0", names.CONTAINER: "a"}, 200, id="the user's"),
        pytest.param("aligned-0", {"podrail.dev.example/x": "1"}, 200, id="a stranger's"),
        pytest.param(None, {names.INJECTED: "x"}, 200, id="not bound yet"),
    ],
)
def test_what_is_podrails_stays_once_a_pod_is_bound(
    cluster: Cluster, namespace: str, node: str | None, change: dict[str, str | None], status: int
) -> None:
    """Everything under podrail.dev/ but what the user wrote there."""
    pod = builders.document(
        annotations={names.INJECTED: "{}"}, schedulerName="nobody", nodeName=node
    )
    cluster.client.create(pod, namespace)
    path = f"/api/v1/namespaces/{namespace}/pods/worker-0"
    assert status == cluster.client.patch(path, {"metadata": {"annotations": change}}).status


@pytest.mark.usefixtures("installed")
def test_a_bound_pod_that_is_not_ours_cannot_be_made_ours(cluster: Cluster, namespace: str) -> None:
    """A placement written by hand would count as rails in use."""
    cluster.client.create(builders.document(fabric=None, nodeName="aligned-0"), namespace)
    path = f"/api/v1/namespaces/{namespace}/pods/worker-0"
    change = {"metadata": {"annotations": {names.PLACEMENT: "{}"}}}
    assert 422 == cluster.client.patch(path, change).status


@pytest.fixture
def existing(cluster: Cluster, installed: Installed) -> Iterator[Child]:
    """The extender of a scheduler that is configured as a cluster's own one would be."""
    (config,) = documents(DEPLOY / "extender" / "scheduler-extend-existing.yaml")
    extender = installed.extender(PODRAIL_SCHEDULER="")
    config["extenders"][0]["urlPrefix"] = f"http://{extender.address()}"
    config["profiles"] = [{"schedulerName": "existing"}]
    scheduler = cluster.scheduler("existing", config)
    yield extender
    scheduler.stop()
    extender.stop()


@pytest.mark.usefixtures("registered")
def test_an_existing_scheduler_asks_for_gpu_pods_only(
    cluster: Cluster, existing: Child, namespace: str
) -> None:
    """They are placed as by the second scheduler; a pod without a GPU never depends on us."""
    ours = builders.document(schedulerName="existing", name="ours")
    cluster.client.create(ours, namespace)
    path = f"/api/v1/namespaces/{namespace}/pods"

    def bound(name: str) -> bool:
        return "nodeName" in cluster.client.get(f"{path}/{name}")["spec"]

    eventually(lambda: bound("ours"), "the pod is bound")
    placement = json.loads(
        cluster.client.get(f"{path}/ours")["metadata"]["annotations"][names.PLACEMENT]
    )
    assert "PIX" == placement["tier"]
    calls = metric(existing, BINDS)
    plain = builders.container("c", gpus=0)
    cluster.client.create(
        builders.document(plain, fabric=None, schedulerName="existing", name="plain"), namespace
    )
    eventually(lambda: bound("plain"), "a pod without a GPU is bound")
    assert (1, 1) == (calls, metric(existing, BINDS))


def test_the_second_schedulers_account_may_schedule(cluster: Cluster, installed: Installed) -> None:
    """The account of deploy/ has a kube-scheduler's rights and may not read secrets."""
    del installed

    def may(verb: str, resource: str, subresource: str = "") -> bool:
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {
                "user": "system:serviceaccount:podrail-system:podrail-extender",
                "resourceAttributes": {
                    "verb": verb,
                    "resource": resource,
                    "subresource": subresource,
                    "namespace": "team",
                },
            },
        }
        path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
        return bool(cluster.client.call("POST", path, review).body["status"]["allowed"])

    assert may("create", "pods", "binding")
    assert may("watch", "persistentvolumeclaims")
    assert not may("get", "secrets")
    assert not may("create", "pods")

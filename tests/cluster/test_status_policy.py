"""The policy on pods/status at a real API server: what the extender's account writes of a status."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import builders
import pytest
from controlplane import policed
from controlplane.binaries import MINOR
from controlplane.client import Answer, Client
from controlplane.installed import DEPLOY, Installed, eventually
from controlplane.plane import Cluster

pytestmark = pytest.mark.cluster
APPLY: Final = "application/apply-patch+yaml"
STRATEGIC: Final = "application/strategic-merge-patch+json"
NODE: Final = "aligned-0"
EXTENDER: Final = "podrail-extender"
RUNNING: Final[dict[str, Any]] = {
    "phase": "Running",
    "podIP": "10.0.0.9",
    "podIPs": [{"ip": "10.0.0.9"}],
    "hostIP": "10.1.0.9",
    "startTime": "2026-11-30T12:00:00Z",
    "conditions": [
        {"type": "PodScheduled", "status": "True"},
        {"type": "Ready", "status": "True"},
        {"type": "example.com/gate", "status": "False"},
    ],
    "containerStatuses": [
        {"name": "train", "image": "x", "imageID": "", "ready": True, "restartCount": 0}
    ],
}
"""As a kubelet writes it."""


@pytest.fixture(scope="module")
def own(cluster: Cluster, installed: Installed) -> Iterator[Client]:
    """The API server as podrail-extender, while the policy is in force."""
    del installed
    with policed.policed(cluster, DEPLOY / "extender" / "policy-status.yaml"):
        yield policed.client(cluster, EXTENDER)


@pytest.fixture
def pod(cluster: Cluster, own: Client, namespace: str) -> str:
    """The path of a pod that nobody schedules, with the policy known to the API server."""
    cluster.client.create(builders.document(fabric=None, schedulerName="nobody"), namespace)
    path = f"/api/v1/namespaces/{namespace}/pods/worker-0"
    eventually(lambda: refused(write(own, path, {"phase": "Failed"}, dry=True)), "it is known")
    return path


def write(client: Client, pod: str, status: dict[str, Any], *, dry: bool = False) -> Answer:
    """The answer to a patch of the pod's status, as kube-scheduler makes it."""
    path = f"{pod}/status{'?dryRun=All' if dry else ''}"
    return client.patch(path, {"status": status}, STRATEGIC)


def status(cluster: Cluster, pod: str) -> dict[str, Any]:
    """The pod's status."""
    return dict(cluster.client.get(pod)["status"])


def conditions(cluster: Cluster, pod: str) -> dict[str, str]:
    """The pod's conditions and what they are."""
    return {one["type"]: one["status"] for one in status(cluster, pod).get("conditions", ())}


def refused(answer: Answer) -> bool:
    """Whether the policy refuses, in its words."""
    return answer.status == 403 and "podrail-status" in answer.message


@pytest.mark.usefixtures("own")
def test_its_expressions_have_types(cluster: Cluster) -> None:
    """By the schema of pods of any version."""
    assert [] == policed.warnings(cluster, "podrail-status")


def test_a_node_is_nominated_and_the_nomination_withdrawn(
    cluster: Cluster, own: Client, pod: str
) -> None:
    """By server-side apply, of a pod that others write, too."""
    write(cluster.client, pod, {"conditions": RUNNING["conditions"]})
    metadata = cluster.client.get(pod)["metadata"]
    about = {key: metadata[key] for key in ("name", "namespace", "uid", "resourceVersion")}
    document = {"apiVersion": "v1", "kind": "Pod", "metadata": about}
    path = f"{pod}/status?fieldManager=podrail-nominator&force=true"
    made = own.patch(path, {**document, "status": {"nominatedNodeName": NODE}}, APPLY)
    assert 200 == made.status, made.message
    assert NODE == status(cluster, pod)["nominatedNodeName"]
    del about["resourceVersion"]
    assert 200 == own.patch(path, {**document, "status": {}}, APPLY).status
    assert "nominatedNodeName" not in status(cluster, pod)


@pytest.mark.parametrize("kind", ["PodScheduled", "DisruptionTarget"])
def test_a_schedulers_conditions_are_written_beside_a_kubelets(
    cluster: Cluster, own: Client, pod: str, kind: str
) -> None:
    """A pod is not scheduled yet, or is preempted; what its kubelet said stays."""
    assert 200 == write(cluster.client, pod, RUNNING).status
    answer = write(own, pod, {"conditions": [{"type": kind, "status": "Unknown"}]})
    assert 200 == answer.status, answer.message
    kubelets = {one["type"]: one["status"] for one in RUNNING["conditions"]}
    assert {**kubelets, kind: "Unknown"} == conditions(cluster, pod)


def test_what_was_claimed_for_an_extended_resource_is_written(
    cluster: Cluster, own: Client, pod: str
) -> None:
    """As kube-scheduler does from 1.36 on; before, the API server drops the field."""
    mapping = {"containerName": "train", "resourceName": "nvidia.com/gpu", "requestName": "r0"}
    claimed = {"resourceClaimName": "claim", "requestMappings": [mapping]}
    answer = write(own, pod, {"extendedResourceClaimStatus": claimed})
    assert 200 == answer.status, answer.message
    wanted = claimed if MINOR >= 36 else None
    assert wanted == status(cluster, pod).get("extendedResourceClaimStatus")


@pytest.mark.parametrize(
    "forged",
    [
        *({key: RUNNING[key]} for key in RUNNING if key != "conditions"),
        {"message": "all is well"},
        {"reason": "Evicted"},
        {"initContainerStatuses": RUNNING["containerStatuses"]},
        {"conditions": [{"type": "Ready", "status": "True"}]},
        {"conditions": [{"type": "example.com/gate", "status": "True"}]},
        {"nominatedNodeName": NODE, "phase": "Failed"},
    ],
    ids=lambda forged: f"{forged.get('conditions', [{}])[0].get('type', '')}{'-'.join(forged)}",
)
def test_nothing_else_of_a_status_is_written(own: Client, pod: str, forged: dict[str, Any]) -> None:
    """Whoever has the extender's token forges no pod that runs, is ready, or has an address."""
    assert refused(write(own, pod, forged, dry=True))


@pytest.mark.parametrize(
    "change",
    [
        {"podIP": None, "podIPs": None},
        {"containerStatuses": None},
        {"conditions": None},
        {"conditions": [{"type": "Ready", "status": "False"}]},
        {"conditions": [{"type": "Ready", "$patch": "delete"}]},
        {"phase": "Succeeded"},
    ],
    ids=["addresses", "containers", "conditions", "unready", "readiness", "phase"],
)
def test_nothing_of_a_running_pods_status_is_changed_or_taken(
    cluster: Cluster, own: Client, pod: str, change: dict[str, Any]
) -> None:
    """No job is said to have ended, no Service loses an endpoint."""
    assert 200 == write(cluster.client, pod, RUNNING).status
    assert refused(write(own, pod, change, dry=True))


@pytest.mark.parametrize(
    "metadata",
    [
        {"labels": {"app": "x"}},
        {"annotations": {"k8s.v1.cni.cncf.io/networks": "kube-system/x"}},
        {"finalizers": ["example.com/stays"]},
    ],
    ids=lambda metadata: next(iter(metadata)),
)
def test_no_metadata_is_written_by_way_of_a_status(
    cluster: Cluster, own: Client, pod: str, metadata: dict[str, Any]
) -> None:
    """The API server takes it with a status from whoever may write that."""
    path = f"{pod}/status?dryRun=All"
    assert 200 == cluster.client.patch(path, {"metadata": metadata}).status
    assert refused(own.patch(path, {"metadata": metadata}))


def test_others_are_not_looked_at(cluster: Cluster, pod: str) -> None:
    """A kubelet's first write, here the admin's, is taken to the last field."""
    answer = write(cluster.client, pod, RUNNING)
    assert 200 == answer.status, answer.message
    found = status(cluster, pod)
    wanted = {key: RUNNING[key] for key in ("phase", "podIP", "podIPs", "hostIP", "startTime")}
    assert wanted == {key: found[key] for key in wanted}
    assert "True" == conditions(cluster, pod)["Ready"]


@pytest.mark.usefixtures("pod")
def test_kube_scheduler_preempts_under_the_same_account(cluster: Cluster, namespace: str) -> None:
    """All that it writes of a status: waits, the end of the victim, the node of who comes next."""
    kubeconfig = cluster.kubeconfig_of(EXTENDER, policed.token(cluster, EXTENDER))
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": "held"}],
    }
    scheduler = cluster.scheduler("held", config, kubeconfig)
    path = f"/api/v1/namespaces/{namespace}/pods"

    def condition(name: str, kind: str) -> str:
        return conditions(cluster, f"{path}/{name}").get(kind, "")

    try:
        create(cluster, namespace, "victim")
        eventually(lambda: "nodeName" in cluster.client.get(f"{path}/victim")["spec"], "bound")
        create(cluster, namespace, "heir", priorityClassName="system-cluster-critical")
        # Victims are told of in the background.
        eventually(lambda: condition("victim", "DisruptionTarget") == "True", "it is preempted")
        eventually(lambda: status(cluster, f"{path}/heir").get("nominatedNodeName") == NODE, "next")
        eventually(lambda: condition("heir", "PodScheduled") == "False", "it waits")
    finally:
        scheduler.stop()
    assert "podrail-status" not in scheduler.log.read_text()


def create(cluster: Cluster, namespace: str, name: str, **spec: Any) -> None:
    """A pod that takes all GPUs of the node."""
    where = {"kubernetes.io/hostname": NODE}
    document = builders.document(
        fabric=None, name=name, schedulerName="held", nodeSelector=where, **spec
    )
    cluster.client.create(document, namespace)

"""Quotas, limit ranges, Pod Security and queues at a real API server, with what podrail adds."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import builders
import pytest
import reviews
import terminal
import yaml
from controlplane.client import Answer
from controlplane.installed import Installed, eventually
from controlplane.plane import Cluster

from podrail import names
from podrail.admission import vicinity

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("registered")]

CPU_AND_MEMORY = {"cpu": "8", "memory": "64Gi"}
RAILS = tuple(f"nvidia.com/rail{rail}" for rail in range(8))
RESTRICTED = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}


def pod(fabric: str, **fields: Any) -> dict[str, Any]:
    """A pod with eight GPUs, CPU and memory."""
    return builders.document(builders.container(limits=CPU_AND_MEMORY, **fields), fabric=fabric)


def limits(made: dict[str, Any], container: int = 0) -> dict[str, str]:
    """What a container is limited to."""
    found: dict[str, str] = made["spec"]["containers"][container]["resources"]["limits"]
    return found


def told(answer: Answer) -> str:
    """The warnings that kubectl prints, quotes unescaped."""
    return " ".join(answer.warnings).replace('\\"', '"')


@pytest.fixture
def quota(cluster: Cluster, namespace: str) -> Callable[..., None]:
    """Gives the test's namespace a quota, and waits until it counts."""

    def give(**hard: str) -> None:
        document = {
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": {"name": "team"},
            "spec": {"hard": hard},
        }
        cluster.client.create(document, namespace)
        path = f"/api/v1/namespaces/{namespace}/resourcequotas/team"
        eventually(
            lambda: cluster.client.get(path).get("status", {}).get("hard") == hard,
            "the quota counts",
        )

    return give


@dataclass(frozen=True)
class Case:
    """A quota on one resource, what a pod of a fabric asks for, and what its author is told of."""

    fabric: str
    name: str
    hard: str
    asked: str
    listed: tuple[str, ...]

    def __str__(self) -> str:
        return self.name


QUOTAS = (
    Case("sriov-rails", "requests.nvidia.com/rail7", "0", "1", RAILS),
    Case("sriov-pool", "requests.nvidia.com/rdma-vf", "4", "8", ("nvidia.com/rdma-vf",)),
    Case("eks-p5", "requests.hugepages-2Mi", "1Gi", "5Gi", ("hugepages-2Mi",)),
    Case("eks-p5", "requests.vpc.amazonaws.com/efa", "31", "32", ("vpc.amazonaws.com/efa",)),
)


@pytest.mark.parametrize("case", QUOTAS, ids=str)
def test_a_quota_counts_what_is_injected_and_says_so(
    cluster: Cluster, namespace: str, quota: Callable[..., None], case: Case
) -> None:
    """The refusal names what was asked for, and the warning beside it who asked."""
    quota(**{case.name: case.hard})
    answer = cluster.client.try_create(pod(case.fabric), namespace)
    wanted = f"exceeded quota: team, requested: {case.name}={case.asked}, used: {case.name}=0"
    assert (403, True) == (answer.status, wanted in answer.message), answer.message
    assert f"injected {case.fabric} into container train" in told(answer)
    assert [] == [one for one in case.listed if f"{one}: " not in told(answer)]


def test_a_quota_with_room_is_charged_for_the_rails(
    cluster: Cluster, namespace: str, quota: Callable[..., None]
) -> None:
    """The second pod of eight devices finds eight of twelve in use."""
    name = "requests.nvidia.com/rdma-vf"
    quota(**{name: "12"})
    cluster.client.create(pod("sriov-pool"), namespace)
    second = pod("sriov-pool")
    second["metadata"]["name"] = "worker-1"
    answer = cluster.client.try_create(second, namespace)
    assert 403 == answer.status
    assert f"requested: {name}=8, used: {name}=8, limited: {name}=12" in answer.message


def test_the_author_of_a_job_reads_the_quota_in_its_events(
    cluster: Cluster, namespace: str, quota: Callable[..., None]
) -> None:
    """Warnings go to whoever creates the pod: for a Job that is its controller, which tells events."""
    quota(**{"requests.nvidia.com/rdma-vf": "4"})
    template = {key: pod("sriov-pool")[key] for key in ("metadata", "spec")}
    template["spec"] |= {"restartPolicy": "Never"}
    del template["metadata"]["name"]
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "train"},
        "spec": {"template": template},
    }
    cluster.client.create(job, namespace)
    path = f"/api/v1/namespaces/{namespace}/events"

    def said() -> bool:
        return any(
            one["reason"] == "FailedCreate"
            and "exceeded quota: team, requested: requests.nvidia.com/rdma-vf=8" in one["message"]
            for one in cluster.client.items(path)
        )

    eventually(said, "the Job has an event")


@pytest.fixture
def limit_range(cluster: Cluster, namespace: str) -> Callable[..., None]:
    """Gives the test's namespace a limit range for containers, and waits until it counts."""

    def give(**limit: dict[str, str]) -> None:
        document = {
            "apiVersion": "v1",
            "kind": "LimitRange",
            "metadata": {"name": "team"},
            "spec": {"limits": [{"type": "Container", **limit}]},
        }
        cluster.client.create(document, namespace)
        probe = builders.document({"name": "c", "image": "x"}, fabric=None)
        key = "kubernetes.io/limit-ranger"
        eventually(
            lambda: key in cluster.client.create(probe, namespace, dryRun="All")["metadata"].get("annotations", {})
            or "default" not in limit,
            "the limit range counts",
        )  # fmt: skip

    return give


def test_defaults_of_a_limit_range_stand_beside_what_is_injected(
    cluster: Cluster, installed: Installed, namespace: str, registered: str,
    limit_range: Callable[..., None],
) -> None:  # fmt: skip
    """Written before and between our passes; huge pages, which need memory beside them, come in."""
    limit_range(default={"cpu": "16", "memory": "128Gi"}, defaultRequest={"cpu": "1"})
    given = builders.document(builders.container(), fabric="eks-p5")
    answer = cluster.client.try_create(given, namespace)
    assert 201 == answer.status, answer.message
    assert {
        "cpu": "16",
        "memory": "128Gi",
        "nvidia.com/gpu": "8",
        "vpc.amazonaws.com/efa": "32",
        "hugepages-2Mi": "5Gi",
    } == limits(answer.body)
    assert "HugepagesNeedMemory" not in answer.body["metadata"]["annotations"][names.INJECTED]
    again = reviews.send(installed, registered, answer.body, namespace)
    assert [] == reviews.operations(again)


def test_devices_that_a_limit_range_gives_every_container_are_counted(
    cluster: Cluster, namespace: str, limit_range: Callable[..., None]
) -> None:
    """One for the sidecar and one for the trainer are two of eight, so six more are asked for."""
    limit_range(default={"nvidia.com/rdma-vf": "1"})
    given = builders.document(
        builders.container(), builders.container("side", gpus=0), fabric="sriov-pool"
    )
    made = cluster.client.create(given, namespace, dryRun="All")
    counts = [int(limits(made, at)["nvidia.com/rdma-vf"]) for at in range(2)]
    assert [7, 1] == counts


def test_a_maximum_that_the_rails_exceed_is_told_with_its_number(
    cluster: Cluster, namespace: str, limit_range: Callable[..., None]
) -> None:
    """The limit range refuses, and the warning says who asked for so many."""
    limit_range(max={"nvidia.com/rdma-vf": "4"})

    def refused() -> bool:
        answer = cluster.client.try_create(pod("sriov-pool"), namespace, dryRun="All")
        wanted = "maximum nvidia.com/rdma-vf usage per Container is 4, but limit is 8"
        return wanted in answer.message and "nvidia.com/rdma-vf: 8" in told(answer)

    eventually(refused, "the limit range refuses")


def secured(cluster: Cluster, namespace: str, level: str, mode: str = "enforce") -> None:
    """Have a namespace keep a Pod Security Standard, and wait until podrail knows it."""
    label = f"pod-security.kubernetes.io/{mode}"
    path = f"/api/v1/namespaces/{namespace}"
    assert 200 == cluster.client.patch(path, {"metadata": {"labels": {label: level}}}).status


@pytest.mark.parametrize("level", ["baseline", "restricted"])
@pytest.mark.parametrize("fabric", ["aks-sriov-ib", "spectrum-x", "oke-vf-h200"])
def test_a_namespace_that_forbids_ipc_lock_takes_the_pod_without_it(
    cluster: Cluster, namespace: str, fabric: str, level: str
) -> None:
    """All else of the profile, shared memory and the file among it, keeps either standard."""
    secured(cluster, namespace, level)
    given = pod(fabric, securityContext=RESTRICTED)

    def admitted() -> bool:
        answer = cluster.client.try_create(given, namespace, dryRun="All")
        return answer.status == 201 and "IPC_LOCK is left out" in told(answer)

    eventually(admitted, "podrail knows the namespace's standard")
    made = cluster.client.create(given, namespace)
    marker = json.loads(made["metadata"]["annotations"][names.INJECTED])
    assert "IpcLockForbidden" in [one["code"] for one in marker["reasons"]]
    assert RESTRICTED == made["spec"]["containers"][0]["securityContext"]


@pytest.mark.parametrize("level", ["baseline", "restricted"])
def test_pod_security_would_refuse_ipc_lock(cluster: Cluster, namespace: str, level: str) -> None:
    """So leaving it out is what lets the pod in."""
    secured(cluster, namespace, level)
    lock = {**RESTRICTED, "capabilities": {"drop": ["ALL"], "add": ["IPC_LOCK"]}}

    def refused() -> bool:
        given = pod("none", securityContext=lock)
        answer = cluster.client.try_create(given, namespace, dryRun="All")
        return answer.status == 403 and '"IPC_LOCK"' in answer.message

    eventually(refused, "Pod Security refuses")


def test_a_standard_that_only_warns_forbids_nothing(cluster: Cluster, namespace: str) -> None:
    """IPC_LOCK is given, and Pod Security's own warning comes with it."""
    secured(cluster, namespace, "baseline", "warn")

    def warned() -> bool:
        answer = cluster.client.try_create(pod("aks-sriov-ib"), namespace, dryRun="All")
        added = answer.body["spec"]["containers"][0]["securityContext"]["capabilities"]["add"]
        return added == ["IPC_LOCK"] and 'would violate PodSecurity "baseline' in told(answer)

    eventually(warned, "Pod Security warns")


def test_the_label_is_pod_securitys_own(cluster: Cluster, namespace: str) -> None:
    """The API server refuses a level that does not exist only under the label that it reads."""
    path = f"/api/v1/namespaces/{namespace}"
    answer = cluster.client.patch(path, {"metadata": {"labels": {vicinity.PSA_ENFORCE: "none"}}})
    assert 422 == answer.status


def queued(fabric: str) -> dict[str, Any]:
    """A Job that waits for Kueue."""
    spec = {**pod(fabric)["spec"], "restartPolicy": "Never"}
    template = {"metadata": {"labels": {names.FABRIC: fabric}}, "spec": spec}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "train", "labels": {"kueue.x-k8s.io/queue-name": "team"}},
        "spec": {"suspend": True, "parallelism": 2, "completions": 2, "template": template},
    }


@pytest.mark.parametrize("fabric", ["sriov-rails", "sriov-pool", "macvlan-rails"])
def test_a_template_that_the_command_has_injected_is_counted_before_it_runs(
    cluster: Cluster, namespace: str, fabric: str
) -> None:
    """The recipe for Kueue: a queue sees all devices in the Job, and its pods get no more of them."""
    made = cluster.client.create(applied(queued(fabric)), namespace, fieldValidation="Strict")
    counted = limits(made["spec"]["template"])
    path = f"/apis/batch/v1/namespaces/{namespace}/jobs/train"
    cluster.client.patch(path, {"spec": {"suspend": False}})
    pods = f"/api/v1/namespaces/{namespace}/pods"
    eventually(lambda: len(cluster.client.items(pods)) == 2, "the Job's pods are there")
    assert {*CPU_AND_MEMORY, "nvidia.com/gpu"} < set(counted)
    assert [counted, counted] == [limits(one) for one in cluster.client.items(pods)]


def applied(document: dict[str, Any]) -> dict[str, Any]:
    """The document as `podrail inject` prints it."""
    found: dict[str, Any] = yaml.safe_load(terminal.run("inject", "-f", "-", given=document).stdout)
    return found


def test_a_pod_that_waits_for_a_queue_is_injected_and_still_waits(
    cluster: Cluster, namespace: str
) -> None:
    """Kueue's gates for plain pods stay, so what it counts for such a pod is what was injected."""
    gates = [{"name": "kueue.x-k8s.io/admission"}]
    given = pod("sriov-pool")
    given["spec"]["schedulingGates"] = gates
    made = cluster.client.create(given, namespace)
    assert (gates, "8") == (made["spec"]["schedulingGates"], limits(made)["nvidia.com/rdma-vf"])

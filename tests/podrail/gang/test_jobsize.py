"""How many GPU pods a job has, by the objects that own it."""

from __future__ import annotations

from typing import Any

import pytest

from podrail.gang import jobsize
from podrail.gang.jobsize import Owner

GPUS = ("nvidia.com/gpu",)


def template(gpus: int = 8) -> dict[str, Any]:
    """A pod template; one without GPUs has other limits."""
    limits = {"nvidia.com/gpu": gpus} if gpus else {"cpu": "1"}
    return {"spec": {"containers": [{"name": "c", "resources": {"limits": limits}}]}}


def job(parallelism: int = 4, gpus: int = 8, **spec: Any) -> dict[str, Any]:
    return {"parallelism": parallelism, "template": template(gpus), **spec}


JOBSET = {
    "replicatedJobs": [
        {"name": "driver", "template": {"spec": job(1, 0)}},
        {"name": "workers", "replicas": 3, "template": {"spec": job(4)}},
    ]
}
PYTORCH = {
    "pytorchReplicaSpecs": {
        "Master": {"replicas": 1, "template": template()},
        "Worker": {"replicas": 7, "template": template()},
    }
}
MPI = {
    "mpiReplicaSpecs": {
        "Launcher": {"replicas": 1, "template": template(0)},
        "Worker": {"replicas": 4, "template": template()},
    }
}
RAY = {
    "headGroupSpec": {"template": template(0)},
    "workerGroupSpecs": [{"replicas": 2, "numOfHosts": 4, "template": template()}],
}
VOLCANO = {
    "tasks": [
        {"name": "master", "template": template(0)},
        {"name": "w", "replicas": 6, "template": template()},
    ]
}
LWS = {"replicas": 9, "leaderWorkerTemplate": {"size": 4, "workerTemplate": template()}}


@pytest.mark.parametrize(
    ("version", "kind", "spec", "expected"),
    [
        ("batch/v1", "Job", job(16), 16),
        ("batch/v1", "Job", job(16, completions=3), 3),
        ("batch/v1", "Job", {"template": template()}, 1),
        ("batch/v1", "Job", job(16, gpus=0), 16),
        ("apps/v1", "StatefulSet", {"replicas": 5, "template": template()}, 5),
        ("jobset.x-k8s.io/v1alpha2", "JobSet", JOBSET, 12),
        ("trainer.kubeflow.org/v1alpha1", "TrainJob", {"trainer": {"numNodes": 8}}, 8),
        ("trainer.kubeflow.org/v1alpha1", "TrainJob", {}, None),
        ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", LWS, 4),
        ("kubeflow.org/v1", "PyTorchJob", PYTORCH, 8),
        ("kubeflow.org/v2beta1", "MPIJob", MPI, 4),
        ("kubeflow.org/v2beta1", "MPIJob", {"slotsPerWorker": 8, **MPI}, 4),
        ("ray.io/v1", "RayCluster", RAY, 8),
        ("batch.volcano.sh/v1alpha1", "Job", VOLCANO, 6),
        ("scheduling.volcano.sh/v1beta1", "PodGroup", {"minMember": 3}, 3),
        ("scheduling.x-k8s.io/v1alpha1", "PodGroup", {"minMember": 3}, 3),
        (
            "scheduling.k8s.io/v1alpha2",
            "PodGroup",
            {"schedulingPolicy": {"gang": {"minCount": 5}}},
            5,
        ),
        ("scheduling.k8s.io/v1alpha2", "PodGroup", {"schedulingPolicy": {"basic": {}}}, None),
        ("apps/v1", "Deployment", {"replicas": 5}, None),
    ],
)
def test_pods_with_gpus_are_counted(
    version: str, kind: str, spec: dict[str, Any], expected: int | None
) -> None:
    """Launchers and heads are not; where no template has GPUs all pods are."""
    assert expected == jobsize.pods({"apiVersion": version, "kind": kind, "spec": spec}, GPUS)


@pytest.mark.parametrize("value", [None, "x", -1, True, [1], {}], ids=str)
@pytest.mark.parametrize("version", ["batch/v1", "jobset.x-k8s.io/v1alpha2", "kubeflow.org/v1"])
def test_what_is_no_number_or_object_counts_for_nothing(version: str, value: object) -> None:
    """Objects are checked by their own API, and a size that cannot be read is not known."""
    kind = "JobSet" if "jobset" in version else "Job"
    for spec in (
        value,
        {"parallelism": value},
        {"replicatedJobs": value},
        {"xReplicaSpecs": value},
        {"xReplicaSpecs": {"Worker": value}},
    ):
        found = jobsize.pods({"apiVersion": version, "kind": kind, "spec": spec}, GPUS)
        assert found in {None, 1}


@pytest.mark.parametrize(
    ("version", "kind", "expected"),
    [
        ("batch/v1", "Job", "Job.batch"),
        ("kubeflow.org/v1", "PyTorchJob", "kubeflow.org"),
        ("jobset.x-k8s.io/v1alpha2", "JobSet", "JobSet.jobset.x-k8s.io"),
        ("v1", "Pod", "Pod"),
    ],
)
def test_an_object_is_named_by_kind_and_group(version: str, kind: str, expected: str) -> None:
    """The jobs of kubeflow.org share one name, since their pods have the same label."""
    metadata = {"namespace": "ml", "name": "a"}
    found = jobsize.owner({"apiVersion": version, "kind": kind, "metadata": metadata})
    assert Owner(expected, "ml", "a") == found

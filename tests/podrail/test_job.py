"""The job of a pod, by the keys that job systems write."""

from __future__ import annotations

from typing import Any

import pytest

from podrail import job
from podrail.job import Job


def of(labels: dict[str, str] | None = None, **metadata: Any) -> Job:
    """The job of a pod in namespace ml."""
    return job.of({"metadata": {"name": "p", "labels": labels or {}, **metadata}}, "ml")


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ({"batch.kubernetes.io/job-name": "a"}, Job("ml/a", "job")),
        (
            {"jobset.sigs.k8s.io/jobset-name": "s", "batch.kubernetes.io/job-name": "a"},
            Job("ml/s", "jobset"),
        ),
        ({"training.kubeflow.org/job-name": "t"}, Job("ml/t", "training")),
        ({"ray.io/cluster": "r"}, Job("ml/r", "ray")),
        ({"scheduling.x-k8s.io/pod-group": "g"}, Job("ml/g", "coscheduling")),
        (
            {
                "leaderworkerset.sigs.k8s.io/name": "l",
                "leaderworkerset.sigs.k8s.io/group-index": "2",
            },
            Job("ml/l/2", "lws"),
        ),
        ({"leaderworkerset.sigs.k8s.io/name": "l"}, Job("ml/p", "pod", 1)),
    ],
)
def test_the_first_rule_that_matches_names_the_job(labels: dict[str, str], expected: Job) -> None:
    """The outer owner wins over the inner one."""
    assert expected == of(labels)


@pytest.mark.parametrize(("text", "size"), [("16", 16), ("x", None), ("9" * 9, None)])
def test_a_size_is_known_only_where_the_pod_carries_it(text: str, size: int | None) -> None:
    """Kueue's pod groups and LeaderWorkerSets do, as annotations."""
    found = of(
        {"kueue.x-k8s.io/pod-group-name": "q"},
        annotations={"kueue.x-k8s.io/pod-group-total-count": text},
    )
    assert Job("ml/q", "kueue", size) == found


def test_a_scheduling_group_of_the_spec_comes_first() -> None:
    """Kubernetes 1.36: spec.schedulingGroup.podGroupName."""
    pod = {"metadata": {}, "spec": {"schedulingGroup": {"podGroupName": "pg"}}}
    assert Job("ml/pg", "scheduling-group") == job.of(pod, "ml")


def test_without_any_key_the_controller_or_the_name_is_the_job() -> None:
    """Owner uid, else generateName, else the pod itself."""
    owners = [{"uid": "a"}, {"uid": "b", "controller": True}]
    assert Job("ml/b", "owner") == of(ownerReferences=owners)
    assert Job("ml/w-", "generate-name") == of(generateName="w-", name="")
    assert Job("ml/p", "pod", 1) == of()


@pytest.mark.parametrize("name", ["", "x" * 300], ids=["empty", "long"])
def test_a_name_that_no_object_can_have_names_no_job(name: str) -> None:
    """An annotation may hold anything; the key goes into a marker of limited size."""
    metadata = {"name": "alone", "annotations": {"scheduling.k8s.io/group-name": name}}
    assert Job("team/alone", "pod", 1) == job.of({"metadata": metadata}, "team")

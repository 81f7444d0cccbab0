"""The job of a pod, by the keys that job systems write."""

from __future__ import annotations

from typing import Any

import pytest

from podrail.gang import job, jobsize
from podrail.gang.job import Job, Lookup
from podrail.gang.jobsize import Owner

JOBSET = "jobset.sigs.k8s.io"
LWS = "leaderworkerset.sigs.k8s.io"
YUNIKORN = "yunikorn.apache.org"
COMPLETION = "batch.kubernetes.io/job-completion-index"


def of(labels: dict[str, str] | None = None, lookup: Lookup = job.nothing, **metadata: Any) -> Job:
    """The job of a pod in namespace ml."""
    return job.of({"metadata": {"name": "p", "labels": labels or {}, **metadata}}, "ml", lookup)


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


@pytest.mark.parametrize(
    ("labels", "index"),
    [
        ({"kueue.x-k8s.io/pod-group-name": "q", "kueue.x-k8s.io/pod-group-pod-index": "3"}, 3),
        ({"volcano.sh/job-name": "v", "volcano.sh/task-index": "2"}, 2),
        ({f"{LWS}/name": "l", f"{LWS}/group-index": "5", f"{LWS}/worker-index": "1"}, 1),
        ({f"{JOBSET}/jobset-name": "s", f"{JOBSET}/job-global-index": "4"}, 4),
        ({f"{JOBSET}/jobset-name": "s", f"{JOBSET}/job-index": "4", COMPLETION: "7"}, 4),
        (
            {
                f"{JOBSET}/jobset-name": "s",
                f"{JOBSET}/job-global-index": "0",
                f"{JOBSET}/replicatedjob-replicas": "1",
                COMPLETION: "7",
            },
            7,
        ),
        ({"training.kubeflow.org/job-name": "t", "training.kubeflow.org/replica-index": "0"}, 0),
        ({"ray.io/cluster": "r", "ray.io/worker-group-replica-index": "6"}, 6),
        ({"ray.io/cluster": "r", "ray.io/replica-host-index": "2"}, 2),
        ({"batch.kubernetes.io/job-name": "j", COMPLETION: "9"}, 9),
        ({"batch.kubernetes.io/job-name": "j", COMPLETION: "x"}, None),
        ({"scheduling.x-k8s.io/pod-group": "g"}, None),
        (
            {
                "scheduling.x-k8s.io/pod-group": "g",
                "batch.kubernetes.io/job-name": "j",
                COMPLETION: "9",
            },
            9,
        ),
    ],
)
def test_the_index_is_that_of_the_first_system_that_numbers_the_pod(
    labels: dict[str, str], index: int | None
) -> None:
    """A gang's own key may have none; then the job inside it tells."""
    assert index == of(labels).index


@pytest.mark.parametrize(
    ("labels", "rule"),
    [
        ({"training.kubeflow.org/operator-name": "mpi-operator"}, "mpi"),
        ({"training.kubeflow.org/operator-name": "mpijob-controller"}, "mpi"),
        ({"training.kubeflow.org/operator-name": "pytorchjob-controller"}, "training"),
    ],
)
def test_the_mpi_operator_is_told_apart(labels: dict[str, str], rule: str) -> None:
    """It writes the Training Operator's labels."""
    assert Job("ml/t", rule) == of({"training.kubeflow.org/job-name": "t", **labels})


def test_a_train_job_is_told_apart_and_has_the_key_of_its_jobset() -> None:
    """Trainer v2 names the JobSet as the TrainJob; the label is not on every pod."""
    labels = {f"{JOBSET}/jobset-name": "t"}
    step = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
    assert ("trainer", "jobset") == (of(labels | step).rule, of(labels).rule)
    assert of(labels | step).key == of(labels).key


@pytest.mark.parametrize("key", [f"{YUNIKORN}/app-id", "applicationId", "spark-app-selector"])
def test_a_yunikorn_task_group_is_named_with_its_application(key: str) -> None:
    """Its name alone, often worker, is in every application; the pod lists the groups' sizes."""
    groups = '[{"name": "head", "minMember": 1}, {"name": "worker", "minMember": 7}]'
    group = {f"{YUNIKORN}/task-group-name": "worker"}
    found = of({key: "app"}, annotations={**group, f"{YUNIKORN}/task-groups": groups})
    assert Job("ml/app/worker", "yunikorn", 7) == found
    assert Job("ml/p", "pod", 1) == of(annotations=group)


@pytest.mark.parametrize(
    "groups",
    [
        "",
        "x",
        "{}",
        "[1]",
        '[{"name": "w"}]',
        '[{"name": "w", "minMember": true}]',
        "[" * 9999,
        " " * 20_000,
    ],
)
def test_a_list_of_task_groups_that_cannot_be_read_tells_no_size(groups: str) -> None:
    """It is an annotation: anything may stand there."""
    annotations = {f"{YUNIKORN}/task-group-name": "w", f"{YUNIKORN}/task-groups": groups}
    assert Job("ml/a/w", "yunikorn") == of({"applicationId": "a"}, annotations=annotations)


def test_a_jobset_counts_jobs_so_the_pods_are_known_at_least() -> None:
    """As many as its own kind of Job has replicas; global-replicas has those without GPUs too."""
    labels = {
        f"{JOBSET}/jobset-name": "s",
        f"{JOBSET}/global-replicas": "18",
        f"{JOBSET}/replicatedjob-replicas": "16",
    }
    found = of(labels)
    assert (None, 16, 16) == (found.size, found.at_least, found.expected)
    assert of({f"{JOBSET}/jobset-name": "s"}).expected is None


@pytest.mark.parametrize(
    ("labels", "owner"),
    [
        ({"batch.kubernetes.io/job-name": "x"}, "Job.batch"),
        ({f"{JOBSET}/jobset-name": "x"}, "JobSet.jobset.x-k8s.io"),
        ({"scheduling.x-k8s.io/pod-group": "x"}, "PodGroup.scheduling.x-k8s.io"),
        ({"scheduling.k8s.io/group-name": "x"}, "PodGroup.scheduling.volcano.sh"),
        ({"volcano.sh/job-name": "x"}, "Job.batch.volcano.sh"),
        (
            {f"{LWS}/name": "x", f"{LWS}/group-index": "1"},
            "LeaderWorkerSet.leaderworkerset.x-k8s.io",
        ),
        ({"training.kubeflow.org/job-name": "x"}, "kubeflow.org"),
        ({"ray.io/cluster": "x"}, "RayCluster.ray.io"),
    ],
)
def test_a_size_that_stands_elsewhere_is_looked_up(labels: dict[str, str], owner: str) -> None:
    """By the kind of object that the matching key names, one that jobsize understands."""
    assert 6 == of(labels, {Owner(owner, "ml", "x"): 6}.get).size
    assert owner in jobsize.KINDS


def test_what_the_pod_says_of_the_size_comes_before_a_lookup() -> None:
    """A LeaderWorkerSet's pods carry it."""
    labels = {f"{LWS}/name": "x", f"{LWS}/group-index": "1"}
    assert 4 == of(labels, lambda _: 9, annotations={f"{LWS}/size": "4"}).size


def test_a_scheduling_group_and_a_controller_are_looked_up_too() -> None:
    """The gang's minCount, and a StatefulSet's replicas with its pods' index."""
    group = {"metadata": {}, "spec": {"schedulingGroup": {"podGroupName": "g"}}}
    lookup = {
        Owner("PodGroup.scheduling.k8s.io", "ml", "g"): 5,
        Owner("StatefulSet.apps", "ml", "s"): 3,
    }.get
    assert Job("ml/g", "scheduling-group", 5) == job.of(group, "ml", lookup)
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "s", "uid": "u"}
    found = of(
        {"apps.kubernetes.io/pod-index": "2"},
        lookup,
        ownerReferences=[{**owner, "controller": True}],
    )
    assert Job("ml/u", "owner", 3, 2) == found


def test_a_jobset_of_known_jobs_numbers_its_pods_through() -> None:
    """Pod 3 of Job 2 is number 11 where each Job has 4."""
    labels = {
        f"{JOBSET}/jobset-name": "s",
        f"{JOBSET}/job-global-index": "2",
        "batch.kubernetes.io/job-name": "s-2",
        COMPLETION: "3",
    }
    assert 11 == of(labels, {Owner("Job.batch", "ml", "s-2"): 4}.get).index
    assert 2 == of(labels).index

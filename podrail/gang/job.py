"""The job of a pod: one ordered table of the keys that job systems write, the first match wins.

Keys read in the sources of Kubernetes 1.36, Kueue, scheduler-plugins, Volcano, LWS, JobSet,
Trainer v2, the Training and MPI Operators, KubeRay, YuniKorn and batch/v1. What only other objects
say, such as a Job's parallelism, comes from a lookup; without one it is not known.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from podrail.gang import jobsize
from podrail.gang.jobsize import Owner

Texts = Mapping[str, Any]
Lookup = Callable[[Owner], int | None]
"""How many pods the object's job has, those that ask for GPUs; None if that is not known."""
MOST_DIGITS: Final = 6
MOST_NAME: Final = 253
"""Some keys are annotations, which may be of any length; no object's name is longer than this."""
MOST_GROUPS: Final = 16 * 1024
"""The most characters of YuniKorn's list of task groups that are read."""


@dataclass(frozen=True, slots=True)
class Job:
    """A job: its key with the namespace, and the rule that found it."""

    key: str
    rule: str
    size: int | None = None
    """How many pods it has, if that is known."""
    index: int | None = None
    """Where the pod stands in it; pods of one group may share an index."""
    at_least: int = 1
    """How many pods it has at least: JobSet tells on the pod how many Jobs it has."""

    @property
    def expected(self) -> int | None:
        """The size, else the least one if that says anything."""
        return self.size or (self.at_least if self.at_least > 1 else None)


@dataclass(frozen=True, slots=True)
class _Pod:
    """What a pod document says of itself; labels count before annotations."""

    namespace: str
    labels: Texts
    annotations: Texts
    lookup: Lookup

    def text(self, key: str) -> str:
        """The value of a label or annotation; empty if it is none or could be no name."""
        value = self.labels.get(key) or self.annotations.get(key) or ""
        return value if isinstance(value, str) and len(value) <= MOST_NAME else ""

    def number(self, key: str) -> int | None:
        """The value as a whole number."""
        text = self.text(key)
        return int(text) if text.isdecimal() and len(text) <= MOST_DIGITS else None

    def size_of(self, kind: str, name: str) -> int | None:
        """What the lookup knows of an object in the pod's namespace."""
        return self.lookup(Owner(kind, self.namespace, name)) if kind and name else None


@dataclass(frozen=True, slots=True)
class _Rule:
    """Labels or annotations that together name a job, and where the rest can be found.

    kind is the object that the first key names and that knows the size. needed is a further key
    that must be there, with a value that begins as given.
    """

    name: str
    keys: tuple[str, ...]
    size: str = ""
    kind: str = ""
    index: Callable[[_Pod], int | None] = lambda _pod: None
    least: str = ""
    needed: tuple[str, str] | None = None


_COMPLETION: Final = "batch.kubernetes.io/job-completion-index"
_JOB_NAME: Final = "batch.kubernetes.io/job-name"
_JOBSET: Final = "jobset.sigs.k8s.io"
_KUEUE: Final = "kueue.x-k8s.io"
_LWS: Final = "leaderworkerset.sigs.k8s.io"
_RAY: Final = "ray.io"
_TRAINING: Final = "training.kubeflow.org"
_YUNIKORN: Final = "yunikorn.apache.org"


def _at(key: str) -> Callable[[_Pod], int | None]:
    return lambda pod: pod.number(key)


def _in_jobset(pod: _Pod) -> int | None:
    """The pod's index among all of its JobSet, as far as the Jobs' sizes are known.

    A JobSet of several Jobs without known sizes gives all pods of a Job its number.
    """
    inner = pod.number(_COMPLETION)
    outer = pod.number(f"{_JOBSET}/job-global-index")
    if outer is None:
        outer = pod.number(f"{_JOBSET}/job-index")
    if outer is None or pod.number(f"{_JOBSET}/replicatedjob-replicas") == 1:
        return outer if inner is None else inner
    size = pod.size_of("Job.batch", pod.text(_JOB_NAME))
    return outer if size is None or inner is None else outer * size + inner


def _in_ray(pod: _Pod) -> int | None:
    """A worker group of several hosts numbers its replicas, and the hosts within each."""
    replica = pod.number(f"{_RAY}/worker-group-replica-index")
    return pod.number(f"{_RAY}/replica-host-index") if replica is None else replica


def _jobset(name: str, needed: tuple[str, str] | None = None) -> _Rule:
    """A rule for a JobSet's pods.

    global-replicas counts Jobs, also those without GPUs; there are as many pods like this one as
    its own kind of Job has replicas, at least.
    """
    return _Rule(
        name,
        (f"{_JOBSET}/jobset-name",),
        kind="JobSet.jobset.x-k8s.io",
        index=_in_jobset,
        least=f"{_JOBSET}/replicatedjob-replicas",
        needed=needed,
    )


def _training(name: str, needed: tuple[str, str] | None = None) -> _Rule:
    index = _at(f"{_TRAINING}/replica-index")
    return _Rule(name, (f"{_TRAINING}/job-name",), "", "kubeflow.org", index, needed=needed)


_in_volcano: Final = _at("volcano.sh/task-index")

RULES: Final = (
    _Rule(
        "kueue",
        (f"{_KUEUE}/pod-group-name",),
        size=f"{_KUEUE}/pod-group-total-count",
        index=_at(f"{_KUEUE}/pod-group-pod-index"),
    ),
    _Rule("coscheduling", ("scheduling.x-k8s.io/pod-group",), kind="PodGroup.scheduling.x-k8s.io"),
    _Rule(
        "volcano",
        ("scheduling.k8s.io/group-name",),
        kind="PodGroup.scheduling.volcano.sh",
        index=_in_volcano,
    ),
    _Rule("volcano", ("volcano.sh/job-name",), kind="Job.batch.volcano.sh", index=_in_volcano),
    _Rule(
        "lws",
        (f"{_LWS}/name", f"{_LWS}/group-index"),
        size=f"{_LWS}/size",
        kind="LeaderWorkerSet.leaderworkerset.x-k8s.io",
        index=_at(f"{_LWS}/worker-index"),
    ),
    # A TrainJob has a JobSet of its name.
    _jobset("trainer", ("trainer.kubeflow.org/trainjob-ancestor-step", "")),
    _jobset("jobset"),
    # Both operators have one for MPIJobs: mpi-operator and mpijob-controller.
    _training("mpi", (f"{_TRAINING}/operator-name", "mpi")),
    _training("training"),
    _Rule("ray", (f"{_RAY}/cluster",), kind="RayCluster.ray.io", index=_in_ray),
    # A task group's name is only its application's; the application's own key has three spellings.
    *(
        _Rule("yunikorn", (key, f"{_YUNIKORN}/task-group-name"))
        for key in (f"{_YUNIKORN}/app-id", "applicationId", "spark-app-selector")
    ),
    _Rule("job", (_JOB_NAME,), kind="Job.batch", index=_at(_COMPLETION)),
)
_STATEFUL: Final = "apps.kubernetes.io/pod-index"


def nothing(_owner: Owner) -> int | None:
    """The lookup that knows of no object."""
    return None


def of(document: Mapping[str, Any], namespace: str, lookup: Lookup = nothing) -> Job:
    """The job of a pod document; a pod on its own is a job of one."""
    metadata = document.get("metadata") or {}
    labels, annotations = metadata.get("labels") or {}, metadata.get("annotations") or {}
    pod = _Pod(namespace, labels, annotations, lookup)
    group = (document.get("spec") or {}).get("schedulingGroup")
    if isinstance(group, Mapping) and isinstance(name := group.get("podGroupName"), str):
        size = pod.size_of("PodGroup.scheduling.k8s.io", name)
        return Job(f"{namespace}/{name}", "scheduling-group", size, _index(pod))
    for rule in RULES:
        names = _names(pod, rule)
        if names:
            return _job(pod, rule, names)
    return _owned(pod, metadata)


def _names(pod: _Pod, rule: _Rule) -> tuple[str, ...]:
    """The names by which the rule knows the pod's job; none if it does not match."""
    names: list[str] = []
    for key in rule.keys:
        if not (name := pod.text(key)):
            return ()
        names.append(name)
    if rule.needed is None:
        return tuple(names)
    key, beginning = rule.needed
    text = pod.text(key)
    return tuple(names) if text and text.startswith(beginning) else ()


def _job(pod: _Pod, rule: _Rule, names: tuple[str, ...]) -> Job:
    size = pod.number(rule.size) if rule.size else None
    if rule.name == "yunikorn":
        size = _group_size(pod, names[-1])
    return Job(
        f"{pod.namespace}/{'/'.join(names)}",
        rule.name,
        size or pod.size_of(rule.kind, names[0]),
        _index(pod),
        max(1, pod.number(rule.least) or 1) if rule.least else 1,
    )


def _index(pod: _Pod) -> int | None:
    """The index by the first system that numbers the pod: a gang's own key often has none."""
    found = (rule.index(pod) for rule in RULES if _names(pod, rule))
    return next((index for index in found if index is not None), None)


def _group_size(pod: _Pod, name: str) -> int | None:
    """The members of a YuniKorn task group, as the pod's list of groups says."""
    text = pod.annotations.get(f"{_YUNIKORN}/task-groups", "")
    if not isinstance(text, str) or len(text) > MOST_GROUPS:
        return None
    return next((count for found, count in _groups(text) if found == name), None)


def _groups(text: str) -> Iterator[tuple[str, int]]:
    try:
        groups = json.loads(text)
    except (ValueError, RecursionError):
        return
    for group in groups if isinstance(groups, list) else ():
        if isinstance(group, Mapping):
            members = group.get("minMember")
            if type(members) is int and 0 < members < 10**MOST_DIGITS:
                yield str(group.get("name")), members


def _owned(pod: _Pod, metadata: Mapping[str, Any]) -> Job:
    for owner in metadata.get("ownerReferences") or ():
        if owner.get("controller") is True and owner.get("uid"):
            kind = jobsize.kind_of(str(owner.get("apiVersion", "")), str(owner.get("kind", "")))
            size = pod.size_of(kind, str(owner.get("name", "")))
            return Job(f"{pod.namespace}/{owner['uid']}", "owner", size, pod.number(_STATEFUL))
    if metadata.get("generateName"):
        return Job(f"{pod.namespace}/{metadata['generateName']}", "generate-name")
    return Job(f"{pod.namespace}/{metadata.get('name', '')}", "pod", 1)

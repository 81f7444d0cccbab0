"""How many GPU pods the objects that own jobs say a job has: Job, JobSet, LWS, PodGroup and others.

Launchers, Ray heads and initializers ask for no GPU and are no part of the job that is placed; if
no pod template asks for one (another webhook may add it) all of them count. Fields read in the
CRDs of JobSet v1alpha2, LWS v1, Trainer v1alpha1, kubeflow.org v1 and v2beta1, KubeRay v1, Volcano
v1alpha1, scheduler-plugins v1alpha1 and scheduling.k8s.io v1alpha2 (Kubernetes 1.36).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

Document = Mapping[str, Any]
_Parts = Iterator[tuple[int, Document]]
"""Numbers of pods, each with their template."""
MOST: Final = 10**6


@dataclass(frozen=True, slots=True)
class Owner:
    """The name of an object; kind is written Kind.group, and kubeflow.org alone for its jobs.

    The Training Operator marks the pods of all of its kinds alike.
    """

    kind: str
    namespace: str
    name: str


def owner(document: Document) -> Owner:
    """The name by which the resolver of jobs asks for this object."""
    metadata = document.get("metadata") or {}
    kind = kind_of(str(document.get("apiVersion", "")), str(document.get("kind", "")))
    return Owner(kind, str(metadata.get("namespace", "")), str(metadata.get("name", "")))


def kind_of(version: str, kind: str) -> str:
    """The kind as an Owner has it; core/v1 has no group."""
    group = version.rpartition("/")[0]
    return group if group == _KUBEFLOW else f"{kind}.{group}" if group else kind


def pods(document: Document, gpu_resources: Iterable[str]) -> int | None:
    """How many pods with GPUs the object's job has; None if the object does not say.

    A group of pods is asked how many must run together, since it does not know more.
    """
    spec = _object(document, "spec")
    read = _READERS.get(owner(document).kind)
    if read is None:
        return None
    parts = [(count, template) for count, template in read(spec) if 0 < count <= MOST]
    wanted = frozenset(gpu_resources)
    with_gpus = [count for count, template in parts if _asks(template, wanted)]
    return sum(with_gpus or (count for count, _ in parts)) or None


def _asks(template: Document, wanted: frozenset[str]) -> bool:
    for container in _objects(_object(template, "spec"), "containers"):
        limits = _object(_object(container, "resources"), "limits")
        if any(limits.get(name) not in {None, 0, "0"} for name in wanted):
            return True
    return False


def _job(spec: Document) -> _Parts:
    """batch/v1: no more pods than completions ever run at once."""
    together = _number(spec, "parallelism", 1)
    yield min(together, _number(spec, "completions", together)), _object(spec, "template")


def _jobset(spec: Document) -> _Parts:
    for replicated in _objects(spec, "replicatedJobs"):
        for count, template in _job(_object(_object(replicated, "template"), "spec")):
            yield count * _number(replicated, "replicas", 1), template


def _trainjob(spec: Document) -> _Parts:
    trainer = _object(spec, "trainer")
    yield _number(trainer, "numNodes", 0), {}


def _lws(spec: Document) -> _Parts:
    """The pods of one group; each replica of the set is a job of its own."""
    template = _object(spec, "leaderWorkerTemplate")
    size, worker = _number(template, "size", 1), _object(template, "workerTemplate")
    yield 1, _object(template, "leaderTemplate") or worker
    yield size - 1, worker


def _kubeflow(spec: Document) -> _Parts:
    """PyTorchJob's field is pytorchReplicaSpecs, and the other kinds' are named in the same way."""
    for key, replicas in spec.items():
        if key.endswith("ReplicaSpecs") and isinstance(replicas, Mapping):
            for one in replicas.values():
                if isinstance(one, Mapping):
                    yield _number(one, "replicas", 1), _object(one, "template")


def _raycluster(spec: Document) -> _Parts:
    yield 1, _object(_object(spec, "headGroupSpec"), "template")
    for group in _objects(spec, "workerGroupSpecs"):
        replicas = _number(group, "replicas", _number(group, "minReplicas", 0))
        yield replicas * _number(group, "numOfHosts", 1), _object(group, "template")


def _volcano(spec: Document) -> _Parts:
    for task in _objects(spec, "tasks"):
        yield _number(task, "replicas", 1), _object(task, "template")


def _replicas(spec: Document) -> _Parts:
    yield _number(spec, "replicas", 1), _object(spec, "template")


def _members(spec: Document) -> _Parts:
    yield _number(spec, "minMember", 0), {}


def _gang(spec: Document) -> _Parts:
    gang = _object(_object(spec, "schedulingPolicy"), "gang")
    yield _number(gang, "minCount", 0), {}


_KUBEFLOW: Final = "kubeflow.org"
_READERS: Final[Mapping[str, Callable[[Document], _Parts]]] = MappingProxyType(
    {
        "Job.batch": _job,
        "StatefulSet.apps": _replicas,
        "JobSet.jobset.x-k8s.io": _jobset,
        "TrainJob.trainer.kubeflow.org": _trainjob,
        "LeaderWorkerSet.leaderworkerset.x-k8s.io": _lws,
        _KUBEFLOW: _kubeflow,
        "RayCluster.ray.io": _raycluster,
        "Job.batch.volcano.sh": _volcano,
        "PodGroup.scheduling.volcano.sh": _members,
        "PodGroup.scheduling.x-k8s.io": _members,
        "PodGroup.scheduling.k8s.io": _gang,
    }
)
KINDS: Final = tuple(_READERS)
"""The kinds that are understood."""


def _object(fields: Document, key: str) -> Document:
    """The object in a field; empty if there is none, since these objects are not ours to check."""
    value = fields.get(key)
    return value if isinstance(value, Mapping) else {}


def _objects(fields: Document, key: str) -> list[Document]:
    value = fields.get(key)
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def _number(fields: Document, key: str, default: int) -> int:
    value = fields.get(key)
    return value if type(value) is int else default

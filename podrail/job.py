"""The job of a pod: one ordered table of the keys that job systems write, the first match wins.

Keys read in the sources of Kubernetes 1.36, Kueue, scheduler-plugins, Volcano, LWS, JobSet, the
Training Operator, KubeRay and batch/v1; a size is known only where the pod itself carries it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

Texts = Mapping[str, str]
MOST_DIGITS: Final = 6
MOST_NAME: Final = 253
"""Some keys are annotations, which may be of any length; no object's name is longer than this."""


@dataclass(frozen=True, slots=True)
class Job:
    """A job: its key with the namespace, the rule that found it, its size if the pod tells."""

    key: str
    rule: str
    size: int | None = None


@dataclass(frozen=True, slots=True)
class _Rule:
    """Labels or annotations that together name a job, and the one that tells how many pods."""

    name: str
    keys: tuple[str, ...]
    size: str = ""


_JOBSET: Final = "jobset.sigs.k8s.io"
_LWS: Final = "leaderworkerset.sigs.k8s.io"

RULES: Final = (
    _Rule("kueue", ("kueue.x-k8s.io/pod-group-name",), "kueue.x-k8s.io/pod-group-total-count"),
    _Rule("coscheduling", ("scheduling.x-k8s.io/pod-group",)),
    _Rule("volcano", ("scheduling.k8s.io/group-name",)),
    _Rule("volcano", ("volcano.sh/job-name",)),
    _Rule("lws", (f"{_LWS}/name", f"{_LWS}/group-index"), f"{_LWS}/size"),
    _Rule("jobset", (f"{_JOBSET}/jobset-name",), f"{_JOBSET}/global-replicas"),
    _Rule("training", ("training.kubeflow.org/job-name",)),
    _Rule("ray", ("ray.io/cluster",)),
    _Rule("job", ("batch.kubernetes.io/job-name",)),
)


def of(pod: Mapping[str, Any], namespace: str) -> Job:
    """The job of a pod document; a pod on its own is a job of one."""
    metadata = pod.get("metadata") or {}
    group = (pod.get("spec") or {}).get("schedulingGroup")
    if isinstance(group, Mapping) and isinstance(name := group.get("podGroupName"), str):
        return Job(f"{namespace}/{name}", "scheduling-group")
    labels: Texts = metadata.get("labels") or {}
    annotations: Texts = metadata.get("annotations") or {}
    texts = {**annotations, **labels}
    for rule in RULES:
        names = [texts.get(key, "") for key in rule.keys]
        if all(0 < len(name) <= MOST_NAME for name in names):
            return Job(f"{namespace}/{'/'.join(names)}", rule.name, _count(texts.get(rule.size)))
    return _owned(metadata, namespace)


def _owned(metadata: Mapping[str, Any], namespace: str) -> Job:
    for owner in metadata.get("ownerReferences") or ():
        if owner.get("controller") is True and owner.get("uid"):
            return Job(f"{namespace}/{owner['uid']}", "owner")
    if metadata.get("generateName"):
        return Job(f"{namespace}/{metadata['generateName']}", "generate-name")
    return Job(f"{namespace}/{metadata.get('name', '')}", "pod", 1)


def _count(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() and len(text) <= MOST_DIGITS else None

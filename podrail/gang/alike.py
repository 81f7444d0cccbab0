"""Which waiting pods are alike to kube-scheduler: the nodes that pass for one pass for the next.

What its filter plugins read of a pod (1.36), apart from what only ever concerns other pods.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from podrail import names

_SPEC: Final = (
    "schedulerName", "priority", "preemptionPolicy", "nodeSelector", "affinity", "tolerations",
    "hostNetwork", "overhead", "resources", "runtimeClassName",
)  # fmt: skip
_CONTAINER: Final = ("resources", "restartPolicy", "ports")
_OTHERS: Final = (
    "schedulingGates", "schedulingGroup", "resourceClaims", "topologySpreadConstraints",
)  # fmt: skip
"""With one of these kube-scheduler has more to weigh than one node after the other."""
_BETWEEN_PODS: Final = ("podAffinity", "podAntiAffinity")
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
Document = Mapping[str, Any]


def kind(document: Document) -> str:
    """What the choice of a node for a pod depends on, as one text; equal for pods that are alike.

    Empty for a pod with which that is not the whole of it: it is gated or about to end, a node is
    nominated for it, its place depends on other pods, or it prefers some nodes itself.
    """
    metadata, spec = document["metadata"], document.get("spec") or {}
    nominated = (document.get("status") or {}).get("nominatedNodeName")
    if metadata.get("deletionTimestamp") or nominated or not _simple(spec):
        return ""
    found = {key: spec[key] for key in _SPEC if spec.get(key)}
    for key in ("containers", "initContainers"):
        found[key] = [_some(one, _CONTAINER) for one in spec.get(key) or ()]
    found["volumes"] = [one for one in spec.get("volumes") or () if "persistentVolumeClaim" in one]
    marker = (metadata.get("annotations") or {}).get(names.INJECTED)
    return json.dumps([metadata.get("namespace"), marker, found], sort_keys=True)


def _simple(spec: Document) -> bool:
    affinity = spec.get("affinity") or {}
    between = any(affinity.get(key) for key in _BETWEEN_PODS)
    prefers = (affinity.get("nodeAffinity") or {}).get(_PREFERRED)
    return not (between or prefers or any(spec.get(key) for key in _OTHERS))


def _some(fields: Document, keys: tuple[str, ...]) -> Document:
    return {key: fields[key] for key in keys if fields.get(key)}

"""What is free on a node by the resources that pods ask for: NodeResourcesFit in small.

Enough to rank nodes offline; kube-scheduler itself decides in a cluster.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from podrail import pod as pods
from podrail import quantity

Document = Mapping[str, Any]


def asked(pod: Document) -> Counter[str]:
    """The extended resources of the pod's app containers, in devices."""
    found: Counter[str] = Counter()
    for container in (pod.get("spec") or {}).get("containers") or ():
        for name, count in pods.limits(container).items():
            if "/" in name:
                found[name] += quantity.whole(count)
    return found


def free(node: Document, pods: Iterable[Document]) -> Counter[str]:
    """The extended resources that the pods bound to the node leave."""
    allocatable = (node.get("status") or {}).get("allocatable") or {}
    left = Counter(
        {name: quantity.whole(count) for name, count in allocatable.items() if "/" in name}
    )
    for pod in pods:
        if not ended(pod):
            left.subtract(asked(pod))
    return left


def ended(pod: Document) -> bool:
    """True for a pod that has given its devices back."""
    return (pod.get("status") or {}).get("phase") in {"Succeeded", "Failed"}


def since(pod: Document) -> str:
    """When the pod was bound, as the API server writes it at the bind; empty if nothing says so."""
    for one in (pod.get("status") or {}).get("conditions") or ():
        if one.get("type") == "PodScheduled":
            return str(one.get("lastTransitionTime") or "")
    return ""


def shortage(wanted: Mapping[str, int], left: Mapping[str, int]) -> str:
    """The first resource of which there is not enough, with the counts; empty if all is there."""
    for name, count in sorted(wanted.items()):
        if count > left.get(name, 0):
            return f"{name}: {count} asked, {max(left.get(name, 0), 0)} free"
    return ""

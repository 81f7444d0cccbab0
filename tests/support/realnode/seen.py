"""A pod of the real node as its processes see it, and what the kubelet and Multus say of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import builders

from podrail import names
from podrail_io.podresources import PodResources
from realnode import cni, image
from realnode.node import RealNode


@dataclass(frozen=True, slots=True)
class Seen:
    """One running pod."""

    pod: Mapping[str, Any]
    interfaces: Mapping[str, tuple[str, ...]]
    """The IPv4 addresses of each interface."""
    environ: Mapping[str, str]
    conf: str
    """/etc/nccl.conf; empty where there is none."""
    passed: Mapping[str, str]
    """The deviceID that Multus passed for each recorded interface."""
    held: Mapping[str, frozenset[str]]
    """The devices of each resource, as PodResources tells it."""

    @property
    def annotations(self) -> Mapping[str, str]:
        """The pod's annotations."""
        found: Mapping[str, str] = self.pod["metadata"]["annotations"]
        return found

    @property
    def injected(self) -> Mapping[str, Any]:
        """The admission marker."""
        found: Mapping[str, Any] = json.loads(self.annotations[names.INJECTED])
        return found

    @property
    def placement(self) -> Mapping[str, Any]:
        """The placement marker."""
        found: Mapping[str, Any] = json.loads(self.annotations[names.PLACEMENT])
        return found


def container(gpus: int, **fields: Any) -> dict[str, Any]:
    """A container that sleeps, out of the one image that the node has."""
    return builders.container(gpus=gpus, image=image.NAME, imagePullPolicy="Never", **fields)


def document(fabric: str, gpus: int, name: str, **spec: Any) -> dict[str, Any]:
    """A pod of a fabric with one such container, which ends at once when it is deleted."""
    return builders.document(
        container(gpus, **spec.pop("container", {})),
        fabric=fabric,
        name=name,
        terminationGracePeriodSeconds=0,
        **spec,
    )


def of(node: RealNode, namespace: str, name: str) -> Seen:
    """A pod, once it runs."""
    pod = node.running(namespace, name)
    lines = node.execute(pod, "env").splitlines()
    pairs = (line.partition("=") for line in lines)
    read = ("sh", "-c", "if [ -e /etc/nccl.conf ]; then cat /etc/nccl.conf; fi")
    recorded = [one for one in cni.recorded(node.records) if one["pod"] == name]
    return Seen(
        pod,
        node.interfaces(pod),
        {key: text for key, _, text in pairs},
        node.execute(pod, *read),
        {one["interface"]: one["device"] for one in recorded},
        _held(node, namespace, name),
    )


def _held(node: RealNode, namespace: str, name: str) -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for holder in PodResources(node.pod_resources, lambda: 0.0).pod(namespace, name) or ():
        for each in holder.devices:
            found[each.resource] = found.get(each.resource, frozenset()) | set(each.ids)
    return found

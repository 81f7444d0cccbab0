"""NetworkAttachmentDefinitions and the nodes they are for, as values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from podrail.multus import nad
from podrail.multus.nad import Nad

TUNED = {
    "type": "tuning",
    "sysctl": {
        "net.ipv4.conf.IFNAME.arp_announce": "2",
        "net.ipv4.conf.IFNAME.arp_filter": "1",
        "net.ipv4.conf.IFNAME.arp_ignore": "1",
    },
}
"""How Oracle's sample tunes ARP."""


def host_local(subnet: str = "192.168.1.0/24", **fields: Any) -> dict[str, Any]:
    """An IPAM configuration that counts on each node."""
    return {"type": "host-local", "subnet": subnet, **fields}


def whereabouts(network: str = "192.168.1.0/24", **fields: Any) -> dict[str, Any]:
    """An IPAM configuration that counts in the cluster."""
    return {"type": "whereabouts", "range": network, **fields}


def chain(*plugins: Mapping[str, Any]) -> str:
    """The text of a configuration with these plugins."""
    return json.dumps({"cniVersion": "0.3.1", "name": "net", "plugins": plugins})


def document(
    name: str = "rail0", config: object = "", resource: str = "", namespace: str = "default"
) -> dict[str, Any]:
    """A NetworkAttachmentDefinition document."""
    annotations = {nad.RESOURCE: resource} if resource else {}
    return {
        "apiVersion": "k8s.cni.cncf.io/v1",
        "kind": "NetworkAttachmentDefinition",
        "metadata": {"name": name, "namespace": namespace, "annotations": annotations},
        "spec": {"config": config} if config else {},
    }


def made(*documents: Mapping[str, Any]) -> dict[str, Nad]:
    """The definitions by namespace/name."""
    found = [nad.read(one) for one in documents]
    return {one.key: one for one in found}


def rail(number: int = 0, *more: Mapping[str, Any], resource: str = "", **plugin: Any) -> Any:
    """A macvlan definition of a rail, in a subnet of its own unless the plugin says otherwise."""
    first = {"type": "macvlan", "ipam": whereabouts(f"10.0.{number}.0/24"), **plugin}
    return document(f"rail{number}", chain(first, *more), resource)


def node(name: str = "n0", annotations: Mapping[str, str] | None = None, **counts: int) -> Any:
    """A Node document with GPUs, and with counts of resources (a__b stands for a/b)."""
    given = {key.replace("__", "/"): str(count) for key, count in counts.items()}
    return {
        "metadata": {"name": name, "labels": {}, "annotations": dict(annotations or {})},
        "status": {"allocatable": {"cpu": "128", "nvidia.com/gpu": "8", **given}},
    }


def nodes(count: int, **fields: Any) -> list[Any]:
    """That many equal nodes."""
    return [node(f"n{number}", **fields) for number in range(count)]

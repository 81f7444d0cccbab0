"""The nodes that the pods of a fabric may run on: what they have, what their pod network costs."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from podrail import quantity
from podrail.fabric import Profile


@dataclass(frozen=True, slots=True)
class Overlay:
    """A pod network that wraps its packets, and the bytes that this takes of each."""

    name: str
    cost: int


_PLAIN: Final = 18
"""Shorter strings of digits are counts that need no reading of suffixes."""
_FLANNEL: Final = "flannel.alpha.coreos.com/backend-type"
_BACKENDS: Final[Mapping[str, Overlay]] = {
    "vxlan": Overlay("VXLAN of Flannel", 50),
    "wireguard": Overlay("WireGuard of Flannel", 80),
    "ipip": Overlay("IPIP of Flannel", 20),
    "udp": Overlay("UDP of Flannel", 28),
}
"""What Flannel's backends take of the MTU (flannel-io/flannel, pkg/backend)."""
_TUNNELS: Final[Mapping[str, Overlay]] = {
    "projectcalico.org/IPv4VXLANTunnelAddr": Overlay("VXLAN of Calico", 50),
    "projectcalico.org/IPv6VXLANTunnelAddr": Overlay("VXLAN of Calico", 70),
    "projectcalico.org/IPv4IPIPTunnelAddr": Overlay("IPIP of Calico", 20),
    "projectcalico.org/IPv4WireguardInterfaceAddr": Overlay("WireGuard of Calico", 60),
    "k8s.ovn.org/node-encap-ips": Overlay("Geneve of OVN-Kubernetes", 58),
}
"""Annotations that a node has with a tunnel only (libcalico-go 030e926, node.go; ovn-kubernetes).

The costs are those of "Configure MTU" in Calico's manual. Cilium keeps its tunnel mode in a
ConfigMap, so it cannot be seen here.
"""


@dataclass(frozen=True, slots=True)
class Machine:
    """A node: how many it has of each resource of the profile, and its overlay if it has one."""

    gpus: int
    allocatable: Mapping[str, int]
    overlay: Overlay | None


@dataclass(frozen=True, slots=True)
class Fleet:
    """The nodes with GPUs of the profile that its node selector admits."""

    machines: tuple[Machine, ...]

    def total(self, resource: str) -> int:
        """How many of a resource they have together."""
        return sum(machine.allocatable.get(resource, 0) for machine in self.machines)


def of(profile: Profile, nodes: Iterable[Mapping[str, Any]], others: Iterable[str] = ()) -> Fleet:
    """The profile's fleet among Node documents; others are resources to count besides its own."""
    names = {resource.name for resource in profile.resources}.union(others)
    return Fleet(tuple(_machines(profile, nodes, names)))


def _machines(
    profile: Profile, nodes: Iterable[Mapping[str, Any]], names: Iterable[str]
) -> Iterator[Machine]:
    wanted = profile.extras.node_selector.items()
    for node in nodes:
        metadata = node.get("metadata") or {}
        given = (node.get("status") or {}).get("allocatable") or {}
        gpus = sum(_count(given, name) for name in profile.gpu_resources)
        if gpus and wanted <= (metadata.get("labels") or {}).items():
            counts = {name: count for name in names if (count := _count(given, name))}
            yield Machine(gpus, counts, _overlay(metadata.get("annotations") or {}))


def _count(given: Mapping[str, Any], name: str) -> int:
    """The count; 0 for what is no count, since a node is not ours to correct."""
    value = given.get(name, "0")
    # Nearly all are plain, and there are thousands of nodes.
    if type(value) is str and len(value) < _PLAIN and value.isascii() and value.isdigit():
        return int(value)
    try:
        return quantity.whole(value)
    except ValueError:
        return 0


def _overlay(annotations: Mapping[str, str]) -> Overlay | None:
    flannel = _BACKENDS.get(annotations.get(_FLANNEL, ""))
    return flannel or next((_TUNNELS[key] for key in _TUNNELS if annotations.get(key)), None)

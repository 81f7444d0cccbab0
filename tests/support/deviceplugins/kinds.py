"""The device plugins that podrail meets: GPUs, VFs by rail or in a pool, shared RDMA devices.

What they list, prefer and hand out is as their sources say (k8s-device-plugin v0.19,
sriov-network-device-plugin v3.9, k8s-rdma-shared-dev-plugin v1.5).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import combinations
from typing import Final

from deviceplugins import preference
from deviceplugins.plugin import Device, Grant, Node, Plugin

GPU: Final = "nvidia.com/gpu"
NVSWITCH: Final = 18
_CROSS_CPU: Final = 10
_SAME_CPU: Final = 20
_SINGLE_SWITCH: Final = 50
_NVLINK: Final = 100


def gpus(
    cards: Mapping[str, int | None],
    *,
    switches: Collection[Collection[str]] = (),
    nvlinks: int = NVSWITCH,
    resource: str = GPU,
) -> Plugin:
    """Whole GPUs by UUID with their NUMA nodes; which share a PCIe switch; NVLinks between two."""

    def worth(one: str, other: str) -> int:
        if any(one in switch and other in switch for switch in switches):
            return _SINGLE_SWITCH
        return _SAME_CPU if cards[one] == cards[other] else _CROSS_CPU

    pairs = {frozenset(pair): _NVLINK * nvlinks + worth(*pair) for pair in combinations(cards, 2)}
    return Plugin(resource, _devices(cards), preference.aligned(pairs), visible)


def replicas(
    cards: Mapping[str, int | None], each: int, *, packed: bool = False, resource: str = GPU
) -> Plugin:
    """Time-sliced GPUs, so many replicas each."""
    found = {f"{card}::{at}": numa for card, numa in cards.items() for at in range(each)}
    prefer = preference.packed if packed else preference.distributed
    return Plugin(resource, _devices(found), prefer(tuple(found)), visible)


def virtual(resource: str, functions: Mapping[str, int | None]) -> Plugin:
    """VFs by PCI address: one resource for a rail or for a pool; which comes is the kubelet's."""

    def grant(ids: Sequence[str]) -> Grant:
        name = re.sub(r"[^A-Z0-9]", "_", resource.upper())
        return Grant({f"PCIDEVICE_{name}": ",".join(ids)})

    return Plugin(resource, _devices(functions), grant=grant)


def by_rail(prefix: str, functions: Sequence[Mapping[str, int | None]]) -> tuple[Plugin, ...]:
    """A resource for each rail: the prefix and the rail's number."""
    return tuple(virtual(f"{prefix}{at}", one) for at, one in enumerate(functions))


def shared(
    resource: str, many: int, nodes: Sequence[Node] = (), *, numa: int | None = None
) -> Plugin:
    """So many shares of all RDMA devices of a pool: any share brings every device node of it.

    The plugin never tells a NUMA node; others of its kind may.
    """
    found = dict.fromkeys(map(str, range(many)), numa)
    return Plugin(resource, _devices(found), grant=lambda _ids: Grant(nodes=tuple(nodes)))


def visible(ids: Sequence[str]) -> Grant:
    """What NVIDIA's plugin tells its container runtime."""
    cards = dict.fromkeys(one.partition("::")[0] for one in ids)
    return Grant({"NVIDIA_VISIBLE_DEVICES": ",".join(cards)})


def _devices(found: Mapping[str, int | None]) -> tuple[Device, ...]:
    return tuple(Device(one, numa) for one, numa in found.items())

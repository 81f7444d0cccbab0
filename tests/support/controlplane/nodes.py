"""Nodes without kubelets: their capacity is what their status says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

ALIGNED = "podrail-aligned"
CROSSED = "podrail-crossed"
HARDWARE = {
    "nvidia.com/gpu": "8",
    "nvidia.com/rdma-vf": "8",
    "rdma/hca_shared_devices_a": "1k",
    **{f"nvidia.com/rail{rail}": "1" for rail in range(8)},
}


def node(
    name: str, shape: str, resources: Mapping[str, str] = HARDWARE, **labels: str
) -> dict[str, Any]:
    """A ready node of a machine type."""
    room = {"cpu": "192", "memory": "2Ti", "pods": "110", **resources}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {
                "kubernetes.io/hostname": name,
                "node.kubernetes.io/instance-type": shape,
                **labels,
            },
        },
        "status": {
            "capacity": room,
            "allocatable": room,
            "conditions": [
                {
                    "type": "Ready",
                    "status": "True",
                    "reason": "Test",
                    "message": "",
                    "lastHeartbeatTime": None,
                    "lastTransitionTime": None,
                }
            ],
        },
    }


def two_shapes() -> list[dict[str, Any]]:
    """Sixteen nodes with the same resources: eight aligned, eight whose pairs are all SYS."""
    return [
        node(f"{shape.removeprefix('podrail-')}-{number}", shape)
        for shape in (ALIGNED, CROSSED)
        for number in range(8)
    ]

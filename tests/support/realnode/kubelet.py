"""The kubelet's configuration and command line for a node of a test."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from realnode import runtime

HOME: Final = "/var/lib/kubelet"
CONFIG: Final = f"{HOME}/config.yaml"
DEVICE_PLUGINS: Final = f"{HOME}/device-plugins"
POD_RESOURCES: Final = f"{HOME}/pod-resources/kubelet.sock"


def configuration(changes: Mapping[str, Any], cgroups: str) -> dict[str, Any]:
    """A KubeletConfiguration that starts on cgroup v1 or v2, with little disk and no DNS."""
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "containerRuntimeEndpoint": f"unix://{runtime.SOCKET}",
        "failCgroupV1": False,
        "cgroupDriver": "cgroupfs",
        "cgroupsPerQOS": False,
        "cgroupRoot": cgroups,
        "enforceNodeAllocatable": [],
        "failSwapOn": False,
        "localStorageCapacityIsolation": False,
        "evictionHard": {"memory.available": "1Mi", "nodefs.available": "0%"},
        "imageGCHighThresholdPercent": 100,
        "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
        "authorization": {"mode": "AlwaysAllow"},
        "resolvConf": "",
        "volumePluginDir": f"{HOME}/volume-plugins",
        "nodeStatusUpdateFrequency": "1s",
        "syncFrequency": "5s",
        **changes,
    }


def command(program: Path, kubeconfig: Path, name: str, labels: Mapping[str, str]) -> list[Any]:
    """How it is started, under a name and with labels of its node."""
    return [
        *(program, "--config", CONFIG, "--kubeconfig", kubeconfig, "--root-dir", HOME),
        *("--hostname-override", name, "--node-ip", "127.0.0.1", "-v", "2"),
        *("--node-labels", ",".join(f"{key}={text}" for key, text in labels.items())),
    ]

"""What the DRA drivers of a cluster publish: the ResourceSlices of a node and the DeviceClasses."""

from __future__ import annotations

from typing import Any, Final

import captures
import yaml

from podrail.topology import Topology

API: Final = "resource.k8s.io/v1"
ROOT: Final = "resource.kubernetes.io/pcieRoot"
GPU: Final = "gpu.nvidia.com"
NIC: Final = "dra.net"


def classes(extended: str = "") -> list[dict[str, Any]]:
    """The DeviceClasses of the drivers' charts; extended is what GPUs are called in limits."""
    gpu: dict[str, Any] = {
        "selectors": [_cel(f"device.driver == '{GPU}' && device.attributes['{GPU}'].type == 'gpu'")]
    }
    if extended:
        gpu["extendedResourceName"] = extended
    nic = {"selectors": [_cel(f"device.driver == '{NIC}'")]}
    return [
        {"apiVersion": API, "kind": "DeviceClass", "metadata": {"name": name}, "spec": spec}
        for name, spec in ((GPU, gpu), ("dranet.net", nic))
    ]


def slices(node: str, topology: Topology, *, apart: bool = False) -> list[dict[str, Any]]:
    """A node of a shape: what is on one switch has one PCIe root, unless NICs are put apart.

    There is also the NIC of the pod network on the first root, which has no RDMA.
    """
    gpu_roots = _roots(topology, 0)
    nic_roots = [f"{root[:-2]}f{root[-1]}" if apart else root for root in _roots(topology, 1)]
    gpus = [
        _device(f"gpu-{at}", {ROOT: root, f"{GPU}/type": "gpu", f"{GPU}/uuid": f"GPU-{node}-{at}"})
        for at, root in enumerate(gpu_roots)
    ]
    nics = [_device("pci-eth0", {ROOT: gpu_roots[0], f"{NIC}/rdma": False})]
    nics += [
        _device(f"pci-{nic.name.replace('_', '-')}", {ROOT: nic_roots[at], f"{NIC}/rdma": True})
        for at, nic in enumerate(topology.nics)
    ]
    return [_slice(node, GPU, gpus), _slice(node, NIC, nics)]


def captured(node: str, stem: str) -> list[dict[str, Any]]:
    """The slices of a machine that was captured live, as those of a node."""
    found: list[dict[str, Any]] = []
    for driver in ("gpu", "dranet"):
        text = (captures.FOLDER / "dra" / f"{stem}-{driver}.yaml").read_text()
        for document in yaml.safe_load_all(text):
            for one in document.get("items", [document]):
                spec = one["spec"]
                found.append(_slice(node, spec["driver"], spec["devices"]))
    return found


def _roots(topology: Topology, side: int) -> list[str]:
    """The PCIe root of each GPU (side 0) or NIC (side 1): one for each switch."""
    count = len(topology.nics if side else topology.gpus)
    roots = [f"pci0000:{0xA0 + at:02x}" for at in range(count)]
    for number, group in enumerate(topology.groups):
        for at in group[side]:
            roots[at] = f"pci0000:{0x10 + number:02x}"
    return roots


def _slice(node: str, driver: str, devices: list[dict[str, Any]]) -> dict[str, Any]:
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    return {
        "apiVersion": API,
        "kind": "ResourceSlice",
        "metadata": {"name": f"{node}-{driver}"},
        "spec": {"driver": driver, "nodeName": node, "pool": pool, "devices": devices},
    }


def _device(name: str, attributes: dict[str, Any]) -> dict[str, Any]:
    kinds = {
        key: {"bool" if isinstance(one, bool) else "string": one} for key, one in attributes.items()
    }
    return {"name": name, "attributes": kinds}


def _cel(expression: str) -> dict[str, Any]:
    return {"cel": {"expression": expression}}

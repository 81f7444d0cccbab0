"""Whose cluster it is, by the labels of its nodes, and what its vendors' devices are called.

Keys as the platforms' own documents and samples have them (2026). A platform that names a resource
of its own needs no key.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from podrail.names import INSTANCE_TYPE

SIGNS: Final[Mapping[str, tuple[str, ...]]] = {
    "oke": ("oci.oraclecloud.com/", "oke.oraclecloud.com/"),
    "aks": ("kubernetes.azure.com/",),
    "eks": ("eks.amazonaws.com/", "alpha.eksctl.io/"),
    "gke": ("cloud.google.com/gke-",),
    "coreweave": ("node.coreweave.cloud/", "backend.coreweave.cloud/", "ib.coreweave.cloud/"),
    "ack": ("aliyun.accelerator/", "alibabacloud.com/"),
    "nebius": ("topology.nebius.com/",),
    "akash": ("akash.network/",),
    "ibm": ("autopilot.ibm.com/", "ibm-cloud.kubernetes.io/"),
    "rhoai": ("node.openshift.io/",),
}
"""The beginnings of label keys of each platform, by the word that its profiles begin with."""
_TYPES: Final[Mapping[str, str]] = {
    "BM.GPU": "oke",
    "VM.GPU": "oke",
    "Standard_N": "aks",
    "a3-": "gke",
    "a4-": "gke",
    "a4x-": "gke",
    "ecs.": "ack",
    "p4d": "eks",
    "p5": "eks",
    "p6": "eks",
}
"""The same by the beginning of the machine type."""
DEVICES: Final[Mapping[str, str]] = {
    "15b3": "mlx5",
    "1dd8": "ionic",
    "14e4": "bnxt_re",
    "1ded": "erdma",
}
"""The beginning of a device's name in /sys/class/infiniband, by PCI vendor (pci.ids, drivers)."""


def known(labels: Mapping[str, str]) -> str:
    """The word of the platform; empty if nothing tells."""
    for word, keys in SIGNS.items():
        if any(key.startswith(keys) for key in labels):
            return word
    kind = labels.get(INSTANCE_TYPE, "")
    return next((word for start, word in _TYPES.items() if kind.startswith(start)), "")


def vendors(labels: Iterable[str]) -> tuple[str, ...]:
    """The vendors of NICs of which node feature discovery has found devices.

    Its keys are pci-15b3.present or, with the class, pci-0207_15b3.present (NFD 0.17).
    """
    told = {key.removeprefix("feature.node.kubernetes.io/pci-") for key in labels}
    found = {one.removesuffix(".present").rpartition("_")[2] for one in told}
    return tuple(one for one in DEVICES if one in found)

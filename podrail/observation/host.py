"""What /sys and /proc tell of a node beside its topology: GPU identifiers, GID types, VFs, limits.

Attributes as in Linux 6.12; /proc/driver/nvidia as of driver 580. What is missing is unknown.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from podrail.evidence import devices, pci, sysfs
from podrail.evidence.noderails import MOST_VFS, Host, Netdev, Port
from podrail.observation import steering
from podrail.topology import Gpu, Topology

SYS: Final = (
    *sysfs.PATTERNS,
    "class/infiniband/*/ports/*/gid_attrs/types/[0-9]",
    "bus/pci/devices/*/virtfn*",
    "bus/pci/devices/*/sriov_numvfs",
    "bus/pci/devices/*/iommu_group/type",
    "module/ib_core/parameters/netns_mode",
    "module/nvidia_peermem/refcnt",
    "module/nv_peer_mem/refcnt",
    "module/amdgpu/refcnt",
    "kernel/mm/memory_peers/*/num_reg_bytes",
)
"""What is read below /sys, by podrail_io.tree; of 128 and more GIDs the first ten."""
PROC: Final = (
    "sys/kernel/random/boot_id",
    "sys/kernel/osrelease",
    "self/limits",
    steering.ENTRIES,
    "driver/nvidia/version",
    "driver/nvidia/gpus/*/information",
)
"""What is read below /proc."""

_DRIVER: Final = re.compile(r"Kernel Module(?: for \S+)?\s+(\d+\.[\d.]+)")
OPEN: Final = "Open Kernel Module"
_LOCKED: Final = re.compile(r"Max locked memory\s+(\d+|unlimited)\s")
_INFORMATION: Final = re.compile(r"driver/nvidia/gpus/([^/]+)/information")
_VIRTUAL: Final = re.compile(r"bus/pci/devices/([^/]+)/virtfn(\d+)")
_MODES: Final = {"Y": "shared", "1": "shared", "N": "exclusive", "0": "exclusive"}
_NO_TEXTS: Final[Mapping[str, str]] = {}


@dataclass(frozen=True, slots=True)
class Trees:
    """Files by path and links by path below /sys, files by path below /proc, and interfaces."""

    files: Mapping[str, str] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)
    proc: Mapping[str, str] = field(default_factory=dict)
    netdevs: tuple[Netdev, ...] = ()

    @property
    def boot(self) -> str:
        """The identifier of this boot."""
        return self.proc.get("sys/kernel/random/boot_id", "").strip()

    def has(self, address: str) -> bool:
        """Whether there is a PCI function of this address."""
        return f"bus/pci/devices/{address}" in self.links


def of(trees: Trees, topology: Topology) -> Host:
    """What the host offers to pods that use the NICs of the topology."""
    virtual = _virtual(trees.links)
    locked = _LOCKED.search(trees.proc.get("self/limits", ""))
    return Host(
        rdma_netns=_MODES.get(
            trees.files.get("module/ib_core/parameters/netns_mode", "").strip(), ""
        ),
        memlock=locked[1] if locked else "",
        gpu_driver=driver(trees.proc),
        ports=tuple(
            Port(nic.device, _gids(trees.files, nic.device), virtual.get(nic.pci, ()))
            for nic in topology.nics
        ),
        netdevs=trees.netdevs[: devices.MOST_NICS],
        flows=steering.entries(trees.proc),
    )


def driver(proc: Mapping[str, str]) -> str:
    """The version of NVIDIA's driver, with the word open if its kernel module is the open one."""
    text = proc.get("driver/nvidia/version", "")
    match = _DRIVER.search(text)
    if match is None:
        return ""
    return f"{match[1]} open" if OPEN in text else match[1]


def known(trees: Trees, topology: Topology) -> Topology:
    """The topology with the identifiers and products that NVIDIA's driver tells of its GPUs."""
    told = {
        pci.canonical(match[1]): _lines(text)
        for path, text in trees.proc.items()
        if (match := _INFORMATION.fullmatch(path))
    }
    cards = (topology.card(at) for at in range(len(topology.gpus)))
    named = tuple(_card(card, told.get(card.pci, _NO_TEXTS)) for card in cards)
    return replace(topology, cards=named)


def driven(proc: Mapping[str, str]) -> frozenset[str]:
    """The addresses of the GPUs that NVIDIA's driver has."""
    found = (_INFORMATION.fullmatch(path) for path in proc)
    return frozenset(pci.canonical(match[1]) for match in found if match)


def _card(card: Gpu, told: Mapping[str, str]) -> Gpu:
    identifier = told.get("GPU UUID", "")
    # The driver writes question marks until it has met the GPU.
    known_as = "" if "?" in identifier else identifier
    return replace(card, id=known_as or card.id, product=told.get("Model") or card.product)


def _lines(text: str) -> Mapping[str, str]:
    pairs = (line.partition(":") for line in text.splitlines())
    return {key.strip(): value.strip()[:128] for key, _, value in pairs}


def _gids(files: Mapping[str, str], device: str) -> tuple[str, ...]:
    """The kinds of GID among the first of a device; without a list, IB where the link is that."""
    start = f"class/infiniband/{device}/ports/"
    ours = {path: text.strip() for path, text in files.items() if path.startswith(start)}
    ethernet = any(text == "Ethernet" for text in ours.values())
    words = {"IB/RoCE v1": "RoCE v1" if ethernet else "IB", "RoCE v2": "RoCE v2"}
    found = {words[text] for path, text in ours.items() if "/gid_attrs/" in path and text in words}
    if not found and any(text == "InfiniBand" for text in ours.values()):
        return ("IB",)
    return tuple(sorted(found))


def _virtual(links: Mapping[str, str]) -> Mapping[str, tuple[str, ...]]:
    """The addresses of the VFs of each PF, in the order of their numbers."""
    found: dict[str, list[tuple[int, str]]] = {}
    for path, target in links.items():
        if match := _VIRTUAL.fullmatch(path):
            address = target.rpartition("/")[2]
            found.setdefault(match[1], []).append((int(match[2]), address))
    return {
        physical: tuple(address for _, address in sorted(one)[:MOST_VFS])
        for physical, one in found.items()
    }

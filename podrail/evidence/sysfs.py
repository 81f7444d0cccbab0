"""The GPUs and RDMA devices of a /sys tree, and their distances by its paths, without NVML.

A NIC is what is in class/infiniband: PCI classes of NICs vary (0x0200, 0x0207, 0x0280, 0x0c06).
numa_node -1 is unknown, never far. Attributes as in Linux 6.12 (Documentation/ABI).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from podrail.evidence import pci
from podrail.evidence.pci import Place
from podrail.topology import Evidence, Gpu, Judged, Nic, Role, State, Topology

_PCI_FILES: Final = ("vendor", "device", "class", "numa_node")
PATTERNS: Final = (
    "class/infiniband/*",
    "class/infiniband/*/ports/*/state",
    "class/infiniband/*/ports/*/rate",
    "class/infiniband/*/ports/*/link_layer",
    "bus/pci/devices/*",
    "bus/pci/devices/*/physfn",
    "bus/pci/devices/*/net/*/mtu",
    *(f"bus/pci/devices/*/{name}" for name in _PCI_FILES),
)
"""What is read of a tree, by podrail_io.tree."""
BARE: Final = tuple(
    f"devices/pci*{'/*:*:*.*' * depth}/{name}" for depth in range(1, 12) for name in _PCI_FILES
)
"""The same without bus/pci/devices, as trimmed copies of trees are."""

_FUNCTION: Final = re.compile(r"bus/pci/devices/[^/]+")
_GPU_CLASSES: Final[Mapping[str, tuple[str, ...]]] = {
    "0x10de": ("0x0300", "0x0302"),
    "0x1002": ("0x0300", "0x0302", "0x0380", "0x1200"),
}
"""By vendor: the VGA of a BMC (1a03, 102b) has the class of a GPU, an NVSwitch has 0x0680."""
_MANAGED: Final = frozenset({"0xc2d2", "0xc2d3", "0xc2d4", "0xc2d5", "0xc2d6"})
"""Management functions of BlueField DPUs, vendor 15b3 (pci.ids 2023-08)."""
_EFA: Final = "0xefa"
_ACTIVE: Final = 4
"""`4: ACTIVE` (ib_verbs.h); what a port that is down says of its rate means nothing."""
_AMD_BRIDGES: Final = frozenset({("0x1022", "0x1500"), ("0x1002", "0x1470"), ("0x1002", "0x1471")})
"""An AMD GPU is behind two bridges of its own package (MI300X; older ones have vendor 1002)."""
_COHERENT: Final = frozenset({"0x2342", "0x2345", "0x2348", "0x2941", "0x31c2"})
"""GH200, GB200 and GB300 (pci.ids): on C2C, so the NUMA node decides."""


@dataclass(frozen=True, slots=True)
class _Tree:
    """Files by path, links by path, both below /sys; and where each PCI function is."""

    files: Mapping[str, str]
    links: Mapping[str, str]
    functions: Mapping[str, tuple[str, ...]]
    """Host bridge, bridges and function, by address."""
    folders: Mapping[str, str]

    def text(self, address: str, name: str) -> str:
        """An attribute of a PCI function; empty if it is not there."""
        return self.files.get(f"{self.folders[address]}/{name}", "").strip().lower()

    def number(self, address: str) -> int | None:
        """The NUMA node of a function."""
        text = self.text(address, "numa_node")
        return int(text) if text.isdecimal() else None

    def place(self, address: str) -> Place:
        """Where a function is, without the bridges of an AMD GPU's own package."""
        root, *below = self.functions[address]
        kept = [one for one in below if not self._own(one, address)]
        return Place((root, *kept), self.number(address))

    def is_virtual(self, address: str) -> bool:
        """True for a VF whose PF is on this host; in a virtual machine a VF is all there is."""
        return f"{self.folders[address]}/physfn" in self.links

    def _own(self, bridge: str, address: str) -> bool:
        if bridge == address or bridge not in self.folders:
            return False
        ids = (self.text(bridge, "vendor"), self.text(bridge, "device"))
        return ids in _AMD_BRIDGES and self.text(address, "vendor") == "0x1002"


def read(files: Mapping[str, str], links: Mapping[str, str], place: str) -> Topology:
    """The topology of a tree; rails are not numbered yet. Nothing that is missing is an error."""
    tree = _tree(files, links)
    gpus = sorted((one for one in tree.functions if _is_gpu(tree, one)), key=pci.order)
    devices, told = _devices(tree, place)
    nics = sorted(devices, key=lambda nic: (pci.order(nic.pci), nic.name))
    places = {one: tree.place(one) for one in [*gpus, *(nic.pci for nic in nics)]}
    switched = pci.switches([places[gpu] for gpu in gpus])
    coherent = any(tree.text(gpu, "device") in _COHERENT for gpu in gpus)
    return Topology(
        shape="",
        gpus=tuple(places[gpu].numa for gpu in gpus),
        nics=tuple(_foreign(nics)),
        tiers=tuple(
            tuple(pci.tier(places[gpu], places[nic.pci], switched=switched) for nic in nics)
            for gpu in gpus
        ),
        judged=Judged.NUMA if coherent else Judged.PCIE,
        evidence=Evidence.SYSFS,
        cards=tuple(Gpu(pci=gpu) for gpu in gpus),
        warnings=tuple(told),
    )


def _tree(files: Mapping[str, str], links: Mapping[str, str]) -> _Tree:
    """The PCI functions of a tree, by the links of bus/pci/devices or by their own folders."""
    bare = {at.rpartition("/")[0] for at in files if at.startswith("devices/")}
    listed = {at: target for at, target in links.items() if _FUNCTION.fullmatch(at)}
    paths = {**{folder: folder for folder in bare}, **listed}
    functions, folders = {}, {}
    for folder, path in paths.items():
        found = pci.split(path)
        if len(found) > 1:
            functions[found[-1]], folders[found[-1]] = found, folder
    return _Tree(files, links, functions, folders)


def _is_gpu(tree: _Tree, address: str) -> bool:
    classes = _GPU_CLASSES.get(tree.text(address, "vendor"), ())
    return tree.text(address, "class").startswith(classes) and not tree.is_virtual(address)


def _devices(tree: _Tree, place: str) -> tuple[list[Nic], list[str]]:
    """The RDMA devices that could be rails, and what is said of the others."""
    nics, virtual, told = [], 0, []
    for link, path in tree.links.items():
        name = link.removeprefix("class/infiniband/")
        if not link.startswith("class/infiniband/") or "/" in name:
            continue
        address = next(iter(pci.split(path)[:0:-1]), "")
        if address not in tree.functions:
            told.append(f"{place}: {name} is no PCI device and is left out")
        elif tree.is_virtual(address):
            virtual += 1
        else:
            nics.append(_nic(tree, name, address))
    return nics, told + ([f"{place}: {virtual} virtual functions are left out"] if virtual else [])


def _nic(tree: _Tree, name: str, address: str) -> Nic:
    ports = sorted(
        {
            at.rpartition("/")[0]
            for at in tree.files
            if at.startswith(f"class/infiniband/{name}/ports/")
        }
    )
    up = [port for port in ports if _number(tree.files.get(f"{port}/state", "")) == _ACTIVE]
    shown = next(iter(up or ports), "")
    rates = [_number(tree.files.get(f"{port}/rate", "")) for port in up]
    vendor, device = tree.text(address, "vendor"), tree.text(address, "device")
    return Nic(
        name=name,
        rail=None,
        numa=tree.number(address),
        device=name,
        pci=address,
        netdev=_netdev(tree, address),
        role=Role.MANAGEMENT if vendor == "0x15b3" and device in _MANAGED else None,
        link="EFA"
        if _is_efa(vendor, device)
        else tree.files.get(f"{shown}/link_layer", "").strip(),
        state=None if not ports else State.UP if up else State.DOWN,
        gbps=max((rate for rate in rates if rate), default=None),
    )


def _number(text: str) -> int | None:
    """The whole number that a text begins with: `4: ACTIVE`, `400 Gb/sec (4X NDR)`."""
    digits = text.strip().partition(":")[0].partition(" ")[0].partition(".")[0]
    return int(digits) if digits.isdecimal() else None


def _netdev(tree: _Tree, address: str) -> str:
    start = f"{tree.folders[address]}/net/"
    return next(
        (
            at.removeprefix(start).partition("/")[0]
            for at in sorted(tree.files)
            if at.startswith(start)
        ),
        "",
    )


def _is_efa(vendor: str, device: str) -> bool:
    return vendor == "0x1d0f" and device.startswith(_EFA)


def _foreign(nics: list[Nic]) -> list[Nic]:
    """On a host with EFA the other RDMA devices carry the host's own traffic (AWS p6-b200)."""
    if not any(nic.link == "EFA" for nic in nics):
        return nics
    return [nic if nic.link == "EFA" else replace(nic, role=Role.MANAGEMENT) for nic in nics]

"""The captures of tests/data/topology, and /sys trees laid out on disk."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

FOLDER: Final = Path(__file__).resolve().parents[1] / "data" / "topology"
MATRICES: Final[dict[str, dict[str, Any]]] = json.loads((FOLDER / "smi.json").read_text())


def text(name: str) -> str:
    """A capture by its path below the folder."""
    return (FOLDER / name).read_text()


def matrix(name: str) -> str:
    """A capture of nvidia-smi."""
    return text(f"smi/{name}.txt")


@dataclass(frozen=True, slots=True)
class Function:
    """A PCI function of a /sys tree: its path from the host bridge on, and what it is."""

    path: str
    vendor: str
    device: str
    kind: str
    numa: int = 0
    hca: str = ""
    port: dict[str, str] = field(default_factory=dict)
    netdev: str = ""
    physical: str = ""
    """For a VF the address of its PF."""


def gpu(path: str, numa: int = 0, device: str = "0x2330") -> Function:
    """An NVIDIA GPU."""
    return Function(path, "0x10de", device, "0x030200", numa)


def nic(path: str, hca: str, numa: int = 0, **fields: Any) -> Function:
    """A ConnectX-7 whose port is up at 400 Gb/s."""
    port = {"state": "4: ACTIVE", "rate": "400 Gb/sec (4X NDR)", "link_layer": "InfiniBand"}
    values = {"vendor": "0x15b3", "device": "0x1021", "kind": "0x020700", "port": port, **fields}
    return Function(path, numa=numa, hca=hca, **values)


def bridge(path: str, vendor: str = "0x1000", device: str = "0xc030") -> Function:
    """A bridge."""
    return Function(path, vendor, device, "0x060400", -1)


def lay(top: Path, *functions: Function, others: tuple[str, ...] = ()) -> Path:
    """A /sys tree with the functions, and RDMA devices that are no PCI devices."""
    for one in functions:
        folder = top / "devices" / one.path
        _write(folder, vendor=one.vendor, device=one.device, numa_node=str(one.numa))
        (folder / "class").write_text(f"{one.kind}\n")
        _link(top / "bus/pci/devices" / folder.name, folder)
        if one.netdev:
            _write(folder / "net" / one.netdev, mtu="9000")
        if one.physical:
            _link(folder / "physfn", folder.parent / one.physical)
        if one.hca:
            _write(folder / "infiniband" / one.hca / "ports/1", **one.port)
            _link(top / "class/infiniband" / one.hca, folder / "infiniband" / one.hca)
    for name in others:
        folder = top / "devices/virtual/infiniband" / name
        _write(folder / "ports/1", state="4: ACTIVE")
        _link(top / "class/infiniband" / name, folder)
    return top


def snapshot(top: Path, name: str) -> Path:
    """The /sys tree of a capture: links as links, values as files, nothing in bus/."""
    folder = top
    for line in text(f"sysfs/{name}.txt").splitlines():
        if match := re.fullmatch(r"/sys/(class/infiniband/\w+) -> (\S+)", line):
            _link(top / match[1], top / match[1] / ".." / match[2])
        elif match := re.fullmatch(r"/sys/class/infiniband/(\w+)/(ports/1/\w+): (.*)", line):
            target = (top / "class/infiniband" / match[1]).resolve()
            _write((target / match[2]).parent, **{match[2].rpartition("/")[2]: match[3]})
        elif match := re.fullmatch(r"PCI device dir: /sys/(\S+)", line):
            folder = top / match[1]
        elif match := re.fullmatch(r"  (\w+): (.*)", line):
            _write(folder, **{match[1]: match[2]})
        elif match := re.fullmatch(r"/sys/(\S+) \| (\S+) \| (\w+):(\w+) \| (\S+)", line):
            _write(top / match[1], vendor=match[3], device=match[4], numa_node=match[5])
            (top / match[1] / "class").write_text(match[2])
    return top


def _write(folder: Path, **values: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in values.items():
        (folder / name).write_text(f"{value}\n")


def _link(path: Path, target: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.symlink_to(os.path.relpath(os.path.normpath(target), path.parent))

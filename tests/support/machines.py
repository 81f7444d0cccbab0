"""A /sys and a /proc for each shape of the catalog: the hardware of an agent's test, as files."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import captures
from captures import Function

from podrail.evidence import sysfs
from podrail.observation import host
from podrail.observation.host import Trees
from podrail.topology import SWITCHED, Judged, Tier, Topology
from podrail_io import tree

UUID: Final = "GPU-00000000-0000-0000-0000-{:012d}"
BOOT: Final = "11111111-2222-3333-4444-555555555555"
_ROOTED: Final = SWITCHED | {Tier.PHB}
_BELOW: Final = frozenset({Tier.PIX, Tier.PXB})
VERSION: Final = (
    "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build\n"
)
INFORMATION: Final = "Model: \t\t NVIDIA H100 80GB HBM3\nGPU UUID: \t {}\nBus Location: \t {}\n"
LIMITS: Final = "Limit Soft Limit Hard Limit Units\nMax locked memory         {} {} bytes     \n"


@dataclass(frozen=True, slots=True)
class Machine:
    """The folders of a node's trees, and its devices' addresses in the order of the shape."""

    sys: Path
    proc: Path
    gpus: tuple[str, ...]
    nics: tuple[str, ...]

    def port(self, nic: int, **values: str) -> None:
        """Change files of a NIC's port."""
        folder = self.sys / "class/infiniband" / f"mlx5_{nic}" / "ports/1"
        for name, value in values.items():
            (folder / name).write_text(f"{value}\n")

    def count(self, nic: int, **values: int) -> None:
        """Set counters of a NIC's port."""
        folder = self.sys / "class/infiniband" / f"mlx5_{nic}" / "ports/1/hw_counters"
        folder.mkdir(exist_ok=True)
        for name, value in values.items():
            (folder / name).write_text(f"{value}\n")

    def receives(self, netdev: str, *queues: tuple[str, str], state: str = "up") -> None:
        """Give an interface receive queues, each as rps_cpus and rps_flow_cnt."""
        folder = self.sys / "class/net" / netdev
        for at, (cpus, flows) in enumerate(queues):
            queue = folder / f"queues/rx-{at}"
            queue.mkdir(parents=True, exist_ok=True)
            (queue / "rps_cpus").write_text(f"{cpus}\n")
            (queue / "rps_flow_cnt").write_text(f"{flows}\n")
        (folder / "queues/tx-0").mkdir(exist_ok=True)
        (folder / "operstate").write_text(f"{state}\n")

    def flows(self, entries: int) -> None:
        """Set net.core.rps_sock_flow_entries."""
        path = self.proc / "sys/net/core/rps_sock_flow_entries"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{entries}\n")

    def function(self, address: str) -> Path:
        """The folder of a PCI function."""
        return (self.sys / "bus/pci/devices" / address).resolve()

    def unplug(self, address: str) -> None:
        """Take a PCI function, its VFs and its RDMA device away."""
        for virtual in sorted(self.function(address).glob("virtfn*")):
            if virtual.exists():
                self.unplug(virtual.resolve().name)
        for one in (self.sys / "class/infiniband").glob("*"):
            if f"/{address}/" in str(one.resolve()):
                one.unlink()
        folder = self.function(address)
        (self.sys / "bus/pci/devices" / address).unlink()
        shutil.rmtree(folder)

    def boot(self, identifier: str) -> None:
        """Boot anew."""
        (self.proc / "sys/kernel/random/boot_id").write_text(f"{identifier}\n")


def made(folder: Path, shape: Topology, *, vfs: int = 0) -> Machine:
    """The trees of a node of this shape, each NIC with so many VFs."""
    gpus = tuple(f"0000:{0x20 + at:02x}:00.0" for at in range(len(shape.gpus)))
    nics = tuple(f"0000:{0x60 + at:02x}:00.0" for at in range(len(shape.nics)))
    paths = _paths(shape, (*gpus, *nics))
    functions = [*_bridges(paths), *_gpus(shape, gpus, paths), *_nics(shape, nics, paths, vfs)]
    captures.lay(folder / "sys", *functions)
    _lay_virtual(folder / "sys", nics, vfs)
    _lay_host(folder, gpus)
    return Machine(folder / "sys", folder / "proc", gpus, nics)


def socketed(shape: Topology) -> Topology:
    """The shape with NUMA nodes that its distances allow: what is nearer than SYS shares one."""
    parts = _parts(shape, frozenset(Tier) - {Tier.SYS})
    gpus = len(shape.gpus)
    nics = (replace(nic, numa=parts[gpus + at]) for at, nic in enumerate(shape.nics))
    return replace(shape, gpus=tuple(parts[:gpus]), nics=tuple(nics), judged=Judged.PCIE)


def expected(shape: Topology) -> tuple[tuple[Tier | None, ...], ...]:
    """The distances that /sys shows: host bridges of one socket are NODE there, never PHB or SYS.

    AWS's file has PHB for them, and nvidia-smi has SYS for all pairs of a GB200. Without a NUMA
    node the distance is unknown.
    """
    apart = shape.judged is Judged.NUMA or any(Tier.GROUP in row for row in shape.tiers)
    return tuple(
        tuple(
            _by_numa(shape.gpus[gpu], shape.nics[nic].numa)
            if tier not in SWITCHED and (apart or tier is not Tier.PHB)
            else tier
            for nic, tier in enumerate(row)
        )
        for gpu, row in enumerate(shape.tiers)
    )


def trees(folder: Path) -> Trees:
    """What an agent reads of a node."""
    found = tree.read(folder / "sys", (*host.SYS, *sysfs.BARE))
    proc = folder / "proc"
    known = tree.read(proc, host.PROC).files if proc.is_dir() else {}
    return Trees(found.files, found.links, known)


def _by_numa(one: int | None, other: int | None) -> Tier | None:
    if one is None or other is None:
        return None
    return Tier.NODE if one == other else Tier.SYS


def _paths(shape: Topology, addresses: Sequence[str]) -> list[str]:
    """The path of each device: host bridge, two or three bridges, device."""
    grouped = any(Tier.GROUP in row for row in shape.tiers)
    roots = _parts(shape, SWITCHED if grouped else _ROOTED)
    upper, lower = _parts(shape, _BELOW), _parts(shape, {Tier.PIX})
    paths = []
    for at, address in enumerate(addresses):
        root, top, low = roots[at], upper[at], lower[at]
        flat = any(
            Tier.GROUP in _tiers_of(shape, one)
            for one in range(len(addresses))
            if roots[one] == root
        )
        bridges = "" if flat else f"0001:{top:02x}:00.0/0002:{low:02x}:00.0/0003:{low:02x}:00.0/"
        paths.append(f"pci0000:{root:02x}/{bridges}{address}")
    return paths


def _tiers_of(shape: Topology, device: int) -> Iterable[Tier | None]:
    gpus = len(shape.gpus)
    if device < gpus:
        return shape.tiers[device]
    return tuple(row[device - gpus] for row in shape.tiers)


def _parts(shape: Topology, near: frozenset[Tier] | set[Tier]) -> list[int]:
    """For each device the first of those that it is connected with by such distances."""
    gpus = len(shape.gpus)
    part = list(range(gpus + len(shape.nics)))
    for gpu, row in enumerate(shape.tiers):
        for nic, tier in enumerate(row):
            if tier in near:
                old, new = part[gpus + nic], part[gpu]
                part = [min(old, new) if one in {old, new} else one for one in part]
    return part


def _bridges(paths: Iterable[str]) -> list[Function]:
    found = dict.fromkeys(
        "/".join(path.split("/")[: depth + 1])
        for path in paths
        for depth in range(1, path.count("/"))
    )
    return [captures.bridge(one) for one in found]


def _gpus(shape: Topology, addresses: Sequence[str], paths: Sequence[str]) -> list[Function]:
    device = "0x2941" if shape.judged is Judged.NUMA else "0x2330"
    numas = (-1 if numa is None else numa for numa in shape.gpus)
    return [
        captures.gpu(path, numa, device)
        for path, numa in zip(paths[: len(addresses)], numas, strict=True)
    ]


def _nics(
    shape: Topology, addresses: Sequence[str], paths: Sequence[str], vfs: int
) -> list[Function]:
    found = []
    for at, (nic, path) in enumerate(zip(shape.nics, paths[len(shape.gpus) :], strict=True)):
        numa = -1 if nic.numa is None else nic.numa
        port = {"state": "4: ACTIVE", "rate": "400 Gb/sec (4X NDR)", "link_layer": "Ethernet"}
        found.append(captures.nic(path, f"mlx5_{at}", numa, netdev=f"rail{at}", port=port))
        for number in range(1, vfs + 1):
            place = path[:-1] + str(number)
            found.append(captures.nic(place, f"vf{at}_{number}", numa, physical=addresses[at]))
    return found


def _lay_virtual(sys: Path, nics: Sequence[str], vfs: int) -> None:
    for address in nics:
        folder = (sys / "bus/pci/devices" / address).resolve()
        (folder / "sriov_numvfs").write_text(f"{vfs}\n")
        for number in range(vfs):
            (folder / f"virtfn{number}").symlink_to(f"../{address[:-1]}{number + 1}")


def _lay_host(folder: Path, gpus: Sequence[str]) -> None:
    files: dict[str, str] = {
        "proc/sys/kernel/random/boot_id": f"{BOOT}\n",
        "proc/sys/kernel/osrelease": "6.8.0-1014-nvidia\n",
        "proc/self/limits": LIMITS.format("8388608", "8388608"),
        "proc/driver/nvidia/version": VERSION,
        "sys/module/ib_core/parameters/netns_mode": "Y\n",
    }
    for at, address in enumerate(gpus):
        told = INFORMATION.format(UUID.format(at), address)
        files[f"proc/driver/nvidia/gpus/{address}/information"] = told
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for vendor in (folder / "sys/bus/pci/devices").glob("*/vendor"):
        (vendor.parent / "config").write_bytes(b"\xde\x10" + bytes(62))

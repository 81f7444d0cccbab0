"""PCI addresses, kernel paths, and how far two devices are apart by them.

The levels are NVML's (nvml.h 12, nvmlGpuTopologyLevel_t): PIX at most one switch, PXB several, PHB
the host bridge, NODE another host bridge of the same NUMA node, SYS the other socket.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from podrail.topology import Tier

ADDRESS: Final = re.compile(r"([0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]")
_ROOT: Final = re.compile(r"pci[0-9a-f]{4,8}:[0-9a-f]{2}")
_UNPLACED: Final = (1 << 32,)


def canonical(address: str) -> str:
    """An address as DDDD:BB:DD.F in lower case: nvidia-smi writes eight digits of domain."""
    text = address.strip().lower()
    if not ADDRESS.fullmatch(text):
        return ""
    domain, bus, function = ("0000:" + text).split(":")[-3:]
    return f"{int(domain, 16):04x}:{bus}:{function}"


def order(address: str) -> tuple[int, ...]:
    """What sorts addresses as the PCI bus numbers devices; unknown ones come last."""
    parts = re.split(r"[:.]", address)
    return tuple(int(part, 16) for part in parts) if address else _UNPLACED


@dataclass(frozen=True, slots=True)
class Place:
    """Where a device is: its host bridge, the bridges below it down to the device, its NUMA node.

    Bridges of the device's own package are left out of the path.
    """

    path: tuple[str, ...]
    numa: int | None

    @property
    def direct(self) -> bool:
        """True if nothing lies between host bridge and device, as virtual machines show it."""
        return len(self.path) == 2  # noqa: PLR2004 - the host bridge and the device

    @property
    def root(self) -> str:
        """The host bridge."""
        return self.path[0]


def split(path: str) -> tuple[str, ...]:
    """A kernel path from its last host bridge (pciDDDD:BB) on; empty if it has none.

    On Hyper-V the host bridge itself lies deep below /sys/devices.
    """
    parts = path.strip("/").split("/")
    roots = [at for at, part in enumerate(parts) if _ROOT.fullmatch(part)]
    if not roots:
        return ()
    below = [part for part in parts[roots[-1] + 1 :] if ADDRESS.fullmatch(part)]
    return (parts[roots[-1]], *below)


def tier(one: Place, other: Place, *, switched: bool) -> Tier | None:
    """How far two devices are apart; None if the NUMA nodes that would tell are unknown.

    Switched says that host bridges stand for switches here (`switches`).
    """
    if one.root != other.root:
        if one.numa is None or other.numa is None:
            return None
        return Tier.NODE if one.numa == other.numa else Tier.SYS
    if one.direct and other.direct and switched:
        return Tier.GROUP
    shared = _shared(one.path, other.path)
    if shared == 1:
        return Tier.PHB
    # Two functions of one card share everything, the last bridge too.
    below = max(len(place.path) - 1 - shared for place in (one, other))
    return Tier.PIX if below <= 1 else Tier.PXB


def switches(gpus: Sequence[Place]) -> bool:
    """True if a hypervisor shows each PCIe switch as a host bridge of its own.

    AWS p4d: GPUs and their EFA are children of pci0000:10, 20, 90 and a0, with no bridge between,
    and run at the speed of a shared switch (dranet's gpu-efa example, 2026). A flat virtual machine
    has everything on one root, which says nothing.
    """
    return len({gpu.root for gpu in gpus if gpu.direct}) > 1


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    most = min(len(one), len(other)) - 1
    return next((at for at in range(most) if one[at] != other[at]), most)

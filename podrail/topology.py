"""A node's GPUs, NICs and the PCIe distance of each pair, as one value.

What a distance is worth follows NCCL (graph/paths.cc, 2026-06): GPUDirect RDMA is on by default up
to PXB; any path through a CPU is PHB to NCCL, and NODE in nvidia-smi's words is PHB as well. GPUs
on C2C (Grace) reach NICs through the CPU at full speed, so there the NUMA node decides.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Final


class Tier(StrEnum):
    """The distance of a GPU and a NIC, nearest first; GROUP is PIX or PXB, not known which."""

    PIX = "PIX"
    PXB = "PXB"
    GROUP = "GROUP"
    PHB = "PHB"
    NODE = "NODE"
    SYS = "SYS"


class Evidence(StrEnum):
    """Where a topology comes from, best first (design §6; what it leaves open stands between)."""

    OVERRIDE = "override"
    NODERAILS = "noderails"
    SYSFS = "sysfs"
    DRA = "dra"
    NCCL_XML = "nccl-xml"
    SMI = "nvidia-smi"
    CATALOG = "catalog"
    ROCM = "rocm-smi"
    NRT = "noderesourcetopology"
    NONE = "none"


class Confidence(StrEnum):
    """How far a topology can be trusted."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class Judged(StrEnum):
    """What decides whether a pair is aligned on this kind of machine."""

    PCIE = "pcie"
    NUMA = "numa"


class Role(StrEnum):
    """What a NIC is for; the front end is management."""

    RAIL = "rail"
    STORAGE = "storage"
    MANAGEMENT = "management"


class RailSource(StrEnum):
    """Who says which rail a NIC is, best first; PCI is the order of addresses, which is a guess."""

    OVERRIDE = "override"
    NCCL = "nccl"
    LABEL = "label"
    PCI = "pci"


class State(StrEnum):
    """What a NIC's port says of its link."""

    UP = "up"
    DOWN = "down"
    SUSPECT = "suspect"


WORTH: Final[Mapping[Tier | None, float]] = {
    Tier.PIX: 1.0,
    Tier.PXB: 1.0,
    Tier.GROUP: 1.0,
    Tier.PHB: 0.5,
    Tier.NODE: 0.5,
    Tier.SYS: 0.2,
    None: 0.4,
}
"""The share of a NIC's bandwidth to expect: measured cross-socket pairs run at 1/2 to 1/7."""
ALIGNED: Final = 1.0
SWITCHED: Final = frozenset({Tier.PIX, Tier.PXB, Tier.GROUP})
"""The distances that no CPU lies on."""
MEASURED: Final = frozenset(
    {Evidence.OVERRIDE, Evidence.NODERAILS, Evidence.SYSFS, Evidence.NCCL_XML, Evidence.SMI}
)
"""Evidence about this very node; the rest is about its kind, or about groups of devices."""


@dataclass(frozen=True, slots=True)
class Gpu:
    """What is known of a GPU besides its NUMA node; empty is unknown, pci is DDDD:BB:DD.F."""

    id: str = ""
    pci: str = ""
    product: str = ""
    healthy: bool = True


@dataclass(frozen=True, slots=True)
class Nic:
    """An RDMA device: its rail, if it is one, and its NUMA node, if that is known."""

    name: str
    rail: int | None
    numa: int | None
    label: str = ""
    """What the evidence calls it, such as the column NIC0."""
    device: str = ""
    """The name below /sys/class/infiniband."""
    pci: str = ""
    netdev: str = ""
    rail_source: RailSource | None = None
    role: Role | None = None
    link: str = ""
    state: State | None = None
    gbps: int | None = None
    resource: str = ""


@dataclass(frozen=True)
class Topology:
    """One node's, or one shape's; tiers[g][n] is None where the distance is unknown."""

    shape: str
    gpus: tuple[int | None, ...]
    """The NUMA node of each GPU."""
    nics: tuple[Nic, ...]
    tiers: tuple[tuple[Tier | None, ...], ...]
    judged: Judged
    evidence: Evidence
    """Where the distances come from."""
    cards: tuple[Gpu, ...] = ()
    """The GPUs once more, as far as more is known of them; else empty."""
    sources: tuple[tuple[str, Evidence], ...] = ()
    """Which evidence gave what, if there was more than one: (part, evidence)."""
    missing: tuple[int, ...] = ()
    """The GPUs of which the evidence says nothing."""
    partial: bool = False
    """True where the evidence itself leaves devices out."""
    warnings: tuple[str, ...] = ()

    def __hash__(self) -> int:
        """Counted once: a topology is the key of caches that are asked on every call."""
        return self._hash

    @cached_property
    def _hash(self) -> int:
        parts = (self.shape, self.gpus, self.nics, self.tiers, self.judged, self.evidence)
        return hash((*parts, self.cards))

    @cached_property
    def rails(self) -> tuple[int, ...]:
        """The rails of the node, ascending."""
        return tuple(sorted({nic.rail for nic in self.nics if nic.rail is not None}))

    @cached_property
    def worth(self) -> Mapping[int, tuple[float, ...]]:
        """For each rail, what its best NIC is worth to each GPU, from 0 to 1."""
        return {
            rail: tuple(
                max(self._worth(gpu, at) for at, nic in enumerate(self.nics) if nic.rail == rail)
                for gpu in range(len(self.gpus))
            )
            for rail in self.rails
        }

    @cached_property
    def best(self) -> Tier | None:
        """The nearest distance on this node, which is all that it can offer."""
        found = {tier for row in self.tiers for tier in row}
        return next((tier for tier in Tier if tier in found), None)

    @cached_property
    def groups(self) -> tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]:
        """The GPUs and the NICs (by position) of each PCIe switch, as far as distances tell."""
        found: dict[tuple[int, ...], list[int]] = {}
        for at in range(len(self.nics)):
            near = tuple(gpu for gpu, row in enumerate(self.tiers) if row[at] in SWITCHED)
            if near:
                found.setdefault(near, []).append(at)
        return tuple((gpus, tuple(nics)) for gpus, nics in found.items())

    @property
    def complete(self) -> bool:
        """True if no device is left out and every distance is known."""
        return not (self.partial or self.missing or any(None in row for row in self.tiers))

    @property
    def confidence(self) -> Confidence:
        """High if it was read from this node, medium if from its kind, low if it has holes."""
        if not self.complete or self.evidence is Evidence.NONE:
            return Confidence.LOW
        return Confidence.HIGH if self.evidence in MEASURED else Confidence.MEDIUM

    def tier(self, gpu: int, rail: int) -> Tier | None:
        """The nearest tier at which the GPU reaches the rail."""
        found = [self.tiers[gpu][at] for at, nic in enumerate(self.nics) if nic.rail == rail]
        order = [*Tier, None]
        return min(found, key=order.index, default=None)

    def numa_of(self, rail: int) -> int | None:
        """The NUMA node of the rail's first NIC."""
        return next((nic.numa for nic in self.nics if nic.rail == rail), None)

    def card(self, gpu: int) -> Gpu:
        """What else is known of a GPU."""
        return self.cards[gpu] if self.cards else Gpu()

    def _worth(self, gpu: int, at: int) -> float:
        if self.judged is Judged.PCIE:
            return WORTH[self.tiers[gpu][at]]
        here, there = self.gpus[gpu], self.nics[at].numa
        if here is None or there is None:
            return WORTH[None]
        return ALIGNED if here == there else WORTH[Tier.SYS]

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
    """Where a topology comes from, best first (design §6)."""

    OVERRIDE = "override"
    NODERAILS = "noderails"
    DRA = "dra"
    NCCL_XML = "nccl-xml"
    CATALOG = "catalog"
    NONE = "none"


class Judged(StrEnum):
    """What decides whether a pair is aligned on this kind of machine."""

    PCIE = "pcie"
    NUMA = "numa"


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


@dataclass(frozen=True, slots=True)
class Nic:
    """An RDMA device: its rail, if it is one, and its NUMA node, if that is known."""

    name: str
    rail: int | None
    numa: int | None


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

    def tier(self, gpu: int, rail: int) -> Tier | None:
        """The nearest tier at which the GPU reaches the rail."""
        found = [self.tiers[gpu][at] for at, nic in enumerate(self.nics) if nic.rail == rail]
        order = [*Tier, None]
        return min(found, key=order.index, default=None)

    def numa_of(self, rail: int) -> int | None:
        """The NUMA node of the rail's first NIC."""
        return next((nic.numa for nic in self.nics if nic.rail == rail), None)

    def _worth(self, gpu: int, at: int) -> float:
        if self.judged is Judged.PCIE:
            return WORTH[self.tiers[gpu][at]]
        here, there = self.gpus[gpu], self.nics[at].numa
        if here is None or there is None:
            return WORTH[None]
        return ALIGNED if here == there else WORTH[Tier.SYS]

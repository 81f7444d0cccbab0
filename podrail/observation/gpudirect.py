"""Whether NICs of a node can read and write the memory of its GPUs, and why or why not.

Two ways are known: a peer memory client of the RDMA stack (nvidia_peermem), and dma-buf, which
takes Linux 5.12 and NVIDIA's open kernel module (GPU Operator 25.3 documentation), or amdgpu.
Proven is only what has been done in this boot; what merely hinders is said and decides nothing.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from podrail.evidence.noderails import Verdict
from podrail.observation import host
from podrail.observation.host import Trees
from podrail.topology import SWITCHED, Judged, Topology

_DMABUF: Final = (5, 12)
_RELEASE: Final = re.compile(r"(\d+)\.(\d+)")
_PEERS: Final = ("nvidia_peermem", "nv_peer_mem")
_TRANSLATED: Final = ("DMA", "DMA-FQ")
"""The types of an IOMMU group whose addresses are translated (iommu.c, Linux 6.12)."""


def judge(
    trees: Trees, topology: Topology, redirected: Iterable[str]
) -> tuple[Verdict | None, tuple[str, ...]]:
    """The verdict, None without GPUs or NICs, and its reasons.

    redirected has the bridges whose ACS sends peer traffic up to the CPU.
    """
    if not topology.gpus or not topology.nics:
        return None, ()
    proofs = tuple(_proofs(trees))
    ways = tuple(_ways(trees))
    hindrances = tuple(_hindrances(trees, topology, redirected))
    if proofs:
        return Verdict.PROVEN, proofs + hindrances
    if ways:
        return Verdict.POSSIBLE, ways + hindrances
    return Verdict.NO, (*_missing(trees), *hindrances)


def _proofs(trees: Trees) -> Iterator[str]:
    """What the RDMA stack of MLNX_OFED counts: bytes of GPU memory registered in this boot."""
    for path, text in sorted(trees.files.items()):
        if path.startswith("kernel/mm/memory_peers/") and text.strip() not in {"", "0"}:
            yield f"{path.split('/')[3]} has registered GPU memory"


def _ways(trees: Trees) -> Iterator[str]:
    for module in _PEERS:
        if f"module/{module}/refcnt" in trees.files:
            yield f"{module} is loaded"
    text = trees.proc.get("driver/nvidia/version", "")
    if _new_enough(trees):
        if host.OPEN in text:
            yield "dma-buf: NVIDIA's open kernel module"
        if "module/amdgpu/refcnt" in trees.files:
            yield "dma-buf: amdgpu"


def _missing(trees: Trees) -> Iterator[str]:
    yield "no peer memory client: nvidia_peermem is not loaded"
    if not _new_enough(trees):
        release = trees.proc.get("sys/kernel/osrelease", "").strip()[:64] or "unknown"
        yield f"no dma-buf: kernel {release}, expected 5.12 or newer"
    elif driver := host.driver(trees.proc):
        yield f"no dma-buf: driver {driver} has no open kernel module"
    else:
        yield "no dma-buf: no GPU driver is loaded"


def _hindrances(trees: Trees, topology: Topology, redirected: Iterable[str]) -> Iterator[str]:
    if topology.judged is Judged.PCIE and topology.best not in SWITCHED:
        near = topology.best or "unknown"
        yield f"tier {near}: no GPU and NIC are below one switch, so NCCL leaves it off"
    bridges = sorted(redirected)
    if bridges:
        yield f"ACS sends peer traffic through the CPU at {len(bridges)} bridges: {bridges[0]}"
    addresses = [nic.pci for nic in topology.nics] + [card.pci for card in topology.cards]
    kinds = (
        trees.files.get(f"bus/pci/devices/{one}/iommu_group/type", "").strip() for one in addresses
    )
    if any(kind in _TRANSLATED for kind in kinds):
        yield "IOMMU: addresses are translated; expected passthrough (iommu=pt)"


def _new_enough(trees: Trees) -> bool:
    match = _RELEASE.match(trees.proc.get("sys/kernel/osrelease", ""))
    return match is not None and (int(match[1]), int(match[2])) >= _DMABUF

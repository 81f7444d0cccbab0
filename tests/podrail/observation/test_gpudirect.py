"""The verdict on GPUDirect, and that it names its reasons."""

from dataclasses import replace

import pytest
from placing import SHAPES

from podrail.evidence.noderails import Verdict
from podrail.observation import gpudirect
from podrail.observation.host import Trees
from podrail.topology import Gpu, Tier, Topology

SWITCHED = replace(SHAPES["hgx-h100-8nic"], cards=tuple(Gpu(pci=f"g{at}") for at in range(8)))
OPEN = {
    "driver/nvidia/version": "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  x"
}
CLOSED = {"driver/nvidia/version": "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  x"}
NEW = {"sys/kernel/osrelease": "6.8.0-1014-nvidia\n"}
OLD = {"sys/kernel/osrelease": "5.4.0-42-generic\n"}
PEER = {"module/nvidia_peermem/refcnt": "0\n"}
COUNTED = {"kernel/mm/memory_peers/nv_mem/num_reg_bytes": "4096\n"}


def judged(
    files: dict[str, str], proc: dict[str, str], topology: Topology = SWITCHED
) -> tuple[Verdict | None, tuple[str, ...]]:
    return gpudirect.judge(Trees(files, {}, proc), topology, ())


@pytest.mark.parametrize(
    ("files", "proc", "verdict", "reason"),
    [
        (PEER, OLD | CLOSED, Verdict.POSSIBLE, "nvidia_peermem is loaded"),
        ({}, NEW | OPEN, Verdict.POSSIBLE, "dma-buf: NVIDIA's open kernel module"),
        ({"module/amdgpu/refcnt": "3"}, NEW, Verdict.POSSIBLE, "dma-buf: amdgpu"),
        (COUNTED | PEER, NEW, Verdict.PROVEN, "nv_mem has registered GPU memory"),
        ({}, NEW | CLOSED, Verdict.NO, "no dma-buf: driver 550.54.15 has no open kernel module"),
        ({}, OLD | OPEN, Verdict.NO, "no dma-buf: kernel 5.4.0-42-generic, expected 5.12 or newer"),
        ({}, NEW, Verdict.NO, "no dma-buf: no GPU driver is loaded"),
    ],
    ids=["peermem", "open", "amd", "counted", "closed", "kernel", "driver"],
)
def test_a_verdict_has_its_reason(
    files: dict[str, str], proc: dict[str, str], verdict: Verdict, reason: str
) -> None:
    """A way makes it possible, bytes counted in this boot prove it, no way is no."""
    found, reasons = judged(files, proc)
    assert verdict is found
    assert reason in reasons


def test_hindrances_are_said_and_decide_nothing() -> None:
    """Distance, ACS, an IOMMU that translates."""
    far = replace(
        SHAPES["Standard_ND96isr_H100_v5"], cards=SWITCHED.cards, tiers=((Tier.SYS,) * 8,) * 8
    )
    trees = Trees(PEER | {"bus/pci/devices/g3/iommu_group/type": "DMA-FQ\n"}, {}, NEW)
    verdict, reasons = gpudirect.judge(trees, far, ["0000:02:00.0", "0000:01:00.0"])
    assert Verdict.POSSIBLE is verdict
    assert (
        "tier SYS: no GPU and NIC are below one switch, so NCCL leaves it off",
        "ACS sends peer traffic through the CPU at 2 bridges: 0000:01:00.0",
        "IOMMU: addresses are translated; expected passthrough (iommu=pt)",
    ) == reasons[1:]


def test_gpus_on_c2c_need_no_switch() -> None:
    """The CPU is no hindrance to a GB200."""
    grace = replace(SHAPES["Standard_ND128isr_GB300_v6"], cards=SWITCHED.cards[:4])
    _, reasons = judged(PEER, NEW, grace)
    assert ("nvidia_peermem is loaded",) == reasons


def test_without_gpus_or_nics_there_is_no_verdict() -> None:
    """Nothing is asked."""
    assert (None, ()) == judged(PEER, NEW, replace(SWITCHED, nics=()))

"""Several kinds of evidence: each part from the best that knows it, and who gave it."""

from __future__ import annotations

from dataclasses import replace

import captures
import placing
import pytest

from podrail.evidence import merge, nccl_xml, rocm, smi
from podrail.topology import Evidence, Gpu, Judged, Nic, RailSource, State, Tier, Topology


def node(evidence: Evidence, *rows: str, **fields: object) -> Topology:
    """Two GPUs and two NICs with addresses."""
    tiers = tuple(
        tuple(None if word == "?" else Tier(word) for word in row.split()) for row in rows
    )
    base = Topology(
        shape="",
        gpus=(None, None),
        nics=tuple(Nic(f"mlx5_{at}", None, None, pci=f"0000:0{at}:00.0") for at in range(2)),
        tiers=tiers or ((None, None), (None, None)),
        judged=Judged.PCIE,
        evidence=evidence,
        cards=tuple(Gpu(pci=f"0000:a{at}:00.0") for at in range(2)),
    )
    return replace(base, **fields)  # type: ignore[arg-type]  # the tests name real fields


def merged(*evidence: Topology) -> Topology:
    found = merge.merge(evidence)
    assert found is not None
    return found


def test_nothing_and_one_need_no_merging() -> None:
    """One stays the very same value."""
    only = node(Evidence.DRA, "PIX SYS", "SYS PIX")
    assert (None, True) == (merge.merge([]), merged(only) is only)


@pytest.mark.parametrize("swapped", [False, True])
def test_a_distance_is_taken_from_the_best_that_knows_it(swapped: bool) -> None:
    """Whatever the order they come in; sources say who gave some of them."""
    sysfs = node(Evidence.SYSFS, "PIX ?", "? ?")
    shape = node(Evidence.CATALOG, "SYS PHB", "? PXB", gpus=(0, 1), shape="s")
    found = merged(*([shape, sysfs] if swapped else [sysfs, shape]))
    assert (("PIX", "PHB"), (None, "PXB")) == found.tiers
    assert ((0, 1), "s", Evidence.SYSFS) == (found.gpus, found.shape, found.evidence)
    assert (
        ("gpus", Evidence.SYSFS),
        ("nics", Evidence.SYSFS),
        ("tiers", Evidence.SYSFS),
        ("tiers", Evidence.CATALOG),
        ("numa", Evidence.CATALOG),
    ) == found.sources


def test_devices_are_the_same_by_address() -> None:
    """Another order in the other evidence moves nothing."""
    sysfs = node(Evidence.SYSFS)
    other = node(Evidence.NCCL_XML, "PIX SYS", "PHB PXB")
    turned = replace(other, nics=other.nics[::-1], cards=other.cards[::-1])
    assert (("PXB", "PHB"), ("SYS", "PIX")) == merged(sysfs, turned).tiers


def test_nics_without_addresses_are_the_same_by_name() -> None:
    """nvidia-smi names the devices and numbers the GPUs."""
    text = smi.read(captures.matrix("hgx-h100_8nic_pix"), "x")
    nics = tuple(Nic(f"mlx5_{at}", None, 0, pci=f"0000:0{at}:00.0") for at in reversed(range(8)))
    sysfs = replace(text, nics=nics, tiers=((None,) * 8,) * 8, evidence=Evidence.SYSFS)
    found = merged(sysfs, text)
    assert ("SYS", "SYS", "SYS", "SYS", "NODE", "NODE", "NODE", "PIX") == found.tiers[0]
    assert True is found.complete


def test_two_ports_with_one_address_are_told_by_name() -> None:
    """An address that is not one NIC's alone tells nothing."""
    nics = (
        Nic("mlx5_0", None, None, pci="0000:00:00.0"),
        Nic("mlx5_1", None, None, pci="0000:00:00.0"),
    )
    one, other = node(Evidence.SYSFS, nics=nics), node(Evidence.NCCL_XML, "PIX SYS", "SYS PIX")
    assert (("SYS", "PIX"), ("PIX", "SYS")) == merged(one, replace(other, nics=nics[::-1])).tiers


def test_a_count_by_numa_node_gives_no_gpu_its_node() -> None:
    """Its GPUs have no order: DGX A100 counts from NUMA node 3."""
    counted = node(Evidence.NRT, "NODE SYS", "SYS NODE", gpus=(0, 1), cards=())
    assert (None, None) == merged(node(Evidence.SYSFS), counted).gpus


def test_rocm_adds_numa_nodes() -> None:
    """By position, as it counts GPUs in the order of their addresses."""
    amd = rocm.read(captures.text("amd/mi300a_4apu_xgmi.txt"), "x")
    sysfs = replace(node(Evidence.SYSFS), gpus=(None,) * 4, tiers=((None, None),) * 4, cards=())
    assert (0, 1, 2, 3) == merged(sysfs, amd).gpus


def test_the_catalog_completes_a_platforms_file() -> None:
    """AWS's p5 file lists the NICs, the catalog the GPUs; the NICs of both are the same."""
    file = nccl_xml.read(captures.text("xml/p5.48xlarge-topo.xml"), "x")
    known = placing.SHAPES["p5.48xlarge"]
    found = merged(file, known)
    assert (known.gpus, known.tiers, known.rails) == (found.gpus, found.tiers, found.rails)


def test_rails_are_taken_whole_from_the_best_source() -> None:
    """NCCL's before a guess, even from worse evidence; two numberings do not mix."""
    guess, nccl = ((7, RailSource.PCI), (8, RailSource.PCI)), ((1, RailSource.NCCL), (None, None))
    one, other = (
        node(evidence, nics=tuple(replace(nic, rail=rail, rail_source=source) for nic, (rail, source) in zip(node(evidence).nics, said, strict=True)))
        for evidence, said in ((Evidence.SYSFS, guess), (Evidence.NCCL_XML, nccl))
    )  # fmt: skip
    found = [(nic.rail, nic.rail_source) for nic in merged(one, other).nics]
    assert [(1, RailSource.NCCL), (None, None)] == found


def test_an_override_corrects_single_devices() -> None:
    """Without distances it adds no device and takes none away."""
    nics = (
        Nic("b", 9, None, pci="0000:01:00.0", rail_source=RailSource.OVERRIDE, state=State.SUSPECT),
    )
    admin = replace(node(Evidence.OVERRIDE), gpus=(), cards=(), tiers=(), nics=nics)
    guess = tuple(
        replace(nic, rail=at, rail_source=RailSource.PCI)
        for at, nic in enumerate(node(Evidence.SYSFS).nics)
    )
    found = merged(node(Evidence.SYSFS, "PIX SYS", "SYS PIX", nics=guess), admin)
    assert [(0, RailSource.PCI), (9, RailSource.OVERRIDE)] == [
        (nic.rail, nic.rail_source) for nic in found.nics
    ]
    assert (State.SUSPECT, 2) == (found.nics[1].state, len(found.gpus))


def test_an_override_with_distances_describes_the_node() -> None:
    """Devices that it does not list are not there."""
    admin = node(Evidence.OVERRIDE, "PIX", "SYS", nics=(Nic("only", 0, 0),))
    found = merged(node(Evidence.SYSFS, "SYS SYS", "SYS SYS"), admin)
    assert (["only"], (("PIX",), ("SYS",))) == ([nic.name for nic in found.nics], found.tiers)


def test_one_that_knows_c2c_decides_by_numa() -> None:
    """The others cannot tell, so they do not contradict it."""
    assert (
        Judged.NUMA
        is merged(node(Evidence.SYSFS), node(Evidence.CATALOG, judged=Judged.NUMA)).judged
    )


def test_a_gpu_is_ill_if_any_evidence_says_so() -> None:
    """Health is never outvoted."""
    ill = node(
        Evidence.NODERAILS, cards=(Gpu(pci="0000:a0:00.0", healthy=False), Gpu(pci="0000:a1:00.0"))
    )
    found = merged(ill, node(Evidence.SYSFS))
    assert [False, True] == [card.healthy for card in found.cards]

"""Which NIC is which rail, and who says so."""

from __future__ import annotations

from dataclasses import replace

import captures
import placing
import pytest

from podrail.evidence import rails, smi
from podrail.topology import Evidence, Judged, Nic, RailSource, Role, Tier, Topology


def node(*rows: str, **fields: object) -> Topology:
    """A node by its matrix, NIC n being mlx5_n."""
    tiers = tuple(
        tuple(None if word == "?" else Tier(word) for word in row.split()) for row in rows
    )
    nics = tuple(Nic(f"mlx5_{at}", None, None, device=f"mlx5_{at}") for at in range(len(tiers[0])))
    base = Topology("", (None,) * len(rows), nics, tiers, Judged.PCIE, Evidence.SMI)
    return replace(base, **fields)  # type: ignore[arg-type]  # the tests name real fields


def numbers(topology: Topology) -> list[int | None]:
    return [nic.rail for nic in rails.numbered(topology).nics]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param(["PIX NODE", "NODE PIX"], [0, 1], id="one each"),
        pytest.param(["PXB PXB", "PXB PXB"], [0, 1], id="pairs"),
        pytest.param(["PIX PXB NODE", "PXB PIX NODE"], [0, 1, None], id="front end"),
        pytest.param(["PIX NODE SYS", "NODE NODE SYS"], [0, None, None], id="half rails"),
        pytest.param(["NODE NODE SYS SYS", "SYS SYS NODE NODE"], [0, 0, 1, 1], id="two ports each"),
        pytest.param(["PIX PIX PIX PIX NODE", "NODE NODE NODE NODE PIX"], [0, 0, 0, 0, 1], id="four NICs to a GPU"),
        pytest.param(["PXB PXB PXB PXB"] * 2, [0, 0, 1, 1], id="four NICs to a pair"),
        pytest.param(["GROUP PHB", "GROUP PHB", "PHB GROUP", "PHB GROUP"], [0, 1], id="a NIC to a pair"),
        pytest.param(["NODE SYS", "SYS NODE"], [0, 1], id="no switch to be seen"),
        pytest.param(["SYS SYS", "SYS SYS"], [None, None], id="all far"),
        pytest.param(["? ?", "? ?"], [None, None], id="all unknown"),
        pytest.param(["SYS PIX", "PIX SYS"], [0, 1], id="reversed, which nobody can see"),
    ],
)  # fmt: skip
def test_the_order_of_nics_is_the_guess(rows: list[str], expected: list[int | None]) -> None:
    """Near NICs only, no more rails in a group than it has GPUs, marked as a guess."""
    found = rails.numbered(node(*rows))
    assert expected == [nic.rail for nic in found.nics]
    assert {RailSource.PCI if rail is not None else None for rail in expected} == {
        nic.rail_source for nic in found.nics
    }


@pytest.mark.parametrize("name", ["dgx-h100", "dgx-a100", "hgx-h20-8nic", "p5.48xlarge", "p5en.48xlarge", "BM.GPU.H100.8", "Standard_ND96asr_v4", "Standard_ND128isr_GB300_v6"])  # fmt: skip
def test_the_guess_is_what_the_catalog_says(name: str) -> None:
    """Where sources gave rails or their order, from one NIC a GPU to four."""
    known = placing.SHAPES[name]
    bare = replace(known, nics=tuple(replace(nic, rail=None) for nic in known.nics))
    assert [nic.rail for nic in known.nics] == numbers(bare)


def test_addresses_order_nics_where_each_has_one() -> None:
    """Kernel names may be in another order than the bus."""
    nics = (Nic("a", None, None, pci="0000:9a:00.0"), Nic("b", None, None, pci="0000:1a:00.0"))
    assert [1, 0] == numbers(node("PIX PXB", "PXB PIX", nics=nics))
    assert [0, 1] == numbers(node("PIX PXB", "PXB PIX", nics=(nics[0], replace(nics[1], pci=""))))


def test_a_nic_with_another_role_is_no_rail() -> None:
    """However near: PowerEdge XE9680's north-south card is PIX to a GPU."""
    nics = (Nic("a", None, None, role=Role.MANAGEMENT), Nic("b", None, None))
    found = rails.numbered(node("PIX PIX", nics=nics))
    assert [(None, Role.MANAGEMENT), (0, Role.RAIL)] == [(nic.rail, nic.role) for nic in found.nics]


def test_a_port_that_is_down_keeps_its_number() -> None:
    """Else the others would move when a cable fails."""
    found = smi.read(captures.matrix("hgx-h100_8nic_pix"), "x")
    assert list(range(8)) == numbers(found)


def test_rails_that_are_known_stay() -> None:
    """NCCL's or an admin's numbers are not made up for by a guess."""
    nics = (Nic("a", 7, None, rail_source=RailSource.NCCL), Nic("b", None, None))
    found = rails.numbered(node("PIX PIX", nics=nics), {"b": "leaf-1"})
    assert [(7, RailSource.NCCL), (None, None)] == [
        (nic.rail, nic.rail_source) for nic in found.nics
    ]


def test_leaves_number_rails() -> None:
    """In the order of their names, by device or interface; a far NIC stays without."""
    base = node("PIX PIX SYS", "PIX PIX SYS")
    nics = (base.nics[0], replace(base.nics[1], netdev="ib1"), base.nics[2])
    leaf_of = {"mlx5_0": "leaf-10", "ib1": "leaf-9", "mlx5_2": "leaf-11"}
    found = rails.numbered(replace(base, nics=nics), leaf_of)
    assert [(1, RailSource.LABEL), (0, RailSource.LABEL), (None, None)] == [
        (nic.rail, nic.rail_source) for nic in found.nics
    ]


def test_leaves_come_from_labels() -> None:
    """CoreWeave's, as they are now, not as they were planned."""
    labels = {
        "ib.coreweave.cloud/neighbors.current.ibp0.device": "leaf-1",
        "ib.coreweave.cloud/neighbors.expected.ibp0.device": "leaf-2",
        "backend.coreweave.cloud/neighbors.current.ibp1.device": "",
        "kubernetes.io/hostname": "n",
    }
    assert {"ibp0": "leaf-1"} == rails.leaves(labels)


def test_by_numa_the_near_nics_are_rails() -> None:
    """Grace: all SYS in nvidia-smi's words, and the NUMA node decides."""
    nics = tuple(Nic(str(at), None, numa) for at, numa in enumerate((0, 0, 1, None, 2)))
    found = node("SYS SYS SYS SYS SYS", "SYS SYS SYS SYS SYS", gpus=(0, 1), nics=nics, judged=Judged.NUMA)  # fmt: skip
    assert [0, 0, 1, None, None] == numbers(found)

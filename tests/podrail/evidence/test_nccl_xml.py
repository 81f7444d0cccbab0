"""NCCL's XML: what platforms ship and what NCCL dumps, read without any document type."""

from __future__ import annotations

import captures
import placing
import pytest

from podrail.errors import MalformedError
from podrail.evidence import nccl_xml, rails
from podrail.topology import Judged, RailSource, Tier, Topology

DUMP = """<system version="2">
  <cpu host_hash="0x1" numaid="0" affinity="ff" arch="x86_64">
    <pci busid="0000:05:00.0" class="0x060400" vendor="0x15b3" device="0x1979">
      <pci busid="0000:08:00.0" class="0x060400" vendor="0x1022" device="0x1500">
        <pci busid="0000:0a:00.0" class="0x060400" vendor="0x1022" device="0x1500">
          <pci busid="0000:0c:00.0" class="0x120000"><gpu dev="1" sm="94" rank="0"/></pci>
        </pci>
      </pci>
      <pci busid="0000:07:00.0" class="0x020700">
        <nic>
          <net name="mlx5_4" dev="4" speed="200000" port="1" rail="5" gdr="1"/>
          <net name="mlx5_5" dev="5" speed="100000" port="2" rail="-1"/>
        </nic>
      </pci>
      <pci busid="0000:06:00.0" class="0x010802"/>
    </pci>
  </cpu>
  <cpu host_hash="0x1" numaid="-1">
    <pci busid="0000:90:00.0" class="0x030200"><gpu dev="0"/></pci>
  </cpu>
</system>"""


def read(text: str) -> Topology:
    return nccl_xml.read(text, "x.xml")


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("p4d.24xlarge", "p4d.24xlarge"),
        ("Standard-ND96asr-v4", "Standard_ND96asr_v4"),
        ("Standard-ND96isr-H100-v5", "Standard_ND96isr_H100_v5"),
    ],
)
def test_a_platforms_file_agrees_with_the_catalog(name: str, shape: str) -> None:
    """Addresses, NUMA nodes, distances and the order of rails."""
    found = rails.numbered(read(captures.text(f"xml/{name}-topo.xml")))
    known = placing.SHAPES[shape]
    assert [nic.pci for nic in known.nics] == [nic.pci for nic in found.nics]
    assert [card.pci for card in known.cards] == [card.pci for card in found.cards]
    assert (known.gpus, known.tiers, known.rails) == (found.gpus, found.tiers, found.rails)


def test_two_nics_may_serve_eight_gpus() -> None:
    """IBM's virtual machine: four GPUs have no NIC below their bridge."""
    found = read(captures.text("xml/a100-vm-8gpu-2nic-topo.xml"))
    expected = ["PIX SYS"] * 2 + ["PHB SYS"] * 2 + ["SYS PIX"] * 2 + ["SYS PHB"] * 2
    assert expected == [" ".join(str(tier) for tier in row) for row in found.tiers]


def test_a_file_without_bridges_tells_the_socket() -> None:
    """Azure NDv2: its one NIC is PHB to half of the GPUs."""
    found = read(captures.text("xml/Standard-ND40rs-v2-topo.xml"))
    assert (*[(Tier.PHB,)] * 4, *[(Tier.SYS,)] * 4) == found.tiers


@pytest.mark.parametrize(
    ("name", "nics", "told"),
    [
        ("p5.48xlarge", 32, "x.xml: 32 devices have no class, taken for NICs"),
        ("g5.48xlarge", 0, "x.xml: 9 devices have no class and are left out"),
    ],
)
def test_files_without_classes_are_read_as_far_as_they_go(name: str, nics: int, told: str) -> None:
    """AWS leaves it to sysfs: no GPUs, and NICs only where they are below a switch."""
    found = nccl_xml.read(captures.text(f"xml/{name}-topo.xml"), "x.xml")
    assert (nics, False) == (len(found.nics), found.complete)
    assert (told, "x.xml: no GPUs; NCCL takes them from sysfs") == found.warnings


def test_a_dump_has_names_speeds_and_rails() -> None:
    """Two ports of a card are two NICs; a rail of -1 is none; GPUs are in NCCL's order."""
    found = read(DUMP)
    assert ["0000:90:00.0", "0000:0c:00.0"] == [card.pci for card in found.cards]
    assert [("mlx5_4", 200, 5, RailSource.NCCL), ("mlx5_5", 100, None, None)] == [
        (nic.name, nic.gbps, nic.rail, nic.rail_source) for nic in found.nics
    ]
    assert ((None, None), (Tier.PIX, Tier.PIX)) == found.tiers
    assert ((None, 0), False) == (found.gpus, found.partial)


def test_gpus_on_c2c_are_judged_by_numa() -> None:
    """NCCL writes an element for the link to the CPU."""
    assert Judged.NUMA is read(DUMP.replace('<gpu dev="0"/>', '<gpu dev="0"><c2c/></gpu>')).judged


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "x.xml:1: no element found"),
        ("<system>\n<cpu></system>", "x.xml:2: mismatched tag"),
        ("<topology/>", "x.xml:1: expected the <system> of one host, got <topology>"),
        ("<system>\n<pci/></system>", "x.xml:2: expected <cpu> with a numaid"),
        ('<system>\n<cpu numaid="x"/></system>', "x.xml:2: expected <cpu> with a numaid"),
        (DUMP.replace("0000:0c:00.0", "0c"), "x.xml:6: expected a PCI address as busid, got '0c'"),
        (DUMP.replace("200000", "fast"), "x.xml:11: speed: expected a whole number, got 'fast'"),
        (DUMP.replace('"0x1" numaid="-1"', '"0x2" numaid="0"'), "x.xml:1: expected the <system> of one"),
        ("<pci>" * 40, "x.xml:1: expected at most 20000 elements, 32 deep"),
        ("<system>" + "<cpu/>" * 20_001, "x.xml:1: expected at most 20000 elements, 32 deep"),
        ('<!DOCTYPE a [<!ENTITY b "c">]><system/>', "x.xml:1: expected no document type"),
        ('<!DOCTYPE a SYSTEM "file:///etc/hosts"><system/>', "x.xml:1: expected no document type"),
    ],
)  # fmt: skip
def test_what_is_not_nccls_is_refused_with_its_line(text: str, told: str) -> None:
    """Above all entities: none is ever expanded or fetched."""
    with pytest.raises(MalformedError) as caught:
        read(text)
    assert [told] == [str(problem)[: len(told)] for problem in caught.value.problems]

"""A node's /sys: GPUs and RDMA devices by what they are, distances by paths, all traps known."""

from __future__ import annotations

from pathlib import Path

import captures
import pytest
from captures import Function, bridge, gpu, nic

from podrail.evidence import rails, sysfs
from podrail.topology import Judged, Nic, Role, State, Tier, Topology
from podrail_io import tree

ROOT = "pci0000:15/0000:15:01.0/0000:16:00.0"


def read(folder: Path, *functions: Function, others: tuple[str, ...] = ()) -> Topology:
    found = tree.read(captures.lay(folder, *functions, others=others), sysfs.PATTERNS)
    return sysfs.read(found.files, found.links, "sys")


def names(topology: Topology) -> list[str]:
    return [one.name for one in topology.nics]


@pytest.mark.parametrize(
    ("name", "expected", "warnings"),
    [
        (
            "32em64t-2n8c_dimms",
            ("mlx4_0", 1, 56, "0000:82:00.0"),
            ("sys: scif0 is no PCI device and is left out",),
        ),
        ("40intel64-2g2n4c_pcilocality", ("qib0", 2, 40, "0000:43:00.0"), ()),
    ],
)
def test_a_real_tree_reads_as_expected(
    name: str, expected: tuple[str, int, int, str], warnings: tuple[str, ...], tmp_path: Path
) -> None:
    """One HCA of an odd PCI class, no GPU (the VGA is the BMC's), a device that is not PCI."""
    found = tree.read(captures.snapshot(tmp_path, name), (*sysfs.PATTERNS, *sysfs.BARE))
    topology = sysfs.read(found.files, found.links, "sys")
    (only,) = topology.nics
    assert expected == (only.name, only.numa, only.gbps, only.pci)
    assert ((), warnings) == (topology.gpus, topology.warnings)


def test_gpus_and_nics_of_one_switch_are_aligned(tmp_path: Path) -> None:
    """Two GPUs with a NIC each: PIX to their own, NODE and SYS to others."""
    found = read(
        tmp_path,
        *(gpu(f"pci0000:{bus}/0000:{bus}:01.0/0000:{bus}:02.0/0000:{bus}:03.0", numa) for bus, numa in (("1a", 0), ("2a", 0), ("9a", 1))),
        *(nic(f"pci0000:{bus}/0000:{bus}:01.0/0000:{bus}:02.1/0000:{bus}:04.0", f"mlx5_{at}", numa) for at, (bus, numa) in enumerate((("1a", 0), ("2a", 0), ("9a", 1)))),
    )  # fmt: skip
    assert ("PIX", "NODE", "SYS") == found.tiers[0]
    assert [0, 1, 2] == [one.rail for one in rails.numbered(found).nics]
    assert (True, (0, 0, 1)) == (found.complete, found.gpus)


def test_the_order_is_that_of_addresses(tmp_path: Path) -> None:
    """mlx5_10 is not before mlx5_2, and kernel names need not follow the bus."""
    found = read(tmp_path, nic("pci0000:9a/0000:9a:00.0", "mlx5_2"), nic("pci0000:1a/0000:1a:00.0", "mlx5_10"))  # fmt: skip
    assert ["mlx5_10", "mlx5_2"] == names(found)


def test_an_unknown_numa_node_is_not_far(tmp_path: Path) -> None:
    """-1 in virtual machines: the distance is unknown."""
    found = read(tmp_path, gpu("pci0001:00/0001:00:00.0", -1), nic("pci0101:00/0101:00:00.0", "a", -1))  # fmt: skip
    assert (((None,),), (None,), False) == (found.tiers, found.gpus, found.complete)


def test_each_root_of_a_p4d_is_a_switch(tmp_path: Path) -> None:
    """GPUs and EFA as children of four host bridges, two GPUs to one EFA."""
    buses = [("10", 0), ("20", 0), ("90", 1), ("a0", 1)]
    found = read(
        tmp_path,
        *(gpu(f"pci0000:{bus}/0000:{bus}:{slot}.0", numa) for bus, numa in buses for slot in ("1c", "1d")),
        *(nic(f"pci0000:{bus}/0000:{bus}:1b.0", f"rdmap{bus}", numa, vendor="0x1d0f", device="0xefa0") for bus, numa in buses),
    )  # fmt: skip
    assert ("GROUP", "NODE", "SYS", "SYS") == found.tiers[1]
    assert [0, 1, 2, 3] == [one.rail for one in rails.numbered(found).nics]
    assert {"EFA"} == {one.link for one in found.nics}


def test_a_flat_virtual_machine_tells_nothing(tmp_path: Path) -> None:
    """Everything on one root is PHB: no switch can be seen."""
    found = read(tmp_path, gpu("pci0000:00/0000:00:05.0"), gpu("pci0000:00/0000:00:06.0"), nic("pci0000:00/0000:00:07.0", "a"))  # fmt: skip
    assert ((Tier.PHB,), (Tier.PHB,)) == found.tiers


def test_the_bridges_inside_an_amd_gpu_do_not_count(tmp_path: Path) -> None:
    """MI300X: port, two bridges of its own, then the GPU; the NIC is on the same switch."""
    own = f"{ROOT}/0000:17:00.0"
    inner = [f"{own}/0000:18:00.0", f"{own}/0000:18:00.0/0000:19:00.0"]
    found = read(
        tmp_path,
        *(bridge(path, "0x1022", "0x1500") for path in inner),
        Function(f"{inner[1]}/0000:1a:00.0", "0x1002", "0x74a1", "0x120000"),
        nic(f"{ROOT}/0000:17:01.0/0000:1b:00.0", "mlx5_0"),
    )
    assert ((Tier.PIX,),) == found.tiers


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(Function(f"{ROOT}/0000:20:00.0", "0x1a03", "0x2000", "0x030000"), id="BMC"),
        pytest.param(Function(f"{ROOT}/0000:20:00.0", "0x10de", "0x22a3", "0x068000"), id="NVSwitch"),
        pytest.param(Function(f"{ROOT}/0000:20:00.0", "0x1d0f", "0xec20", "0x020000"), id="ENA"),
        pytest.param(Function(f"{ROOT}/0000:20:00.4", "0x10de", "0x2330", "0x030200", physical="0000:16:00.0"), id="vGPU"),
    ],
)  # fmt: skip
def test_what_is_neither_gpu_nor_nic_is_passed_over(other: Function, tmp_path: Path) -> None:
    """A class alone does not make a GPU, and a NIC is what is in class/infiniband."""
    found = read(tmp_path, gpu(f"{ROOT}/0000:16:00.0"), other)
    assert (1, 0) == (len(found.gpus), len(found.nics))


def test_a_virtual_function_of_this_host_is_left_out(tmp_path: Path) -> None:
    """A pod owns it, not the node; in a virtual machine, without physfn, it is the NIC."""
    path = "pci0000:15/0000:15:01.0/0000:16:00"
    pf, vf = nic(f"{path}.0", "mlx5_0"), nic(f"{path}.1", "mlx5_1", device="0x101e", physical="0000:16:00.0")  # fmt: skip
    guest = nic("pci0101:00/0101:00:00.0", "mlx5_2", device="0x101e")
    found = read(tmp_path, pf, vf, guest)
    assert ["mlx5_0", "mlx5_2"] == names(found)
    assert ("sys: 1 virtual functions are left out",) == found.warnings


def test_management_functions_are_no_rails(tmp_path: Path) -> None:
    """Those of a DPU, however near, and on a host with EFA all that is not EFA."""
    card = gpu(f"{ROOT}/0000:16:00.0")
    dpu = read(tmp_path / "dpu", card, nic(f"{ROOT}/0000:16:00.1", "mlx5_0", device="0xc2d5"))
    host = read(tmp_path / "efa", card, nic(f"{ROOT}/0000:16:00.1", "mlx5_0"), nic(f"{ROOT}/0000:16:00.2", "rdmap1", vendor="0x1d0f", device="0xefa2"))  # fmt: skip
    assert Role.MANAGEMENT is dpu.nics[0].role
    assert [None, 0] == [one.rail for one in rails.numbered(host).nics]
    assert () == rails.numbered(dpu).rails


@pytest.mark.parametrize(
    ("state", "rate", "expected"),
    [
        ("4: ACTIVE", "400 Gb/sec (4X NDR)", (State.UP, 400)),
        ("4: ACTIVE", "2.5 Gb/sec (1X SDR)", (State.UP, 2)),
        ("1: DOWN", "10 Gb/sec (4X)", (State.DOWN, None)),
        ("2: INIT", "400 Gb/sec (4X NDR)", (State.DOWN, None)),
        ("garbage", "none", (State.DOWN, None)),
    ],
)
def test_a_port_is_up_if_its_number_says_so(
    state: str, rate: str, expected: tuple[State, int | None], tmp_path: Path
) -> None:
    """The rate of a port that is down means nothing."""
    port = {"state": state, "rate": rate, "link_layer": "Ethernet"}
    (only,) = read(tmp_path, nic(f"{ROOT}/0000:16:00.1", "a", port=port)).nics
    assert (*expected, "Ethernet") == (only.state, only.gbps, only.link)


def test_the_interface_of_a_nic_is_told(tmp_path: Path) -> None:
    """By which leaf labels and networks name it."""
    (only,) = read(tmp_path, nic(f"{ROOT}/0000:16:00.1", "mlx5_0", netdev="ens1np0")).nics
    expected = Nic("mlx5_0", None, 0, device="mlx5_0", pci="0000:16:00.1", netdev="ens1np0", link="InfiniBand", state=State.UP, gbps=400)  # fmt: skip
    assert expected == only


def test_devices_that_are_not_pci_are_told_of(tmp_path: Path) -> None:
    """Soft devices, rxe and siw, have no PCI function."""
    found = read(tmp_path, gpu(f"{ROOT}/0000:16:00.0"), others=("rxe0",))
    assert ((), ("sys: rxe0 is no PCI device and is left out",)) == (found.nics, found.warnings)


def test_what_is_below_no_host_bridge_is_passed_over() -> None:
    """Nothing in a tree can make it fail."""
    links = {"bus/pci/devices/x": "devices/x", "class/infiniband/a": "", "class/infiniband/b/c": ""}
    found = sysfs.read({"devices/pci0000:00/vendor": "0x10de"}, links, "sys")
    assert ((), ()) == (found.gpus, found.nics)


def test_grace_is_judged_by_numa(tmp_path: Path) -> None:
    """GPU and NIC share no host bridge there, and need none."""
    found = read(tmp_path, gpu("pci0008:00/0008:06:00.0", device="0x2941"), nic("pci0000:00/0000:03:00.0", "mlx5_0"))  # fmt: skip
    assert (Judged.NUMA, 1.0) == (found.judged, rails.numbered(found).worth[0][0])

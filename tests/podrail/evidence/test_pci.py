"""Addresses, paths and the distance of two devices."""

from __future__ import annotations

import captures
import pytest

from podrail.evidence import pci
from podrail.evidence.pci import Place
from podrail.topology import Tier

SWITCH = "pci0000:45/0000:45:01.0/0000:46:00.0"
A, B = "0000:47:00.0/0000:48:00.0", "0000:47:01.0/0000:49:00.0"


def place(path: str, numa: int | None = 0) -> Place:
    return Place(pci.split(path), numa)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("0000:0C:00.0", "0000:0c:00.0"),
        ("00000000:0C:00.0", "0000:0c:00.0"),
        ("0c:00.0", "0000:0c:00.0"),
        (" 10000:0c:00.0 ", "10000:0c:00.0"),
        ("0000:0c:00.8", ""),
        ("mlx5_0", ""),
        ("", ""),
    ],
)
def test_an_address_has_one_form(text: str, address: str) -> None:
    """nvidia-smi writes eight digits of domain in capitals, lspci none at all."""
    assert address == pci.canonical(text)


def test_addresses_sort_as_the_bus_counts() -> None:
    """By domain first, and what has no address comes last."""
    ordered = ["0000:1a:00.0", "0000:1a:00.1", "0000:9c:00.0", "0001:00:00.0", "10000:00:00.0", ""]
    shuffled = ordered[3:] + ordered[:3]
    assert ordered == sorted(shuffled, key=pci.order)


@pytest.mark.parametrize(
    ("path", "parts"),
    [
        ("devices/pci0000:80/0000:80:02.2/0000:82:00.0/infiniband/mlx4_0", 3),
        ("devices/LNXSYSTM:00/VMBUS:00/abc/pci0001:00/0001:00:00.0", 2),
        ("devices/scif_dma_0/infiniband/scif0", 0),
        ("", 0),
    ],
)
def test_a_path_begins_at_its_host_bridge(path: str, parts: int) -> None:
    """On Hyper-V that is deep down; some RDMA devices have none."""
    assert parts == len(pci.split(path))


@pytest.mark.parametrize(
    ("one", "other", "numas", "tier"),
    [
        pytest.param(f"{SWITCH}/{A}", f"{SWITCH}/{B}", (0, 0), Tier.PIX, id="one switch"),
        pytest.param(f"{SWITCH}/{A}", f"{SWITCH}/0000:47:01.0/0000:49:00.0/0000:4a:00.0/0000:4b:00.0", (0, 0), Tier.PXB, id="two switches"),
        pytest.param(SWITCH, f"{SWITCH[:-1]}1", (0, 0), Tier.PIX, id="one card"),
        pytest.param("pci0000:45/0000:45:01.0/0000:46:00.0", "pci0000:45/0000:45:02.0/0000:47:00.0", (0, 0), Tier.PHB, id="one host bridge"),
        pytest.param("pci0000:10/0000:10:1c.0", "pci0000:10/0000:10:1b.0", (0, 0), Tier.PHB, id="flat"),
        pytest.param("pci0001:00/0001:00:00.0", "pci0101:00/0101:00:00.0", (0, 0), Tier.NODE, id="one NUMA node"),
        pytest.param("pci0001:00/0001:00:00.0", "pci0101:00/0101:00:00.0", (0, 1), Tier.SYS, id="two NUMA nodes"),
        pytest.param("pci0001:00/0001:00:00.0", "pci0101:00/0101:00:00.0", (0, None), None, id="unknown NUMA node"),
    ],
)  # fmt: skip
def test_how_far_two_devices_are_apart(
    one: str, other: str, numas: tuple[int | None, int | None], tier: Tier | None
) -> None:
    """The same both ways; an unknown NUMA node is unknown, not far."""
    here, there = place(one, numas[0]), place(other, numas[1])
    assert (tier, tier) == (
        pci.tier(here, there, switched=False),
        pci.tier(there, here, switched=False),
    )


def test_a_host_bridge_may_stand_for_a_switch() -> None:
    """AWS p4d shows four of them with two GPUs each; a flat virtual machine one."""
    gpus = [place(f"pci0000:{bus}/0000:{bus}:1c.0") for bus in ("10", "20")]
    efa = place("pci0000:10/0000:10:1b.0")
    assert [True, False, False] == [pci.switches(gpus), pci.switches(gpus[:1]), pci.switches([])]
    assert [Tier.GROUP, Tier.NODE] == [pci.tier(gpu, efa, switched=True) for gpu in gpus]


def test_an_mi300x_has_its_own_nic_on_its_switch() -> None:
    """Real paths, without the two bridges inside each GPU."""
    lines = captures.text("amd/mi300x_lspci-PP_paths.txt").splitlines()
    paths = dict(line.split() for line in lines if line[:3] in {"GPU", "NIC"})
    places = {}
    for name, path in paths.items():
        functions = [f"0000:{one}" for one in path.split("/")]
        kept = [*functions[:-3], functions[-1]] if name.startswith("GPU") else functions
        places[name] = Place((f"pci0000:{path[:2]}", *kept), int(name[3]) // 4)
    row = [pci.tier(places["GPU1"], places[f"NIC{nic}"], switched=False) for nic in range(8)]
    assert [Tier.NODE, Tier.PIX, Tier.NODE, Tier.NODE, *[Tier.SYS] * 4] == row

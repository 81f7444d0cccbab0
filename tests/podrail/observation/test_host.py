"""What /sys and /proc tell beside the topology."""

from pathlib import Path

import machines
import placing
import pytest

from podrail.evidence import sysfs
from podrail.observation import host
from podrail.observation.host import Trees

SHAPE = placing.SHAPES["hgx-h100-8nic"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release", "580.65.06 open"),
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  470.82.01  Wed Oct", "470.82.01"),
        ("nonsense", ""),
        ("", ""),
    ],
)  # fmt: skip
def test_the_driver_is_known_by_its_version_and_kind(text: str, expected: str) -> None:
    """Only the open module has dma-buf."""
    assert expected == host.driver({"driver/nvidia/version": text})


@pytest.mark.parametrize(
    ("files", "proc", "expected"),
    [
        ({"module/ib_core/parameters/netns_mode": "N\n"}, {}, ("exclusive", "")),
        ({"module/ib_core/parameters/netns_mode": "Y\n"}, {}, ("shared", "")),
        ({}, {"self/limits": machines.LIMITS.format("unlimited", "unlimited")}, ("", "unlimited")),
        ({}, {"self/limits": "Max locked memory\n"}, ("", "")),
    ],
)
def test_the_hosts_limits_are_known_or_not(
    files: dict[str, str], proc: dict[str, str], expected: tuple[str, str]
) -> None:
    """Whom RDMA devices belong to, and how much memory a container may lock."""
    found = host.of(Trees(files, {}, proc), sysfs.read({}, {}, "sys"))
    assert expected == (found.rdma_netns, found.memlock)


@pytest.mark.parametrize(
    ("link", "types", "expected"),
    [
        ("Ethernet", ("IB/RoCE v1", "RoCE v2"), ("RoCE v1", "RoCE v2")),
        ("InfiniBand", ("IB/RoCE v1",), ("IB",)),
        ("InfiniBand", (), ("IB",)),
        ("Unknown", (), ()),
    ],
)
def test_the_kinds_of_gid_depend_on_the_link(
    link: str, types: tuple[str, ...], expected: tuple[str, ...], tmp_path: Path
) -> None:
    """The same word is IB on InfiniBand and RoCE v1 on Ethernet."""
    machine = machines.made(tmp_path, SHAPE)
    machine.port(0, link_layer=link)
    folder = machine.sys / "class/infiniband/mlx5_0/ports/1/gid_attrs/types"
    folder.mkdir(parents=True)
    for at, text in enumerate(types):
        (folder / str(at)).write_text(f"{text}\n")
    trees = machines.trees(tmp_path)
    topology = sysfs.read(trees.files, trees.links, "sys")
    assert expected == host.of(trees, topology).ports[0].gids


def test_a_gpu_that_the_driver_has_not_met_has_no_identifier(tmp_path: Path) -> None:
    """It writes question marks then."""
    machine = machines.made(tmp_path, SHAPE)
    path = machine.proc / "driver/nvidia/gpus" / machine.gpus[0] / "information"
    path.write_text(path.read_text().replace("GPU-0000", "GPU-????"))
    trees = machines.trees(tmp_path)
    found = host.known(trees, sysfs.read(trees.files, trees.links, "sys"))
    assert ["", machines.UUID.format(1)] == [card.id for card in found.cards[:2]]

"""From trees to a NodeRails object: every shape of the catalog, every capture, every part."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path

import captures
import fuzz
import hypothesis.strategies as st
import machines
import placing
import pytest
from hypothesis import given

from podrail.evidence import nccl_xml, noderails, smi
from podrail.evidence.noderails import Allocation, Kubelet, NodeRails, Port, Trouble, Verdict
from podrail.observation import report
from podrail.observation.health import Signs
from podrail.observation.host import Trees
from podrail.observation.report import Around
from podrail.observation.usage import Usage
from podrail.topology import State, Topology

INVENTED = frozenset({"podrail-aligned", "podrail-crossed"})
SHAPES = sorted(set(placing.SHAPES) - INVENTED)


@cache
def shown() -> dict[str, Topology]:
    """What each capture of nvidia-smi and each file of NCCL shows, where that is GPUs and NICs."""
    found = {name: smi.read(captures.matrix(name), name) for name in captures.MATRICES}
    for path in sorted((captures.FOLDER / "xml").iterdir()):
        found[path.name] = nccl_xml.read(path.read_text(), path.name)
    return {name: one for name, one in found.items() if one.nics and any(map(any, one.tiers))}


@pytest.mark.parametrize("name", SHAPES)
def test_a_machine_of_every_shape_is_seen_as_it_is(name: str, tmp_path: Path) -> None:
    """Devices, NUMA nodes, distances and rails out of /sys alone."""
    shape = placing.SHAPES[name]
    machines.made(tmp_path, shape)
    found = report.look(machines.trees(tmp_path), None, {}).topology
    assert shape.gpus == found.gpus
    assert [nic.numa for nic in shape.nics] == [nic.numa for nic in found.nics]
    assert machines.expected(shape) == found.tiers
    assert shape.judged == found.judged
    assert [nic.rail for nic in shape.nics] == [nic.rail for nic in found.nics]


@pytest.mark.parametrize("name", shown())
def test_a_machine_like_every_capture_is_seen_as_it_is(name: str, tmp_path: Path) -> None:
    """The distances of each matrix and file, out of a /sys that has them."""
    shape = machines.socketed(shown()[name])
    machines.made(tmp_path, shape)
    found = report.look(machines.trees(tmp_path), None, {}).topology
    assert machines.expected(shape) == found.tiers


@pytest.mark.parametrize(
    ("name", "gids"),
    [("32em64t-2n8c_dimms", ("IB",)), ("40intel64-2g2n4c_pcilocality", ("IB",))],
)
def test_a_real_tree_without_gpus_is_idle(name: str, gids: tuple[str, ...], tmp_path: Path) -> None:
    """The reason is stated, and what is there is told all the same."""
    captures.snapshot(tmp_path / "sys", name)
    trees = machines.trees(tmp_path)
    seen = report.look(trees, None, {})
    found = report.write(seen, Signs(trees), Around("n1"))
    assert (Trouble("NoGpus", "", "no GPU is on the PCI bus"),) == found.troubles
    assert gids == found.host.ports[0].gids
    assert None is found.observed
    assert None is noderails.read(noderails.document(found)).topology


def test_a_node_without_nics_is_idle(tmp_path: Path) -> None:
    """GPUs alone have no rails."""
    machines.made(tmp_path, replace(placing.SHAPES["dgx-h100"], nics=(), tiers=((),) * 8))
    reason = report.idle(report.look(machines.trees(tmp_path), None, {}).topology)
    assert reason is not None
    assert "NoNics" == reason.code


def written(folder: Path) -> NodeRails:
    """The object of a DGX H100 with two VFs a NIC."""
    trees = machines.trees(folder)
    held = (Allocation("example.com/rail0", "0000:60:00.1", "team", "p", "train"),)
    offered = {"example.com/rail0": frozenset({"0000:60:00.1", "0000:60:00.2"})}
    signs = Signs(trees, Usage(held, offered))
    kubelet = Kubelet("restricted", "pod", ("prefer-closest-numa-nodes=true",))
    return report.write(report.look(trees, None, {}), signs, Around("n1", kubelet=kubelet))


def test_an_object_says_all_that_was_seen(tmp_path: Path) -> None:
    """Identifiers, ports, limits, verdict, allocations; and it reads as it was written."""
    machines.made(tmp_path, placing.SHAPES["dgx-h100"], vfs=2)
    found = written(tmp_path)
    assert found.observed is not None
    assert (machines.UUID.format(0), "NVIDIA H100 80GB HBM3") == (
        found.observed.cards[0].id,
        found.observed.cards[0].product,
    )
    assert Port("mlx5_0", (), ("0000:60:00.1", "0000:60:00.2")) == found.host.ports[0]
    assert ("shared", "8388608", "580.65.06 open") == (
        found.host.rdma_netns,
        found.host.memlock,
        found.host.gpu_driver,
    )
    assert (machines.BOOT, "sysfs", Verdict.POSSIBLE) == (
        found.boot_id,
        found.source,
        found.gpudirect,
    )
    assert ("example.com/rail0", State.UP) == (
        found.observed.nics[0].resource,
        found.observed.nics[0].state,
    )
    assert () == found.troubles
    assert found == noderails.read(noderails.document(found))


def test_only_an_object_of_this_boot_is_remembered(tmp_path: Path) -> None:
    """Device names of an earlier boot are worth nothing."""
    machines.made(tmp_path, placing.SHAPES["dgx-h100"])
    found = written(tmp_path)
    remembered = report.again(found, machines.BOOT)
    assert remembered is not None
    assert 12 == len(remembered.topology.nics)
    assert None is report.again(found, "another")
    assert None is report.again(replace(found, boot_id=""), "")


def test_an_empty_tree_is_no_error() -> None:
    """A /sys that cannot be read is a node without devices."""
    seen = report.look(Trees(), None, {})
    found = report.write(seen, Signs(), Around("n1"))
    assert ["NoGpus"] == [one.code for one in found.troubles]


def test_leaves_number_the_rails(tmp_path: Path) -> None:
    """Labels that name each interface's leaf switch beat the order of addresses."""
    machines.made(tmp_path, placing.SHAPES["hgx-h100-8nic"])
    key = "backend.coreweave.cloud/neighbors.current.mlx5_{}.device"
    labels = {key.format(at): f"leaf-{8 - at}" for at in range(8)}
    found = report.look(machines.trees(tmp_path), None, labels).topology
    assert [7, 6, 5, 4, 3, 2, 1, 0] == [nic.rail for nic in found.nics]


@cache
def example() -> Trees:
    """The trees of a machine, to be damaged."""
    with tempfile.TemporaryDirectory() as folder:
        machines.made(Path(folder), placing.SHAPES["hgx-h100-8nic"], vfs=1)
        return machines.trees(Path(folder))


@fuzz.examples(60)
@given(st.data())
def test_whatever_files_say_is_an_object_that_reads_well(data: st.DataObject) -> None:
    """Any text in any file, any file or link missing."""
    files, links, proc = dict(example().files), dict(example().links), dict(example().proc)
    for tree in (files, links, proc):
        for path in data.draw(st.lists(st.sampled_from(sorted(tree)), max_size=8, unique=True)):
            text = data.draw(st.none() | st.text(max_size=60) | st.integers(-9, 10**9).map(str))
            if text is None or tree is links:
                del tree[path]
            else:
                tree[path] = text
    trees = Trees(files, links, proc)
    before = report.look(example(), None, {})
    found = report.write(report.look(trees, before, {}), Signs(trees), Around("n1"))
    assert found == noderails.read(noderails.document(found))

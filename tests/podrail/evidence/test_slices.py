"""ResourceSlices of the GPU driver and of dranet, as live clusters have them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import captures
import placing
import pytest
import yaml

from podrail.errors import MalformedError
from podrail.evidence import merge, rails, slices
from podrail.topology import Judged, Topology


def read(*names: str) -> Topology:
    """What captures say of their only node."""
    found = slices.read((name, yaml.safe_load(captures.text(f"dra/{name}.yaml"))) for name in names)
    (topology,) = found.values()
    return topology


def device(name: str, **attributes: object) -> dict[str, Any]:
    kinds: Mapping[type, str] = {str: "string", bool: "bool", int: "int"}
    written = {
        {"root": "resource.kubernetes.io/pcieRoot"}.get(key, key): {kinds[type(value)]: value}
        for key, value in attributes.items()
    }
    return {"name": name, "attributes": written}


def piece(driver: str, *devices: dict[str, Any], node: str = "n", **pool: Any) -> dict[str, Any]:
    spec = {"driver": driver, "nodeName": node, "pool": {"name": node, **pool}, "devices": devices}
    return {"kind": "ResourceSlice", "metadata": {"name": driver}, "spec": spec}


def test_a_p4ds_gpus_share_a_root_with_their_efa() -> None:
    """The ENA on one of the roots has no RDMA; NUMA nodes come from the NICs."""
    found = rails.numbered(read("p4d.24xlarge-gpu", "p4d.24xlarge-dranet"))
    assert ("GROUP", "NODE", "SYS", "SYS") == found.tiers[0]
    assert (0, 0, 0, 0, 1, 1, 1, 1) == found.gpus
    assert (["0000:10:1b.0", "0000:20:1b.0", "0000:90:1b.0", "0000:a0:1b.0"], (0, 1, 2, 3)) == (
        [nic.pci for nic in found.nics],
        found.rails,
    )
    assert ("NVIDIA A100-SXM4-40GB", "rdmap16s27", "EFA") == (
        found.cards[0].product,
        found.nics[0].name,
        found.nics[0].link,
    )


@pytest.mark.parametrize(
    ("name", "shape", "nics"),
    [
        ("BM.GPU.GB200-v3.4", "BM.GPU.GB200-v3.4", 8),
        ("ND128isr-GB300-v6", "Standard_ND128isr_GB300_v6", 4),
    ],
)
def test_grace_has_no_root_in_common(name: str, shape: str, nics: int) -> None:
    """Its GPUs' NUMA nodes are unknown here; the catalog knows them by address."""
    found = read(f"{name}-gpu", f"{name}-dranet")
    assert (Judged.NUMA, 4, nics) == (found.judged, len(found.gpus), len(found.nics))
    assert {None} == {tier for row in found.tiers for tier in row}
    if shape in placing.SHAPES:
        whole = merge.merge([found, placing.SHAPES[shape]])
        assert whole is not None
        assert (placing.SHAPES[shape].gpus, True) == (whole.gpus, whole.complete)


def test_slices_without_gpus_are_partial() -> None:
    """Azure's MI300X: the NICs alone, by RDMA device and NUMA node."""
    found = read("ND96isr-MI300X-v5-dranet")
    assert ((), 8, False) == (found.gpus, len(found.nics), found.complete)
    assert ("mlx5_0", 0) == (found.nics[0].device, found.nics[0].numa)


def test_one_root_for_all_tells_nothing() -> None:
    """On a flat virtual machine the root is the CPU's."""
    gpus = [device(f"gpu-{at}", type="gpu", root="pci0000:00") for at in range(2)]
    nic = device("a", rdma=True, root="pci0000:00", numaNode=0)
    found = slices.read([("x", piece("gpu.nvidia.com", *gpus)), ("x", piece("dra.net", nic))])
    assert ((None,), (None,)) == found["n"].tiers


def test_only_the_newest_generation_counts() -> None:
    """An old slice lists devices that are gone; a missing one makes the pool partial."""
    old = piece("gpu.nvidia.com", device("gpu-9", type="gpu"), generation=1)
    new = piece("gpu.nvidia.com", device("gpu-0", type="gpu"), generation=2, resourceSliceCount=2)
    found = slices.read([("x", {"kind": "ResourceSliceList", "items": [old, new]})])["n"]
    assert (1, ("1 pools lack slices of their generation",)) == (len(found.gpus), found.warnings)


def test_other_devices_are_passed_over() -> None:
    """MIG, vfio, virtual functions, NICs without RDMA, other drivers, other kinds."""
    found = slices.read(
        [
            ("x", piece("gpu.nvidia.com", device("a", type="mig"), device("b", type="vfio"))),
            (
                "x",
                piece("dra.net", device("c", rdma=False), device("d", rdma=True, isSriovVf=True)),
            ),
            ("x", piece("cpu.example.com", device("e", type="gpu"))),
            ("x", {"kind": "Pod"}),
        ]
    )
    assert ((), ()) == (found["n"].gpus, found["n"].nics)


def test_v1beta1_nests_attributes_under_basic() -> None:
    """The same devices in an older version of the API."""
    old = {
        "name": "a",
        "basic": {"attributes": device("a", rdma=True, ifName="rdma0")["attributes"]},
    }
    found = slices.read([("x", piece("dra.net", old))])
    assert ["rdma0"] == [nic.netdev for nic in found["n"].nics]


def test_each_node_has_its_own() -> None:
    """A slice for no single node (network attached) is about none."""
    gpu = device("gpu-0", type="gpu")
    found = slices.read([("x", piece("gpu.nvidia.com", gpu, node=node)) for node in ("b", "a", "")])
    assert ["a", "b"] == list(found)


def test_every_problem_is_told_with_its_path() -> None:
    """A dump may be edited by hand."""
    broken = {
        "kind": "ResourceSlice",
        "spec": {"driver": 5, "devices": [7], "pool": {"generation": "x"}},
    }
    with pytest.raises(MalformedError) as caught:
        slices.read([("x", broken)])
    assert {"x.spec.driver", "x.spec.devices[0]", "x.spec.pool.generation"} == {
        problem.path for problem in caught.value.problems
    }

"""What an agent finds on machines of every kind: catalog shapes, captures, real addresses and paths.

The agent's own eyes read folders laid out like /sys; tests/podrail/observation has the rules alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

import agents
import captures
import machines
import placing
import pytest
import yaml
from captures import Function, bridge, gpu, nic

from nodeagent.sight import Sight
from podrail.evidence import nccl_xml, noderails, rails, rocm, slices, smi
from podrail.evidence.noderails import NodeRails
from podrail.observation import report
from podrail.observation.health import Signs
from podrail.observation.report import Around
from podrail.topology import Judged, Tier, Topology

INVENTED: Final = {"podrail-aligned", "podrail-crossed"}
FOLDERS: Final = {"smi": smi.read, "xml": nccl_xml.read, "amd": rocm.read}
AMD_BRIDGE: Final = ("0x1022", "0x1500")
MI300X: Final = ("0x1002", "0x74a1", "0x120000")
PATHS: Final = ("mi300x_lspci-PP_paths", "mi300x_rccl_paths")
SHIPPED: Final = {one["shape"]: one for path in (placing.ROOT / "podrail/data/shapes").iterdir() for one in json.loads(path.read_text())["shapes"]}  # fmt: skip


def captured() -> dict[str, Topology]:
    """What each capture of a tool shows, by its file's name."""
    found = {}
    for folder, read in FOLDERS.items():
        for path in sorted((captures.FOLDER / folder).iterdir()):
            if path.stem not in PATHS:
                found[path.stem] = read(path.read_text(), path.name)
    return found


CAPTURES: Final = captured()
ALONE: Final = [name for name, one in CAPTURES.items() if one.gpus and not one.nics]
"""Captures of GPUs without a NIC; test_report.py has those of both."""


def looked(folder: Path) -> NodeRails:
    """What an agent that has just started would write of the trees in a folder."""
    trees = Sight(folder / "sys", folder / "proc").look()
    return report.write(report.look(trees, None, {}), Signs(trees), Around("n1"))


def seen(folder: Path) -> Topology:
    """The devices among it."""
    found = looked(folder).observed
    assert found is not None
    return found


@pytest.mark.parametrize("name", sorted(set(placing.SHAPES) - INVENTED))
def test_every_shape_comes_back(name: str, tmp_path: Path) -> None:
    """Out of the object that the agent has written to the API server."""
    shape = placing.SHAPES[name]
    with agents.stage(tmp_path, shape) as stage:
        stage.after(1)
        written = dict(stage.api.objects[agents.OBJECT])
        machine = stage.machine
    found = noderails.read(written).observed
    assert found is not None
    assert (machine.gpus, machine.nics) == (
        tuple(card.pci for card in found.cards),
        tuple(one.pci for one in found.nics),
    )
    assert [machines.UUID.format(at) for at in range(len(shape.gpus))] == [one.id for one in found.cards]  # fmt: skip
    assert (shape.gpus, [one.numa for one in shape.nics]) == (found.gpus, [one.numa for one in found.nics])  # fmt: skip
    assert [one.rail for one in shape.nics] == [one.rail for one in found.nics]
    assert (machines.expected(shape), shape.judged) == (found.tiers, found.judged)


@pytest.mark.parametrize("name", ALONE)
def test_a_capture_without_nics_is_an_idle_node(name: str, tmp_path: Path) -> None:
    """Its GPUs alone are no rails, and the object says so."""
    numas = CAPTURES[name].gpus
    paths = (f"pci0000:{at:02x}/0000:{at:02x}:00.0" for at in range(len(numas)))
    cards = (gpu(path, -1 if numa is None else numa) for path, numa in zip(paths, numas, strict=True))  # fmt: skip
    captures.lay(tmp_path / "sys", *cards)
    found = looked(tmp_path)
    assert (["NoNics"], None) == ([one.code for one in found.troubles], found.observed)


@pytest.mark.parametrize("name", PATHS)
def test_an_mi300x_has_its_own_nic_on_its_switch(name: str, tmp_path: Path) -> None:
    """By the real bridges above each, the two inside a GPU's package apart."""
    lines = captures.text(f"amd/{name}.txt").splitlines()
    captures.lay(tmp_path / "sys", *amd(dict(line.split() for line in lines[1:])))
    found = seen(tmp_path)
    assert (0, 0, 0, 0, 1, 1, 1, 1) == found.gpus
    assert list(range(8)) == [one.rail for one in found.nics]
    assert [[at] for at in range(8)] == [
        [nic for nic, tier in enumerate(row) if tier is Tier.PIX] for row in found.tiers
    ]


@pytest.mark.parametrize(
    "name", sorted(name for name, one in SHIPPED.items() if "guestView" in one)
)
def test_a_guest_shows_less_than_there_is(name: str, tmp_path: Path) -> None:
    """Hyper-V gives each device a host bridge of its own: no switch is seen, the rails are."""
    shape = placing.SHAPES[name]
    gpus = [gpu(guest(card.pci), numa or 0) for card, numa in zip(shape.cards, shape.gpus, strict=True)]  # fmt: skip
    nics = [nic(guest(one.pci), one.name, one.numa or 0) for one in shape.nics]
    captures.lay(tmp_path / "sys", *gpus, *nics)
    found = seen(tmp_path)
    assert SHIPPED[name]["guestView"] == [" ".join(map(str, row)) for row in found.tiers]
    assert [one.rail for one in shape.nics] == [one.rail for one in found.nics]


@pytest.mark.parametrize(
    ("names", "numas", "judged"),
    [
        (("p4d.24xlarge-gpu", "p4d.24xlarge-dranet"), (0, 0, 0, 0, 1, 1, 1, 1), Judged.PCIE),
        (("ND128isr-GB300-v6-gpu", "ND128isr-GB300-v6-dranet"), (0, 0, 1, 1), Judged.NUMA),
        (("BM.GPU.GB200-v3.4-gpu", "BM.GPU.GB200-v3.4-dranet"), (0, 0, 1, 1), Judged.NUMA),
    ],
    ids=["p4d", "GB300", "GB200"],
)
def test_the_agent_and_the_drivers_of_a_node_agree(
    names: tuple[str, str], numas: tuple[int, ...], judged: Judged, tmp_path: Path
) -> None:
    """On addresses and rails, and on distances where the slices of its drivers tell them."""
    told = driven(*names)
    coherent = {"device": "0x2941"} if judged is Judged.NUMA else {}
    gpus = [gpu(rooted(card.pci), numa, **coherent) for card, numa in zip(told.cards, numas, strict=True)]  # fmt: skip
    nics = [nic(rooted(one.pci), one.name, one.numa or 0) for one in told.nics]
    captures.lay(tmp_path / "sys", *gpus, *nics)
    found = seen(tmp_path)
    assert [one.pci for one in told.cards] == [one.pci for one in found.cards]
    assert [one.pci for one in told.nics] == [one.pci for one in found.nics]
    expected = rails.numbered(replace(told, gpus=numas))
    assert [one.rail for one in expected.nics] == [one.rail for one in found.nics]
    assert judged is found.judged
    assert told.tiers == found.tiers or not told.complete


def driven(*names: str) -> Topology:
    """What the slices of a node's drivers say."""
    documents = ((name, yaml.safe_load(captures.text(f"dra/{name}.yaml"))) for name in names)
    (found,) = slices.read(documents).values()
    return found


def rooted(address: str) -> str:
    """The path of a device that is a child of its bus's host bridge."""
    return f"pci{address[:7]}/{address}"


def guest(address: str) -> str:
    """The path of a device that Hyper-V passes through."""
    return f"LNXSYSTM:00/LNXSYBUS:00/ACPI0004:00/VMBUS:00/{rooted(address)}"


def amd(paths: Mapping[str, str]) -> Iterator[Function]:
    """GPUs, NICs and bridges of an MI300X node; the first four of each are on NUMA node 0."""
    for name, path in paths.items():
        parts = [f"0000:{one}" for one in path.split("/")]
        places = [f"pci{parts[0][:7]}/{'/'.join(parts[:end])}" for end in range(1, len(parts) + 1)]
        own = 2 if name.startswith("GPU") else 0
        for at, place in enumerate(places[:-1]):
            yield bridge(place, *AMD_BRIDGE) if at >= len(places) - 1 - own else bridge(place)
        numa = int(name[3:]) // 4
        yield Function(places[-1], *MI300X, numa) if own else nic(places[-1], f"mlx5_{name[3:]}", numa)  # fmt: skip

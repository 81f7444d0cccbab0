"""podrail topology -o tree: groups, and the distances between them."""

from __future__ import annotations

import json
from pathlib import Path

import checkout
import terminal

from podrail.topology import Evidence, Judged, Nic, Topology
from podrail_cli import branches

P4D = checkout.ROOT / "docs/user/topology.md"


def test_the_tree_is_as_the_page_shows_it() -> None:
    """Two GPUs behind one switch share a NIC; each level is closer than the next."""
    result = terminal.run("topology", "--shape", "p4d.24xlarge", "-o", "tree")
    assert 0 == result.exit_code
    assert result.stdout in checkout.text(P4D)


def test_what_hangs_with_nothing_stands_alone() -> None:
    """A NIC that is no rail, and devices whose NUMA node or distance is unknown."""
    result = terminal.run("topology", "--shape", "dgx-h100", "-o", "tree")
    assert "  -     mlx5_1 (no rail)" in result.stdout.splitlines()
    nics = (Nic("a", 0, None), Nic("b", None, 0))
    dark = ((None, None), (None, None))
    unknown = Topology("x", (None, 0), nics, dark, Judged.PCIE, Evidence.SYSFS)
    assert [
        "NUMA 0",
        "  -     GPU1",
        "  -     b (no rail)",
        "  ?     to each other",
        "NUMA ?",
        "  -     GPU0",
        "  -     a (rail 0)",
        "  ?     to each other",
        "?     between NUMA nodes",
    ] == branches.text(unknown).splitlines()


def test_a_node_of_a_dump_is_drawn_too(tmp_path: Path) -> None:
    """With the evidence below it."""
    labels = {"node.kubernetes.io/instance-type": "p4d.24xlarge"}
    document = {"kind": "Node", "apiVersion": "v1", "metadata": {"name": "n1", "labels": labels}}
    (tmp_path / "nodes.json").write_text(json.dumps({"kind": "List", "items": [document]}))
    result = terminal.run("topology", "--node", "n1", "--cluster", tmp_path, "-o", "tree")
    assert "SYS   between NUMA nodes" in result.stdout
    assert "EVIDENCE" in result.stdout

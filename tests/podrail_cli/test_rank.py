"""`podrail rank`: the nodes of a small cluster, best first, with the reason why not."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import Any, Final

import builders
import placing
import pytest
import terminal
import yaml

from podrail.evidence import noderails
from podrail.evidence.noderails import NodeRails

SHAPES: Final = str(resources.files("podrail_cli") / "data" / "shapes")
"""The demo's two shapes: podrail-aligned and podrail-crossed."""


def node(name: str, shape: str | None, **allocatable: str) -> dict[str, Any]:
    """A node of a shape with eight GPUs and eight rails."""
    rails = {f"nvidia.com/rail{rail}": "1" for rail in range(8)}
    labels = {"node.kubernetes.io/instance-type": shape} if shape else None
    room = {"cpu": "192", "nvidia.com/gpu": "8", **rails, **allocatable}
    return {
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {"allocatable": room},
    }


def bound(node_name: str, **status: str) -> dict[str, Any]:
    """Another pod with two GPUs on a node."""
    return {**builders.document(builders.container(gpus=2), nodeName=node_name), "status": status}


def dump(folder: Path, *documents: dict[str, Any]) -> Path:
    """A file as kubectl get nodes,pods -A -o json writes it."""
    path = folder / "cluster.json"
    path.write_text(json.dumps({"kind": "List", "items": documents}))
    return path


def rank(
    cluster: Path, *arguments: str | Path, status: int = 0, **pod: Any
) -> list[dict[str, Any]]:
    """The nodes that -o json prints for a pod."""
    words = ("rank", "-f", "-", "--cluster", cluster, "--shapes", SHAPES, "-o", "json", *arguments)
    result = terminal.run(*words, given=builders.document(**pod))
    assert status == result.exit_code, result.output
    nodes: list[dict[str, Any]] = json.loads(result.stdout)["nodes"]
    return nodes


def test_aligned_nodes_come_before_unknown_and_crossed_ones(tmp_path: Path) -> None:
    """The best has 10 points, a node of which nothing is known 5, the others by their share."""
    cluster = dump(
        tmp_path,
        node("crossed", "podrail-crossed"),
        node("aligned-b", "podrail-aligned"),
        node("unknown", None),
        node("aligned-a", "podrail-aligned"),
    )
    expected = [
        ("aligned-a", "podrail-aligned", 10, 1.0, "PIX", ""),
        ("aligned-b", "podrail-aligned", 10, 1.0, "PIX", ""),
        ("unknown", "", 5, None, "", ""),
        ("crossed", "podrail-crossed", 4, 0.2, "SYS", ""),
    ]
    assert expected == [tuple(one.values()) for one in rank(cluster)]


def test_what_an_agent_saw_comes_before_the_machine_type(tmp_path: Path) -> None:
    """NodeRails in the dump; one that cannot be read is told, and the machine type counts."""
    wired = placing.CROSSED
    documents = [
        node("a", "podrail-aligned"),
        noderails.document(NodeRails("a", observed=wired)),
        node("b", "podrail-crossed"),
        {"apiVersion": "v2", "kind": "NodeRails", "metadata": {"name": "b"}},
    ]
    cluster = dump(tmp_path, *documents)
    assert [("SYS", 0.2), ("SYS", 0.2)] == [(one["tier"], one["expected"]) for one in rank(cluster)]
    words = ("rank", "-f", "-", "--cluster", cluster, "--shapes", SHAPES)
    told = terminal.run(*words, given=builders.document()).stderr
    assert "\nb: noderails is not used: NodeRails b.apiVersion: expected podrail.dev" in told


def test_a_node_whose_devices_are_taken_comes_last_with_the_reason(tmp_path: Path) -> None:
    """Pods that are bound there count, those that have ended do not."""
    cluster = dump(
        tmp_path,
        node("busy", "podrail-aligned"),
        bound("busy", phase="Running"),
        node("done", "podrail-crossed"),
        bound("done", phase="Succeeded"),
        bound("", phase="Pending"),
    )
    assert [("done", ""), ("busy", "nvidia.com/gpu: 8 asked, 6 free")] == [
        (one["node"], one["reason"]) for one in rank(cluster)
    ]


def test_a_machine_type_that_cannot_run_the_pod_says_so(tmp_path: Path) -> None:
    """In the extender's words, and with status 1 if no node is left."""
    cluster = dump(tmp_path, node("small", "podrail-aligned", **{"nvidia.com/gpu": "16"}))
    (one,) = rank(cluster, status=1, containers=[builders.container(gpus=16)])
    assert (0, "podrail: the machine type has fewer GPUs than the pod asks for") == (
        one["score"],
        one["reason"],
    )


def test_the_table_is_for_people(tmp_path: Path) -> None:
    """A question mark where nothing is known, a dash where there is no score."""
    cluster = dump(tmp_path, node("a", "podrail-aligned"), node("b", None), node("c", None, **{"nvidia.com/gpu": "0"}))  # fmt: skip
    words = ("rank", "-f", "-", "--cluster", cluster, "--shapes", SHAPES)
    shown = terminal.run(*words, given=builders.document()).stdout
    expected = (
        "NODE  SHAPE            SCORE  ALIGNED  TIER  WHY NOT\n"
        "a     podrail-aligned  10     100%     PIX\n"
        "b     -                5      ?        ?\n"
        "c     -                -      ?        ?     nvidia.com/gpu: the node offers none\n"
    )
    assert expected == shown


def test_the_cluster_may_be_a_folder_of_files(tmp_path: Path) -> None:
    """YAML and JSON, documents and lists; other kinds are passed over."""
    dump(tmp_path, node("a", None), {"kind": "Service", "metadata": {"name": "s"}})
    (tmp_path / "more.yaml").write_text(yaml.safe_dump_all([node("b", None), 5]))
    assert ["a", "b"] == [one["node"] for one in rank(tmp_path)]


def test_a_profile_may_stand_in_and_count_its_own_gpus(tmp_path: Path) -> None:
    """--profile FILE with another GPU resource, for a pod without a label."""
    path = tmp_path / "mine.yaml"
    spec = {
        "attachment": "SharedDevice",
        "gpuResources": ["amd.com/gpu"],
        "rails": {"count": 1, "gpus": 8},
        "networks": [{"name": "mine/net", "interface": "rdma", "rail": 0}],
    }
    path.write_text(yaml.safe_dump(builders.profile_document("mine", **spec)))
    cluster = dump(tmp_path, node("a", "podrail-aligned", **{"amd.com/gpu": "16"}))
    container = builders.container(gpus=0, limits={"amd.com/gpu": "9"})
    (one,) = rank(cluster, "--profile", path, status=1, fabric=None, containers=[container])
    assert "podrail: the machine type has fewer GPUs than the pod asks for" == one["reason"]


def test_a_pod_that_was_not_injected_has_nothing_to_rank_by(tmp_path: Path) -> None:
    """Status 1, and the reason on stderr."""
    words = ("rank", "-f", "-", "--cluster", dump(tmp_path, node("a", None)))
    result = terminal.run(*words, given=builders.document(fabric=None))
    assert (1, "") == (result.exit_code, result.stdout)
    assert "not opted in" in result.stderr


NAMELESS = {"kind": "Node", "metadata": {"labels": {}}}


@pytest.mark.parametrize(
    ("document", "told"),
    [
        ({"kind": "Pod", "metadata": {"name": "p"}}, "no nodes found"),
        ({"kind": "Node"}, "metadata.name: expected a string, got None"),
        ({"kind": "Node", "metadata": [1]}, "metadata: expected an object, got [1]"),
        ({**NAMELESS, "metadata": {"name": "n", "labels": [1]}}, "node n: metadata.labels: expected"),
        ({"kind": "Node", "metadata": {"name": "n"}, "status": 5}, "node n: status: expected"),
        (node("n", None, **{"nvidia.com/gpu": "0.5"}), "expected a whole number of devices, got '0.5'"),
        ({"kind": "Pod", "spec": {"containers": [3]}}, "spec.containers[0]: expected an object, got 3"),
        ({"kind": "Pod", "spec": {"nodeName": [1]}}, "spec.nodeName: expected a string, got [1]"),
    ],
    ids=["no nodes", "no metadata", "metadata", "labels", "status", "quantity", "container", "bound"],
)  # fmt: skip
def test_a_cluster_that_is_none_is_wrong_input(
    document: dict[str, Any], told: str, tmp_path: Path
) -> None:
    """Status 2 and what was expected where, however a dump was edited."""
    words = ("rank", "-f", "-", "--cluster", dump(tmp_path, document))
    result = terminal.run(*words, given=builders.document())
    assert (2, "") == (result.exit_code, result.stdout)
    assert told in result.stderr


def test_a_file_without_a_pod_is_wrong_input(tmp_path: Path) -> None:
    """There is nothing to rank for."""
    words = ("rank", "-f", "-", "--cluster", dump(tmp_path, node("a", None)))
    result = terminal.run(*words, given={"kind": "Service"})
    assert (2, True) == (result.exit_code, "no pod template found" in result.stderr)


def test_wrong_shapes_are_wrong_input(tmp_path: Path) -> None:
    """The message names the file and the field."""
    (tmp_path / "shapes.json").write_text('{"shapes": [{"shape": 5}]}')
    cluster = dump(tmp_path, node("a", None))
    words = ("rank", "-f", "-", "--cluster", cluster, "--shapes", tmp_path)
    result = terminal.run(*words, given=builders.document())
    assert (2, True) == (result.exit_code, "shapes.json" in result.stderr)

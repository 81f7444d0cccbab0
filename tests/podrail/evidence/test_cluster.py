"""A cluster's documents as topologies by node; what cannot be read spoils nothing else."""

from __future__ import annotations

from typing import Any

import evidence
import placing
import pytest

from podrail.evidence import cluster
from podrail.evidence.atlas import Atlas, Found, Unused
from podrail.topology import Evidence


def read(*documents: object) -> dict[str, Found]:
    """What is known of each node."""
    return dict(cluster.read(documents, Atlas(placing.SHAPES), evidence.COUNTED))


def test_every_kind_of_document_counts() -> None:
    """In lists and alone; other kinds are passed over, and so is what is no document."""
    listed = {"kind": "List", "items": [evidence.node(), evidence.restricted(), {"kind": "Pod"}, 5]}
    found = read(listed, *evidence.slices(), evidence.count(), "text")
    assert ["n1"] == list(found)
    assert [Evidence.NODERAILS, Evidence.DRA, Evidence.CATALOG, Evidence.NRT] == [
        one.evidence for one in found["n1"].evidence
    ]
    assert (()) == found["n1"].unused


def test_an_api_servers_lists_have_items_without_a_kind() -> None:
    """The list says what they are."""
    bare = [{key: one[key] for key in one if key != "kind"} for one in evidence.slices()]
    found = read({"kind": "ResourceSliceList", "items": bare})
    assert [Evidence.DRA] == [one.evidence for one in found["n1"].evidence]


def test_a_node_is_known_by_any_document_about_it() -> None:
    """Also without a Node in the dump."""
    found = read(
        evidence.rails("a"), evidence.node("b"), *evidence.slices("c"), evidence.count("d")
    )
    assert ["b", "a", "c", "d"] == list(found)


def test_a_thousand_nodes_of_one_kind_share_one_value() -> None:
    """Their GPUs' identifiers differ."""
    found = read(*(evidence.rails(f"n{at}") for at in range(1000)))
    assert 1 == len({id(one.topology) for one in found.values()})
    assert 1000 == len({one.ids for one in found.values()})


def broken(found: Found) -> list[Unused]:
    """The evidence that could not be read."""
    return [one for one in found.unused if one.broken]


BROKEN: list[tuple[dict[str, Any], Evidence, str]] = [
    (
        {**evidence.rails(), "status": {"tiers": [["PIXX"]], "colour": 1}},
        Evidence.NODERAILS,
        "NodeRails n1.status.tiers[0]: expected a list",
    ),
    (
        {"kind": "ResourceSlice", "metadata": {"name": "s"}, "spec": {"nodeName": "n1", "driver": 5}},
        Evidence.DRA,
        "ResourceSlice s.spec.driver: expected a string",
    ),
    (
        {**evidence.count(), "zones": [{"name": 5, "type": "Node"}]},
        Evidence.NRT,
        "NodeResourceTopology n1.zones[0].name: expected a string",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("document", "kind", "told"), BROKEN, ids=[str(one[1]) for one in BROKEN])
def test_what_cannot_be_read_is_not_used(
    document: dict[str, Any], kind: Evidence, told: str
) -> None:
    """The node's other evidence is, and so is that of other nodes."""
    found = read(evidence.node(), document, *evidence.slices("n2"), evidence.rails("n3"))
    (unused,) = broken(found["n1"])
    assert (kind, told) == (unused.evidence, unused.why[: len(told)])
    assert [Evidence.CATALOG] == [one.evidence for one in found["n1"].evidence]
    assert [] == broken(found["n2"]) + broken(found["n3"])


def test_further_problems_are_counted() -> None:
    """The first one is told."""
    (unused,) = broken(read({**evidence.rails(), "status": {"colour": 1, "tiers": 5}})["n1"])
    assert unused.why.endswith("(and 1 more problems)")


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ({"spec": {"nodeName": "a"}}, "a"),
        ({"metadata": {"ownerReferences": [5, {"kind": "Node", "name": "b"}]}}, "b"),
        ({"metadata": {"ownerReferences": [{"kind": "Pod", "name": "b"}]}}, ""),
        ({"metadata": {"ownerReferences": 5}, "spec": {"nodeName": 5}}, ""),
        (5, ""),
    ],
)
def test_a_slice_belongs_to_its_node_or_its_owner(document: object, expected: str) -> None:
    """Network attached devices are no single node's."""
    assert expected == cluster.slice_node(document)


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ({"metadata": {"labels": {"a": "b", "c": 5}}}, {"a": "b"}),
        ({"metadata": {"labels": 5}}, {}),
        ({"metadata": 5}, {}),
    ],
)
def test_labels_are_text(document: object, expected: dict[str, str]) -> None:
    """A dump may be edited by hand."""
    assert expected == cluster.labels(document)


def test_a_node_without_a_name_is_none() -> None:
    """Nobody could ask for it."""
    assert {} == read({"kind": "Node"}, {"kind": "NodeRails", "metadata": {"name": 5}})

"""NetworkAttachmentDefinitions as Multus uses them."""

from __future__ import annotations

import nads
import pytest

from podrail.multus import nad
from podrail.multus.nad import Isolation

VF = "nvidia.com/rdma-vf"


def test_a_definition_is_read_whole() -> None:
    """Where it is, what it counts, where it may be used, and its chain."""
    document = nads.document("rdma-vf", nads.chain({"type": "sriov"}, {"type": "rdma"}), VF)
    document["metadata"]["annotations"][nad.NODE_SELECTOR] = "rail=yes"
    found = nad.read(document)
    assert ("default/rdma-vf", VF, "rail=yes") == (found.key, found.resource, found.node_selector)
    assert (("sriov", "rdma"), ()) == (found.config.types, found.problems)


@pytest.mark.parametrize("document", [None, [], {"metadata": 7}, {"spec": {"config": 7}}])
def test_a_malformed_document_is_a_definition_with_problems(document: object) -> None:
    """A definition never raises."""
    assert nad.read(document).problems


@pytest.mark.parametrize(
    ("resource", "plugin", "asked", "expected"),
    [
        (VF, "sriov", {VF}, ""),
        (VF, "sriov", set(), f"takes a device of {VF}, which no container asks for"),
        ("", "macvlan", set(), ""),
        (
            "",
            "sriov",
            {VF},
            f"has no annotation {nad.RESOURCE}, so its plugins (sriov) get no device",
        ),
    ],
    ids=["asked", "not-asked", "no-device", "no-name"],
)
def test_a_network_starves_without_the_device_it_needs(
    resource: str, plugin: str, asked: set[str], expected: str
) -> None:
    """Multus hands out devices of the resource that the definition names, and no other."""
    found = nad.read(nads.document("r", nads.chain({"type": plugin}), resource))
    assert expected == found.starved(asked)


@pytest.mark.parametrize(
    ("isolation", "namespace", "expected"),
    [
        (nad.OPEN, "rails", False),
        (Isolation(enforced=True), "team", False),
        (Isolation(enforced=True), "default", False),
        (Isolation(enforced=True), "rails", True),
        (Isolation(enforced=True, open_to_all=frozenset({"rails"})), "rails", False),
        (Isolation(enforced=True, open_to_all=frozenset({"rails"})), "default", True),
    ],
)
def test_isolation_hides_other_namespaces_but_the_global_ones(
    isolation: Isolation, namespace: str, expected: bool
) -> None:
    """Global namespaces replace "default", they do not add to it (multus-cni v4.3)."""
    assert expected == isolation.hides(namespace, "team")

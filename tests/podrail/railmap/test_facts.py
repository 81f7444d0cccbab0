"""What the rail map keeps of pods, nodes and NodeRails."""

from __future__ import annotations

from typing import Any

import audited
import builders
import mapped
import pytest

from podrail.railmap import facts

MANY = {"metadata": {"name": "x", "namespace": "team"}, "spec": {"containers": [{"name": "a"}]}}


def test_of_a_pod_that_waits_all_that_its_score_needs_is_kept() -> None:
    """And what the scheduler says; nothing of its images."""
    found = facts.pod(mapped.worker("late-0"))
    assert found is not None
    assert found.document is not None
    assert (mapped.WORDS, audited.START) == (found.words, found.since)
    assert ["name", "resources"] == list(found.document["spec"]["containers"][0])
    assert found.job is not None
    assert "team/late" == found.job.key


def test_of_a_bound_pod_no_document_is_kept() -> None:
    """What it asks for, and the verdict's facts."""
    found = facts.pod(mapped.worker("train-0", "node-0"))
    assert found is not None
    assert ("node-0", None, "") == (found.node, found.document, found.words)
    assert 8 == dict(found.asked)["nvidia.com/gpu"]


@pytest.mark.parametrize(
    ("document", "kept"),
    [
        pytest.param(MANY, False, id="no devices and no fabric"),
        pytest.param({**mapped.stranger("o", "n", 1), "status": {"phase": "Failed"}}, False, id="ended"),
        pytest.param(mapped.stranger("o", "n", 1), True, id="a stranger with GPUs"),
        pytest.param(mapped.program("webhook", "w"), True, id="podrail's own"),
    ],
)  # fmt: skip
def test_who_is_on_the_map(document: dict[str, Any], kept: bool) -> None:
    """Whoever holds devices, has a fabric, or is a program of podrail's."""
    assert kept is (facts.pod(document) is not None)


def test_a_program_that_has_no_condition_is_not_ready() -> None:
    """Its kubelet has not said so yet."""
    found = facts.pod({**mapped.program("webhook", "w"), "status": {}})
    assert found is not None
    assert ("webhook", False) == (found.component, found.ready)


def test_a_pod_without_rails_has_no_job() -> None:
    """One that asks for a fabric in vain is told of all the same."""
    found = facts.pod({**builders.document(name="x"), "metadata": {
        "name": "x", "namespace": "team", "uid": "x", "labels": {"podrail.dev/fabric": "tcp"}}})  # fmt: skip
    assert found is not None
    assert (None, None) == (found.job, found.document)


def test_a_node_is_its_place_and_devices() -> None:
    """And whether it is cordoned."""
    found = facts.node(mapped.node("a", unschedulable=True))
    assert ("b0", "b0/r0", True) == (found.place.block, found.place.leaf, found.cordoned)
    assert 8 == dict(found.devices)["nvidia.com/gpu"]


def test_nodes_of_a_kind_share_their_topology() -> None:
    """Identifiers of GPUs are left out."""
    one, other = (facts.agent(audited.written(audited.node_rails(name=name))) for name in "ab")
    assert one.topology is other.topology
    assert one.topology is not None
    assert {""} == {card.id for card in one.topology.cards}


def test_what_cannot_be_read_is_told() -> None:
    """And nothing else of it."""
    found = facts.agent({"metadata": {"name": "a"}, "status": {"gpus": 7}})
    assert "status.gpus" in found.why
    assert (None, None) == (found.sight, found.topology)


def test_an_agent_that_saw_no_devices_has_no_topology() -> None:
    """On a node without GPUs and NICs it idles."""
    found = facts.agent({"metadata": {"name": "a"}, "status": {"gpudirect": {"verdict": "no"}}})
    assert (None, "no", "") == (found.topology, found.gpudirect, found.why)

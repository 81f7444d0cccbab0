"""What a profile's status says, and when it is written."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import builders
import pytest

from controller import conditions
from controller.conditions import MOST_MESSAGE, Scenery
from podrail.multus import nad
from podrail.multus.nad import Isolation

NOW, LATER = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"
EMPTY = Scenery({}, (), Isolation())
RAIL: dict[str, Any] = {
    "attachment": "SriovVF",
    "rails": {"count": 1},
    "networks": [{"name": "ns/a", "rail": 0}],
}
DEVICE: dict[str, Any] = {"resources": [{"name": "x.io/rail0", "rail": 0}]}


def document(generation: int = 1, **spec: Any) -> dict[str, Any]:
    """A custom resource."""
    found = builders.profile_document("x", **spec)
    return {**found, "metadata": {**found["metadata"], "generation": generation}}


def scenery(resource: str = "x.io/rail0", allocatable: str = "8", mtu: int = 9000) -> Scenery:
    """One definition and one node with GPUs."""
    config = {
        "cniVersion": "1.0.0",
        "name": "a",
        "plugins": [{"type": "sriov", "mtu": mtu}, {"type": "rdma"}],
    }
    definition = {
        "metadata": {
            "namespace": "ns",
            "name": "a",
            "annotations": {"k8s.v1.cni.cncf.io/resourceName": resource},
        },
        "spec": {"config": json.dumps(config)},
    }
    given = {"nvidia.com/gpu": "8", "x.io/rail0": allocatable}
    node = {"metadata": {"labels": {}, "annotations": {}}, "status": {"allocatable": given}}
    return Scenery({"ns/a": nad.read(definition)}, (node,), Isolation())


def told(found: dict[str, Any], around: Scenery) -> dict[str, tuple[str, str]]:
    """Status and reason of each condition."""
    return {one.type: (one.status, one.reason) for one in conditions.of(found, around)}


@pytest.mark.parametrize(
    ("spec", "around", "ready", "networks", "resources"),
    [
        pytest.param({}, EMPTY, "True/Sound", "True/Resolved", "True/Advertised", id="plain"),
        pytest.param(
            {**RAIL, **DEVICE},
            scenery(),
            "True/Sound",
            "True/Resolved",
            "True/Advertised",
            id="sound",
        ),
        pytest.param(
            {**RAIL, **DEVICE},
            Scenery({}, scenery().nodes, Isolation()),
            "False/NadMissing",
            "False/NadMissing",
            "True/Advertised",
            id="no definition",
        ),
        pytest.param(
            {**RAIL, **DEVICE},
            scenery(allocatable="0"),
            "False/ResourceNotAdvertised",
            "True/Resolved",
            "False/ResourceNotAdvertised",
            id="no device",
        ),
        pytest.param(
            {**RAIL, **DEVICE},
            scenery(resource="x.io/other"),
            "False/ResourceMismatch",
            "False/ResourceMismatch",
            "True/Advertised",
            id="another device",
        ),
        pytest.param(
            {"mode": "wrong"},
            EMPTY,
            "False/Malformed",
            "Unknown/Malformed",
            "Unknown/Malformed",
            id="malformed",
        ),
    ],
)
def test_conditions_say_what_would_keep_a_pod_from_its_rails(
    spec: dict[str, Any], around: Scenery, ready: str, networks: str, resources: str
) -> None:
    """Ready is false as soon as one of the others is, and names the reason."""
    found = told(document(**spec), around)
    assert [ready, networks, resources] == [
        "/".join(found[kind]) for kind in ("Ready", "NetworksResolved", "ResourcesAdvertised")
    ]


def test_a_malformed_profile_is_told_with_every_problem() -> None:
    """Each with its path, in one message, within what the API allows."""
    ready = conditions.of(document(mode="wrong", patienceSeconds=-1), EMPTY)[0]
    assert "spec.mode: expected one of" in ready.message
    assert "; spec.patienceSeconds: expected a whole number" in ready.message
    networks = [{"name": f"Wrong {number}"} for number in range(64)]
    settings = [{"name": f"WRONG{number}", "value": "1"} for number in range(64)]
    flood = conditions.of(document(networks=networks, settings=settings, **DEVICE), EMPTY)[0]
    assert len(flood.message) <= MOST_MESSAGE


def test_a_status_is_written_once() -> None:
    """The second look finds nothing to write."""
    found = document()
    status = conditions.status(found, conditions.of(found, EMPTY), NOW)
    assert status is not None
    assert (1, {NOW}) == (
        status["observedGeneration"],
        {one["lastTransitionTime"] for one in status["conditions"]},
    )
    after = {**found, "status": status}
    assert conditions.status(after, conditions.of(after, EMPTY), LATER) is None


def test_a_time_is_that_of_the_last_change() -> None:
    """A condition that stays as it was keeps its time, whatever its message and generation."""
    first = document(**RAIL, **DEVICE)
    status = conditions.status(first, conditions.of(first, scenery()), NOW)
    second = {**document(2, **RAIL, **DEVICE), "status": status}
    around = scenery(allocatable="0")
    later = conditions.status(second, conditions.of(second, around), LATER)
    assert later is not None
    assert {"Ready": LATER, "NetworksResolved": NOW, "ResourcesAdvertised": LATER} == {
        one["type"]: one["lastTransitionTime"] for one in later["conditions"]
    }
    assert {2} == {one["observedGeneration"] for one in later["conditions"]}


def test_conditions_of_others_are_not_ours_to_judge() -> None:
    """One that somebody else wrote makes no difference."""
    found = document()
    status = conditions.status(found, conditions.of(found, EMPTY), NOW)
    assert status is not None
    foreign = {"type": "Theirs", "status": "False"}
    mixed = {**found, "status": {**status, "conditions": [*status["conditions"], foreign]}}
    assert conditions.status(mixed, conditions.of(mixed, EMPTY), LATER) is None


@pytest.mark.parametrize("placed", [True, False])
@pytest.mark.parametrize("extras", [{}, {"schedulerName": "podrail"}], ids=["any", "its own"])
def test_a_profile_whose_scheduler_nobody_installed_is_not_ready(
    extras: dict[str, str], placed: bool
) -> None:
    """Its pods would wait for ever."""
    made = document(attachment="None", extras=extras)
    ready, *_ = conditions.of(made, replace(EMPTY, placed=placed))
    hangs = bool(extras) and not placed
    assert hangs == (ready.status == "False")
    assert hangs == (ready.reason == "NobodyPlaces")

"""Profiles of several places: which one counts, what stays, and what was before."""

from __future__ import annotations

from typing import Any

import builders
import pytest

from podrail import profiles
from podrail.profiles import MOST_GENERATIONS, Loaded


def document(name: str = "x", generation: int = 1, **spec: Any) -> dict[str, Any]:
    """A profile's document of some generation."""
    found = builders.profile_document(name, **spec)
    return {**found, "metadata": {**found["metadata"], "generation": generation}}


def layers(*found: list[dict[str, Any]], earlier: Loaded | None = None) -> Loaded:
    """The profiles of these layers."""
    return profiles.layered(
        [
            [(f"{layer}.{index}", one) for index, one in enumerate(documents)]
            for layer, documents in enumerate(found)
        ],
        earlier,
    )


def test_a_later_layer_wins_and_gives_way_again() -> None:
    """A custom resource before a file before a shipped one, whatever the order of names."""
    shipped, own, cluster = (
        [document("x", description=name), document(name)] for name in ("c", "b", "a")
    )
    found = layers(shipped, own, cluster)
    assert ({"a", "b", "c", "x"}, "a") == (
        set(found.profiles),
        found.profiles["x"].description,
    )
    found = layers(shipped, own, [], earlier=found)
    assert "b" == found.profiles["x"].description
    found = layers(shipped, [], [], earlier=found)
    assert "c" == found.profiles["x"].description


def test_a_document_that_stays_keeps_its_profile() -> None:
    """A Profile is compared by identity; one that changes is a new one."""
    first = layers([document("x"), document("y")])
    second = layers([document("x"), document("y", description="new")], earlier=first)
    assert first.profiles["x"] is second.profiles["x"]
    assert first.profiles["y"] is not second.profiles["y"]


def test_a_broken_document_never_replaces_a_good_profile() -> None:
    """The last good one of its place stays, as often as it is looked at, and the problem is told."""
    good = layers([document("x", description="shipped")], [document("x", description="own")])
    broken = document("x", mode="wrong")
    for _ in range(3):
        later = layers([document("x", description="shipped")], [broken], earlier=good)
        assert good.profiles["x"] is later.profiles["x"]
        assert ["1.0: spec.mode"] == [problem.path for problem in later.problems]
        good = later


def test_a_broken_document_that_was_never_good_leaves_an_earlier_layer_in_force() -> None:
    """A mistake in a new custom resource does not take the shipped one away."""
    found = layers([document("x", description="shipped")], [document("x", mode="wrong")])
    assert "shipped" == found.profiles["x"].description
    assert 1 == len(found.problems)


@pytest.mark.parametrize("wrong", [[], None, "x", {"metadata": 3}, {"metadata": {"name": []}}])
def test_what_has_no_name_is_a_problem_and_nothing_else(wrong: Any) -> None:
    """Whatever stands in a folder."""
    found = profiles.load([("a.yaml", wrong), ("b.yaml", document("x"))])
    assert ["x"] == list(found.profiles)
    assert found.problems


def test_earlier_generations_are_remembered() -> None:
    """The last eight, the present one among them; a job may go on with the one it began with."""
    found = layers([document(generation=1)])
    seen = {1: found.profiles["x"]}
    for generation in range(2, 12):
        found = layers([document(generation=generation)], earlier=found)
        seen[generation] = found.profiles["x"]
    kept = {number: found.at("x", number) for number in range(13)}
    expected = {number: seen[number] for number in range(12 - MOST_GENERATIONS, 12)}
    assert expected == {number: one for number, one in kept.items() if one is not None}


def test_a_generation_has_one_profile_the_latest() -> None:
    """A file has no generations of its own: what stands in it now is meant."""
    first = layers([document(description="old")])
    second = layers([document(description="new")], earlier=first)
    assert second.profiles["x"] is second.at("x", 1)
    third = layers([document(generation=2)], earlier=second)
    assert second.profiles["x"] is third.at("x", 1)


def test_a_profile_that_is_gone_has_no_generations() -> None:
    """Deleted means deleted, for the pods of running jobs too."""
    found = layers([], earlier=layers([document()]))
    assert found.at("x", 1) is None


def test_of_a_custom_resource_only_what_it_says_matters() -> None:
    """Its status and who wrote it when make no other profile."""
    bare = document(generation=3, mode="Observe")
    stored = {
        **bare,
        "metadata": {**bare["metadata"], "resourceVersion": "7", "managedFields": [{}]},
        "status": {"conditions": []},
    }
    assert bare == profiles.resource(stored)

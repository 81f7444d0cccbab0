"""A cluster at one moment, out of its documents."""

from __future__ import annotations

from typing import Any

import builders
import placing
import pytest
import scenes
import states

from podrail.locality import Level
from podrail.score import state

RAILS = builders.shipped()["sriov-rails"]
SURE = '{"v":1,"rails":[4,5,6,7],"gpuSets":[{"gpus":[4,5,6,7],"p":1.0}]}'
JOB = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "llm", "namespace": "team"},
    "spec": {"parallelism": 4, "template": {"spec": {"containers": [builders.container()]}}},
}


def half(name: str = "a", **fields: Any) -> dict[str, Any]:
    """An injected pod with four GPUs."""
    return placing.injected(RAILS, builders.container(gpus=4), name=name, **fields)


def test_a_node_without_pods_is_idle() -> None:
    """All of its devices are free, and its place is as its labels say."""
    (spot,) = scenes.snap(scenes.node("n", labels=scenes.at("r1"))).spots
    assert spot.state is not None
    assert (8, "b/r1", "catalog") == (spot.free["nvidia.com/gpu"], spot.place.leaf, spot.topology)
    assert state.plain(placing.ALIGNED) == spot.state.topology
    assert (tuple(range(8)), {}) == (spot.state.gpus, spot.state.uses)


def test_bound_pods_take_devices_rails_and_the_gpus_that_are_sure() -> None:
    """The rails are those of the placement; a marker with p = 1 names the GPUs."""
    taken = scenes.bound(half(), "n", SURE)
    (spot,) = scenes.snap(scenes.node("n"), taken).spots
    assert spot.state is not None
    assert (4, (0, 1, 2, 3)) == (spot.free["nvidia.com/gpu"], spot.state.gpus)
    assert dict.fromkeys((4, 5, 6, 7), 1) == spot.state.uses


def test_of_a_pod_without_a_sure_marker_only_the_number_of_gpus_is_known() -> None:
    """The rails are those of admission."""
    pod = half()
    (spot,) = scenes.snap(scenes.node("n"), scenes.bound(pod, "n")).spots
    assert spot.state is not None
    assert (None, states.wish(RAILS, 4).marker.rails) == (spot.state.gpus, tuple(spot.state.uses))


@pytest.mark.parametrize(
    ("changed", "free"),
    [({"phase": "Failed"}, 8), ({}, 4)],
    ids=["ended", "running"],
)
def test_only_pods_that_have_not_ended_count(changed: dict[str, str], free: int) -> None:
    """A pod that has ended has given its devices back."""
    (spot,) = scenes.snap(scenes.node("n"), scenes.bound(half(), "n", **changed)).spots
    assert free == spot.free["nvidia.com/gpu"]


def test_the_pod_that_is_asked_about_counts_as_not_bound() -> None:
    """So its own node is judged as if it came now."""
    pod = scenes.bound(half("mine"), "n", SURE)
    (spot,) = scenes.snap(scenes.node("n"), pod, apart_from=("team", "mine")).spots
    assert 8 == spot.free["nvidia.com/gpu"]


def test_jobs_have_their_bound_pods_and_claim_the_rest() -> None:
    """The size comes from the Job in the dump; the claim is where the latest pod is."""
    labels = {"batch.kubernetes.io/job-name": "llm"}
    times = {"n": "2026-01-02T00:00:00Z", "m": "2026-01-01T00:00:00Z"}
    pods = [
        scenes.bound(
            placing.injected(RAILS, builders.container(), name=name, labels=labels),
            name,
            conditions=[{"type": "PodScheduled", "lastTransitionTime": since}],
        )
        for name, since in times.items()
    ]
    nodes = [scenes.node(name, labels=scenes.at(name)) for name in times]
    found = scenes.snap(*nodes, *pods, JOB)
    assert {"n": 1, "m": 1} == found.siblings.crew("team/llm").nodes
    assert {"b/n": 2} == found.claims.others("team/other", 0.0)[Level.LEAF]


def test_a_node_of_which_nothing_is_known_has_no_state() -> None:
    """What it counts is known nevertheless."""
    (spot,) = scenes.snap(scenes.node("n", "no such type", unschedulable=True)).spots
    assert (None, 8, True) == (spot.state, spot.free["nvidia.com/gpu"], spot.cordoned)

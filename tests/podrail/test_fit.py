"""What is free on a node."""

from __future__ import annotations

from typing import Any

import builders

from podrail import fit

NODE: dict[str, Any] = {
    "status": {"allocatable": {"nvidia.com/gpu": "8", "cpu": "4", "x.io/a": "1k"}}
}


def test_running_pods_take_and_ended_pods_give_back() -> None:
    """Extended resources only; a node may be overcommitted."""
    ended = {**builders.document(), "status": {"phase": "Succeeded"}}
    left = fit.free(NODE, [builders.document(builders.container(gpus=3)), ended])
    assert {"nvidia.com/gpu": 5, "x.io/a": 1000} == left


def test_only_extended_resources_are_asked_for() -> None:
    """CPU and memory are kube-scheduler's to fit; several containers add up."""
    one = builders.container(gpus=2, limits={"cpu": "500m", "memory": "1Gi"})
    assert {"nvidia.com/gpu": 4} == fit.asked(builders.document(one, one))


def test_a_shortage_names_the_resource_and_both_counts() -> None:
    """The first by name."""
    assert "x.io/a: 2 asked, 0 free" == fit.shortage({"x.io/a": 2, "z.io/b": 1}, {"x.io/a": -3})
    assert not fit.shortage({"x.io/a": 2}, {"x.io/a": 2})


def test_a_pod_is_bound_since_its_condition_says_so() -> None:
    """Whatever stands before it; nothing is known without that condition."""
    ready = {"type": "Ready", "lastTransitionTime": "2026-01-02T00:00:00Z"}
    bound = {"type": "PodScheduled", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    assert "2026-01-01T00:00:00Z" == fit.since({"status": {"conditions": [ready, bound]}})
    assert not fit.since({"status": {"conditions": [ready]}})

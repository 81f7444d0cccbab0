"""What the extender keeps of nodes and pods, and the ledger that the watch feeds."""

from __future__ import annotations

from collections import Counter

import pytest
import staging

from extender.known import Held
from podrail import names

HALVES = staging.halves()


def hold(stage: staging.Stage, node: str) -> None:
    """Begin the bind of a pod with two rails."""
    stage.cluster.hold(staging.UID, stage.cluster.tenant("team/p", node, Held()), lambda _: (0, 1))


def test_a_node_is_known_by_its_machine_type() -> None:
    """A type that no catalog has leaves the topology unknown."""
    stage = staging.Stage()
    stage.sees_nodes(a="good", b="who")
    good, unknown = stage.cluster.standing("a"), stage.cluster.standing("b")
    assert good.topology is not None
    assert ("good", None) == (good.topology.shape, unknown.topology)


def test_a_pod_bound_without_the_extender_uses_the_rails_of_its_admission() -> None:
    """An outage bound it as it was."""
    stage = staging.Stage()
    pod = staging.injected(HALVES, annotations={names.RAILS: "2,3"})
    stage.sees_bound(pod, "n")
    assert Counter({2: 1, 3: 1}) == stage.used("n")


@pytest.mark.parametrize("marker", ["{", '{"v":1,"outcome":"skipped","profile":"p","rails":[1]}'])
def test_a_bound_pod_without_rails_uses_none(marker: str) -> None:
    """Skipped, or a marker that nobody can read."""
    stage = staging.Stage()
    stage.sees_bound(staging.stranger(annotations={names.INJECTED: marker}), "n")
    assert Counter[int]() == stage.used("n")


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_ended_gives_its_rails_back(phase: str) -> None:
    """Terminal phase is as good as deletion."""
    stage = staging.Stage()
    pod = staging.injected(HALVES)
    stage.sees_bound(pod, "n")
    assert 4 == stage.used("n").total()
    stage.sees_bound({**pod, "status": {"phase": phase}}, "n")
    assert 0 == stage.used("n").total()


def test_a_deleted_pod_gives_its_rails_back() -> None:
    """Whether the watch tells of it or a new list lacks it."""
    stage = staging.Stage()
    pod = staging.injected(HALVES)
    stage.sees_bound(pod, "n")
    stage.sees_pod(pod, "DELETED")
    assert 0 == stage.used("n").total()


def test_a_pod_of_the_same_name_is_another_pod() -> None:
    """The first one's rails are given back though nobody saw it go."""
    stage = staging.Stage()
    stage.sees_bound(staging.injected(HALVES), "n")
    stage.sees_bound(staging.injected(HALVES, uid="another"), "m")
    assert (0, 4) == (stage.used("n").total(), stage.used("m").total())


def test_a_pod_that_another_binder_put_elsewhere_frees_what_was_held() -> None:
    """The watch has the last word."""
    stage = staging.Stage()
    hold(stage, "n")
    stage.sees_bound(staging.injected(HALVES), "m")
    assert (0, 4) == (stage.used("n").total(), stage.used("m").total())


def test_a_hold_ends_by_itself() -> None:
    """A bind that never happened leaves no trace."""
    stage = staging.Stage()
    hold(stage, "n")
    stage.now += 59
    assert 2 == stage.used("n").total()
    stage.now += 1
    assert 0 == stage.used("n").total()


def test_the_view_is_as_old_as_its_older_half() -> None:
    """And not synced before both lists have come."""
    stage = staging.Stage()
    stage.sees_node("n", "good")
    assert (False, float("inf")) == (stage.cluster.synced, stage.cluster.age())
    stage.now += 5
    stage.sees_pod(staging.stranger())
    assert (True, 5.0) == (stage.cluster.synced, stage.cluster.age())

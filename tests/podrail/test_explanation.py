"""Why a pod is worth what it is on each node."""

from __future__ import annotations

from typing import Any

import builders
import placing
import pytest
import scenes

from podrail import explanation
from podrail.explanation import HELP, Explanation, Kind
from podrail.score.weights import Part
from podrail.snapshot import Snapshot

RAILS = builders.shipped()["sriov-rails"]


def explained(world: Snapshot, gpus: int = 8, **fields: Any) -> Explanation:
    """The explanation of a pod of the fabric sriov-rails."""
    pod = placing.injected(RAILS, builders.container(gpus=gpus), **fields)
    return explanation.explain(pod, placing.wish(pod), RAILS, world)


def test_the_best_node_comes_first_with_every_part() -> None:
    """What the parts add is the worth."""
    world = scenes.snap(scenes.node("x", "podrail-crossed"), scenes.node("a"))
    first, second = explained(world).best
    assert ("a", 10, "x") == (first.spot.name, first.points, second.spot.name)
    assert second.points < 10
    assert first.worth == pytest.approx(sum(share.adds for share in first.shares))
    parts = {Part.REACH, Part.ALIGNMENT, Part.HEALTH, Part.CERTAINTY}
    assert parts == {share.part for share in first.shares}


def test_bound_siblings_draw_the_next_pod_to_their_place() -> None:
    """Closeness and rails in common apply once a pod of the job is bound."""
    labels = {"batch.kubernetes.io/job-name": "llm"}
    first = scenes.bound(placing.injected(RAILS, builders.container(), labels=labels), "a1")
    nodes = [scenes.node(name, labels=scenes.at(name[0])) for name in ("a1", "a2", "z1")]
    found = explained(scenes.snap(*nodes, first), labels=labels, name="worker-1")
    assert (1, "a2", ["a1"]) == (
        found.crew.pods,
        found.best[0].spot.name,
        [miss.spot.name for miss in found.misses],
    )
    assert {Part.CLOSENESS, Part.COMMON} <= {share.part for share in found.best[0].shares}


MISSES = [
    (scenes.node("n", gpus=4), Kind.TOO_SMALL, "nvidia.com/gpu: 8 asked, 4 free"),
    (scenes.node("n", gpus=0), Kind.ABSENT, "nvidia.com/gpu: the node offers none"),
    (scenes.node("n", unschedulable=True), Kind.CORDONED, "the node is cordoned"),
    (scenes.node("n", "dgx1-v100"), Kind.PERMANENT, "podrail: the node lacks rails that the pod was given"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("node", "kind", "reason"), MISSES, ids=["small", "absent", "cordoned", "rails"]
)
def test_a_node_that_does_not_do_says_why_and_what_would_help(
    node: dict[str, Any], kind: Kind, reason: str
) -> None:
    """In the extender's words where it refuses, else in kube-scheduler's."""
    (miss,) = explained(scenes.snap(node)).misses
    assert (kind, reason, True) == (miss.kind, miss.reason, bool(miss.help))


def test_a_selector_that_the_node_lacks_is_told() -> None:
    """With the label, as the pod or its profile has it."""
    (miss,) = explained(scenes.snap(scenes.node("n")), nodeSelector={"pool": "gpu"}).misses
    assert (Kind.UNSELECTED, "the node has no label pool=gpu") == (miss.kind, miss.reason)


def test_the_nearest_miss_lacks_least() -> None:
    """Taken devices come before what never fits; fewer missing before more."""
    nodes = [scenes.node(name) for name in ("two", "six")] + [scenes.node("small", gpus=4)]
    taken = [
        scenes.bound(placing.injected(RAILS, builders.container(gpus=gpus), name=name), name)
        for name, gpus in (("two", 2), ("six", 6))
    ]
    found = explained(scenes.snap(*nodes, *taken))
    assert [("two", 2), ("six", 6), ("small", 4)] == [
        (one.spot.name, one.lacking) for one in found.misses
    ]
    assert {(Kind.SHORT, "too few nvidia.com/gpu"): 2, (Kind.TOO_SMALL, "too few nvidia.com/gpu"): 1} == found.refusals  # fmt: skip


def test_what_no_node_offers_is_told_apart_from_what_there_is_too_little_of() -> None:
    """More devices would not help: a plugin is missing, or a name is wrong; none at all is no wish."""
    world = scenes.snap(scenes.node("a", gpus=4), scenes.node("b"))
    pod = placing.injected(
        RAILS, builders.container(gpus=8, limits={"x.io/nic": "2", "x.io/none": "0"})
    )
    found = explanation.explain(pod, placing.wish(pod), RAILS, world)
    assert (("x.io/nic",), {(Kind.ABSENT, "no x.io/nic"): 2}, [2, 2]) == (
        found.absent,
        found.refusals,
        [one.lacking for one in found.misses],
    )


def test_what_one_node_offers_is_not_absent() -> None:
    """Though the other nodes have none of it."""
    found = explained(scenes.snap(scenes.node("a", gpus=0), scenes.node("b")))
    assert ((), ["b"]) == (found.absent, [one.spot.name for one in found.best])


def test_an_unknown_node_is_in_the_middle() -> None:
    """With no parts and no outlook."""
    world = scenes.snap(scenes.node("a"), scenes.node("u", "no such type"))
    known, unknown = explained(world).best
    assert (10, 5, None, ()) == (known.points, unknown.points, unknown.worth, unknown.shares)


def test_every_kind_of_refusal_has_a_help() -> None:
    """A reader always finds what to do."""
    assert set(Kind) == set(HELP)


def test_a_node_that_does_needs_no_help_and_may_be_selected() -> None:
    """A selector that it meets keeps it in."""
    labels = {"pool": "gpu"}
    world = scenes.snap(scenes.node("n", labels=labels))
    (best,) = explained(world, nodeSelector=labels).best
    assert ("n", "") == (best.spot.name, best.help)

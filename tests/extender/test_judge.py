"""Filter and prioritize over what is known of the nodes."""

from __future__ import annotations

from typing import Any

import pytest
import staging

from podrail import names
from podrail.extension import Arguments
from podrail.placement import Misfit

NAMES = ["a", "b", "c", "d"]
HALVES = staging.halves()


def stage() -> staging.Stage:
    """Nodes of three machine types, and d of which nothing is known."""
    made = staging.Stage(HALVES)
    made.sees_nodes(a="good", b="bad", c="small", d="who")
    return made


def asked(pod: Any = None, nodes: Any = NAMES) -> Arguments:
    """The scheduler's question for a pod of eight GPUs."""
    return Arguments(pod or staging.injected(HALVES, gpus=8), nodes)


def test_a_node_is_refused_for_its_machine_type_only() -> None:
    """An unknown node passes, as does a bad one that has all that the pod needs."""
    assert {"c": Misfit.TOO_FEW_GPUS} == stage().judge.filter(asked())


def test_the_aligned_node_is_best_and_an_unknown_one_neutral() -> None:
    """In the order of the names."""
    assert [10, 4, 5] == stage().scores(asked(nodes=["a", "b", "d"]))
    assert [5, 4, 10] == stage().scores(asked(nodes=["d", "b", "a"]))


def test_where_no_node_is_known_all_score_nothing() -> None:
    """A node that the cache has never seen is as unknown as one without a shape."""
    found = stage()
    assert [0, 0] == found.scores(asked(nodes=["d", "never-seen"]))
    assert 1 == found.count("unscored_calls_total", reason="no_topology")


def test_a_pod_that_is_not_ours_passes_everywhere_with_no_score() -> None:
    """The other rules of the scheduler decide alone."""
    question = asked(staging.stranger())
    found = stage()
    assert {} == found.judge.filter(question)
    assert [0, 0, 0, 0] == found.scores(question)
    assert 1 == found.count("unscored_calls_total", reason="not_injected")


@pytest.mark.parametrize(("age", "stale"), [(300, False), (301, True)])
def test_an_old_view_judges_nobody(age: int, stale: bool) -> None:
    """Yesterday's cluster is worse than none."""
    found = stage()
    found.now += age
    assert stale == found.judge.stale
    assert ([] if stale else ["c"]) == list(found.judge.filter(asked()))
    assert stale == (found.scores(asked()) == [0, 0, 0, 0])


def test_both_answers_are_pure() -> None:
    """Simulations ask too: a second answer is the first, and nothing was held or written."""
    found = stage()
    first = (found.judge.filter(asked()), found.scores(asked()))
    assert first == (found.judge.filter(asked()), found.scores(asked()))
    assert [] == found.api.posts
    assert 0 == found.used("a").total()


def test_thousands_of_names_are_one_seat_for_each_machine_type() -> None:
    """What is looked at is states and places; the time is the bench's affair."""
    found = stage()
    nodes = [f"n{number}" for number in range(5000)]
    for number, name in enumerate(nodes):
        found.sees_node(name, ("good", "bad", "who")[number % 3])
    assert 3 == len(found.cluster.candidates(nodes).counts)


@pytest.mark.parametrize(
    ("waited", "refused"),
    [
        pytest.param(0, ["a"], id="new"),
        pytest.param(599, ["a"], id="has patience"),
        pytest.param(600, [], id="has none left"),
        pytest.param(-30, ["a"], id="our clock is a little behind"),
        pytest.param(-86_400, [], id="our clock is wrong"),
    ],
)
def test_held_rails_are_refused_until_the_pods_patience_is_over(
    waited: int, refused: list[str]
) -> None:
    """Then the node only scores low; the refusal is of the kind that preemption may answer."""
    found = staging.Stage(staging.halves(patienceSeconds=600))
    found.sees_nodes(a="good", b="good")
    for rails in ("[0,1,2,3]", "[4,5,6,7]"):
        other = staging.injected(HALVES, uid=f"u{rails}", name=f"p{rails[1]}")
        found.sees_bound(other, "a", **{names.PLACEMENT: f'{{"v":1,"rails":{rails}}}'})
    pod = staging.injected(HALVES)
    pod["metadata"]["creationTimestamp"] = found.wall().isoformat()
    found.now += waited
    found.sees_nodes(c="good")
    answer = found.post("filter", {"Pod": pod, "NodeNames": ["a", "b"]})
    assert refused == list(answer["FailedNodes"])
    assert {} == answer["FailedAndUnresolvableNodes"]
    assert [0, 10] == found.scores(asked(pod, ["a", "b"]))

"""Filter and prioritize over what is known of the nodes."""

from __future__ import annotations

from typing import Any

import pytest
import staging

from podrail.extension import Arguments
from podrail.placement import Misfit
from podrail.topology import Topology

NAMES = ["a", "b", "c", "d"]
HALVES = staging.halves()


def stage() -> staging.Stage:
    """Nodes of three machine types, and d of which nothing is known."""
    made = staging.Stage(HALVES)
    made.sees_nodes(a="good", b="bad", c="small", d="who")
    return made


def asked(pod: Any = None, names: Any = NAMES) -> Arguments:
    """The scheduler's question for a pod of eight GPUs."""
    return Arguments(pod or staging.injected(HALVES, gpus=8), names)


def test_a_node_is_refused_for_its_machine_type_only() -> None:
    """An unknown node passes, as does a bad one that has all that the pod needs."""
    assert (["a", "b", "d"], {"c": Misfit.TOO_FEW_GPUS}) == stage().judge.filter(asked())


def test_the_aligned_node_is_best_and_an_unknown_one_neutral() -> None:
    """In the order of the names."""
    assert [10, 4, 5] == stage().judge.prioritize(asked(names=["a", "b", "d"]))
    assert [5, 4, 10] == stage().judge.prioritize(asked(names=["d", "b", "a"]))


def test_where_no_node_is_known_all_score_nothing() -> None:
    """A node that the cache has never seen is as unknown as one without a shape."""
    assert [0, 0] == stage().judge.prioritize(asked(names=["d", "never-seen"]))


def test_a_pod_that_is_not_ours_passes_everywhere_with_no_score() -> None:
    """The other rules of the scheduler decide alone."""
    question = asked(staging.stranger())
    assert (NAMES, {}) == stage().judge.filter(question)
    assert [0, 0, 0, 0] == stage().judge.prioritize(question)


@pytest.mark.parametrize(("age", "stale"), [(300, False), (301, True)])
def test_an_old_view_judges_nobody(age: int, stale: bool) -> None:
    """Yesterday's cluster is worse than none."""
    found = stage()
    found.now += age
    assert stale == found.judge.stale
    assert (NAMES if stale else ["a", "b", "d"]) == found.judge.filter(asked())[0]
    assert stale == (found.judge.prioritize(asked()) == [0, 0, 0, 0])


def test_both_answers_are_pure() -> None:
    """Simulations ask too: a second answer is the first, and nothing was held or written."""
    found = stage()
    first = (found.judge.filter(asked()), found.judge.prioritize(asked()))
    assert first == (found.judge.filter(asked()), found.judge.prioritize(asked()))
    assert [] == found.api.posts
    assert 0 == found.used("a").total()


def test_thousands_of_names_cost_one_verdict_for_each_machine_type() -> None:
    """And a look-up for each name; the time is the bench's affair."""
    found = stage()
    names = [f"n{number}" for number in range(5000)]
    for number, name in enumerate(names):
        found.sees_node(name, ("good", "bad", "who")[number % 3])
    judged: list[str] = []

    def verdict(topology: Topology) -> str:
        judged.append(topology.shape)
        return topology.shape

    assert ["good", "bad", None, "good"] == found.judge._each(names, verdict)[:4]
    assert ["good", "bad"] == judged

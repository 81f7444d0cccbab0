"""The nodes of a question at one moment, and that no moment is taken for another."""

from __future__ import annotations

from collections.abc import Iterator

import staging
from fuzz import examples
from hypothesis import given
from hypothesis import strategies as st

from extender.candidates import UNKNOWN, Candidates
from podrail.extension import Arguments
from podrail.locality import Place

RACK = "topology.kubernetes.io/rack"
NAMES = ["a", "b", "c", "d"]
HALVES = staging.halves()


def stage() -> staging.Stage:
    """Two nodes in one rack, one in another, and d that nobody has seen."""
    found = staging.Stage(HALVES)
    for name, kind, rack in (("a", "good", "r"), ("b", "good", "r"), ("c", "small", "s")):
        found.sees_node(name, kind, **{RACK: rack})
    found.sees_nodes()
    return found


def occupied(found: staging.Stage, node: str) -> None:
    """Let the watch show a pod that is bound to the node."""
    found.sees_bound(staging.injected(HALVES, uid=f"on-{node}", name=f"on-{node}"), node)


def test_nodes_are_counted_by_state_and_place() -> None:
    """Equal ones count together, and one that no watch has shown is nowhere."""
    there = stage().cluster.candidates(NAMES)
    assert [0, 0, 2, 3] == [there.seats.index(seat) for seat in there.seats]
    assert (2, 1, 1) == tuple(there.counts.values())
    assert UNKNOWN is there.seats[3]
    assert {Place(leaf="r"): 2, Place(leaf="s"): 1, Place(): 1} == there.there()
    assert (2, 8) == (len(there.states), there.most_gpus)


def test_nobody_is_at_no_place_and_has_no_gpu() -> None:
    """kube-scheduler never asks so; others may."""
    there = stage().cluster.candidates([])
    assert ({}, 0) == (there.there(), there.most_gpus)


def test_the_same_question_at_the_same_moment_is_looked_up_once() -> None:
    """A change of any node ends the moment; one that leaves each node as it was does not."""
    found = stage()
    before = found.cluster.candidates(NAMES)
    found.sees_node("a", "good", **{RACK: "r"})
    assert before is found.cluster.candidates(NAMES)
    assert before is not found.cluster.candidates(list(NAMES))
    before = found.cluster.candidates(NAMES)
    occupied(found, "b")
    assert before is not found.cluster.candidates(NAMES)


def test_a_hold_whose_time_is_over_ends_the_moment() -> None:
    """Nobody tells of it but the clock."""
    found = stage()
    found.sees_pod(staging.injected(HALVES))
    idle = found.cluster.candidates(NAMES).seats
    assert "" == found.binds(staging.injected(HALVES), "a")
    assert idle != found.cluster.candidates(NAMES).seats
    found.now += 60
    assert idle == found.cluster.candidates(NAMES).seats


class Interrupted(list[str]):
    """Names at whose third something happens in the cluster."""

    found: staging.Stage | None = None

    def __iter__(self) -> Iterator[str]:
        for at, name in enumerate(super().__iter__()):
            if at == 2 and self.found is not None:
                occupied(self.found, "a")
            yield name


def test_what_changes_while_it_is_looked_up_is_looked_up_again() -> None:
    """An answer may be a mixture of two moments, but only once."""
    found, names = stage(), Interrupted(NAMES)
    names.found = found
    mixed = found.cluster.candidates(names)
    names.found = None
    assert mixed.seats[0] is mixed.seats[1]
    later = found.cluster.candidates(names)
    assert later.seats[0] is not later.seats[1]


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["filter", "prioritize", "bind", "seen", "gone", "node", "later"]),
        st.sampled_from("abc"),
        st.permutations(NAMES).map(lambda names: names[:3]),
    ),
    max_size=12,
)


@given(STEPS)
@examples(60)
def test_what_is_kept_never_changes_an_answer(steps: list[tuple[str, str, list[str]]]) -> None:
    """After any events a question is answered as by one who keeps nothing but the books."""
    found, asked = stage(), Arguments(staging.injected(HALVES), NAMES)
    for number, (what, node, names) in enumerate(steps):
        event(found, number, what, node)
        asked = Arguments(asked.pod, names) if what in {"filter", "prioritize"} else asked
        kept = (found.judge.filter(asked), found.scores(asked))
        found.judge._kept.clear()
        found.cluster._asked = Candidates.of((), -1, {})
        assert (found.judge.filter(asked), found.scores(asked)) == kept


def event(found: staging.Stage, number: int, what: str, node: str) -> None:
    """Let something happen on a node; a question is no event."""
    pod = staging.injected(HALVES, uid=f"u{number}", name=f"p{number}")
    if what == "bind":
        found.sees_pod(pod)
        found.binds(pod, node)
    elif what == "seen":
        occupied(found, node)
    elif what == "gone":
        found.sees_pod(staging.injected(HALVES, uid=f"on-{node}", name=f"on-{node}"), "DELETED")
    elif what == "node":
        found.sees_node(node, ("good", "bad", "small")[number % 3], **{RACK: str(number % 2)})
    elif what == "later":
        found.now += 30


def test_a_profile_that_calls_gpus_otherwise_has_all_nodes_looked_at_anew() -> None:
    """Which GPUs are free is known of a resource that a profile names, and of no other."""
    found = staging.Stage(HALVES, devices={"example.com/gpu": "8"})
    found.sees_nodes(a="good")
    assert [None] == [state.gpus for state in found.cluster.candidates(NAMES).states]
    found.fabrics = {"halves": staging.halves(gpuResources=["example.com/gpu"])}
    assert [tuple(range(8))] == [state.gpus for state in found.cluster.candidates(NAMES).states]

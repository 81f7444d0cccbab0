"""Which rails a pod gets at the bind."""

from __future__ import annotations

from collections import Counter
from typing import Any

import placing
import pytest
import states
from fuzz import examples
from hypothesis import given
from hypothesis import strategies as st

from podrail.kubelet.node import Policy
from podrail.ledger import Ledger
from podrail.score import choice, kin
from podrail.score.choice import Rails
from podrail.topology import State as Port

LOW, HIGH = (0, 1, 2, 3), (4, 5, 6, 7)
HALF = states.need(states.SHARED, 4)
ONE = states.need(states.SHARED, 1)
USED = st.dictionaries(st.integers(0, 7), st.integers(0, 3))


@pytest.mark.parametrize(
    ("gpus", "policy", "rails"),
    [
        pytest.param(HIGH, Policy.NONE, HIGH, id="the upper half is free"),
        pytest.param(LOW, Policy.NONE, LOW, id="the lower half is free"),
        pytest.param(range(8), Policy.BEST_EFFORT, LOW, id="the kubelet steers to the lower"),
        pytest.param((0, 1, 6, 7), Policy.NONE, (0, 1, 6, 7), id="what is left of both"),
    ],
)
def test_rails_follow_the_gpus_that_the_kubelet_will_hand_out(
    gpus: Any, policy: Policy, rails: tuple[int, ...]
) -> None:
    """Whichever rails admission named."""
    state = states.node(gpus=gpus, policy=policy)
    assert Rails(rails, conflict=False) == choice.rails(state, HALF, {})


def test_a_rail_of_its_own_is_better_than_a_near_one() -> None:
    """Where a pod takes a part of the rails, each pod has its own as long as there are any."""
    state = states.node(gpus=LOW)
    assert Rails(HIGH, conflict=False) == choice.rails(state, HALF, dict.fromkeys(LOW, 1))


def test_of_equal_rails_the_jobs_are_taken_then_the_least_used() -> None:
    """On an idle node either half is as good."""
    others = {*LOW, *HIGH} - set(HALF.rails)
    own = kin.of(dict.fromkeys(others, 7))
    assert tuple(sorted(others)) == choice.rails(states.node(), HALF, {}, own).rails
    assert HALF.rails == choice.rails(states.node(), HALF, {}).rails


def test_a_rail_that_is_down_is_no_choice() -> None:
    """Nor is one that the node has not."""
    node = states.ports(placing.ALIGNED, r5=Port.DOWN)
    found = choice.rails(states.node(node, gpus=HIGH), HALF, {}).rails
    assert (4, 6, 7) == tuple(rail for rail in found if rail in HIGH)
    assert (0, 1, 2, 3) == choice.there(states.node(placing.FOUR_RAILS), HALF)


def test_where_no_numa_node_is_known_the_profiles_groups_count() -> None:
    """Two rails of one group, although rail 2 is the lowest of the free ones."""
    unknown = states.machine(
        ["SYS SYS SYS SYS SYS SYS SYS SYS"] * 8, numas=(None,) * 8, nics=(None,) * 8
    )
    need = states.need(states.SHARED, 2)
    found = choice.rails(states.node(unknown), need, dict.fromkeys((0, 1, 2), 1)).rails
    assert set(found) <= set(HIGH)


@given(USED)
@examples(60)
def test_rails_are_shared_only_if_too_few_are_free(used: dict[int, int]) -> None:
    """Then it is a conflict, and the pod has as many rails all the same."""
    found = choice.rails(states.node(), HALF, used)
    free = [rail for rail in range(8) if not used.get(rail)]
    assert 4 == len(set(found.rails))
    assert found.conflict is (len(free) < 4)
    if free:
        assert len(set(free) & set(found.rails)) == min(4, len(free))


def test_two_hundred_pods_at_once_share_no_rail_while_one_is_free() -> None:
    """25 nodes of eight rails: each pod has its own, and the next one conflicts."""
    ledger = Ledger()
    for number in range(200):
        node = f"n{number % 25}"
        found = choice.rails(states.node(), ONE, ledger.used(node, "", 0))
        assert not found.conflict
        ledger.hold(f"pod-{number}", node, found.rails, 60)
    for name in {f"n{number}" for number in range(25)}:
        assert Counter(range(8)) == ledger.used(name, "", 0)
    assert choice.rails(states.node(), ONE, ledger.used("n0", "", 0)).conflict

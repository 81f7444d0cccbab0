"""What stays whole of a node."""

from __future__ import annotations

from dataclasses import replace

import placing
import pytest
import states
import traffic
from hypothesis import given
from hypothesis import strategies as st

from podrail import packing
from podrail.packing import Left
from podrail.score import state
from podrail.topology import Topology

NODE = state.plain(placing.ALIGNED)
SETS = st.frozensets(st.integers(0, 7))


def whole(*gpus: int, topology: Topology = NODE) -> float:
    """What can be had whole of these free GPUs."""
    return packing.whole(topology, Left(frozenset(gpus)))


def test_an_empty_node_is_whole_and_a_full_one_leaves_nothing() -> None:
    """The ends of the scale."""
    assert pytest.approx(1.0) == whole(*range(8))
    assert 0.0 == whole()


def test_a_free_half_is_worth_more_than_as_many_gpus_of_two_halves() -> None:
    """One GPU taken on each socket and no pod of four finds a half (pytorch/ci-infra#696)."""
    assert whole(0, 1, 2, 3) > whole(0, 1, 4, 5)
    assert whole(0, 1, 2, 3, 5, 6, 7) > whole(0, 1, 2, 5, 6, 7)
    assert whole(1, 2, 3, 4, 5, 6, 7) - whole(1, 2, 3, 5, 6, 7) > (
        whole(1, 2, 3, 4, 5, 6, 7) - whole(2, 3, 4, 5, 6, 7)
    )


def test_a_switch_of_two_gpus_is_kept_together() -> None:
    """On a DGX A100 the second GPU of a switch goes before the first of another."""
    dgx = state.plain(placing.SHAPES["dgx-a100"])
    groups = [gpus for gpus, _ in dgx.groups]
    assert groups
    free = [gpu for gpu in range(8) if gpu != groups[0][0]]
    partner = [gpu for gpu in free if gpu != groups[0][1]]
    other = [gpu for gpu in free if gpu != groups[1][0]]
    assert whole(*partner, topology=dgx) > whole(*other, topology=dgx)


def test_a_gpu_whose_rail_is_gone_is_no_pair() -> None:
    """Free GPUs with their own rails are kept together."""
    gpus = frozenset({0, 1})
    own, foreign = Left(gpus, frozenset({0, 1})), Left(gpus, frozenset({4, 5}))
    assert packing.whole(NODE, own) > packing.whole(NODE, foreign)


@given(SETS, SETS, st.floats(0, 1))
def test_taking_more_never_leaves_more(
    free: frozenset[int], taken: frozenset[int], worth: float
) -> None:
    """Within 0 and 1 as well."""
    left = Left(free - taken)
    assert packing.whole(NODE, left) <= packing.whole(NODE, Left(free))
    assert 0.0 <= packing.kept(NODE, Left(free), left, worth) <= 1.0


@pytest.mark.parametrize(
    ("rows", "worth"), [(("SYS SYS", "SYS SYS"), 0.2), (("PIX PIX", "PIX PIX"), 1.0)]
)
def test_levels_that_a_machine_has_not_are_left_out(rows: tuple[str, ...], worth: float) -> None:
    """One NUMA node has no halves, and a switch for each GPU is no group."""
    node = states.machine(rows, numas=(None, None))
    assert pytest.approx(worth) == whole(0, 1, topology=node)
    assert 0.0 < whole(0, topology=node) < worth


def test_what_is_lost_is_what_a_pod_could_have_expected_of_it() -> None:
    """A node whose NICs are far loses a fifth of what another one loses, as one without NICs does."""
    crossed = state.plain(placing.CROSSED)
    bare = replace(crossed, nics=(), tiers=((),) * 8)
    assert pytest.approx((0.2, 0.2)) == [whole(*range(8), topology=one) for one in (crossed, bare)]


def test_the_half_that_has_its_rails_is_the_one_to_keep() -> None:
    """All NICs of this machine are on one socket."""
    one_sided = traffic.HALF_CROSSED
    assert whole(0, 1, 2, 3, topology=one_sided) > whole(4, 5, 6, 7, topology=one_sided)


@pytest.mark.parametrize(
    ("taken", "worth", "kept"),
    [
        pytest.param(frozenset(range(8)), 1.0, 1.0, id="the node, and all of it is used"),
        pytest.param(frozenset(range(8)), 0.2, 0.2, id="the node, and its rails are wasted"),
        pytest.param(frozenset(range(4)), 1.0, 0.75, id="a half: only the whole node is lost"),
        pytest.param(frozenset(), 1.0, 1.0, id="nothing"),
    ],
)
def test_what_a_pod_uses_whole_is_not_lost(
    taken: frozenset[int], worth: float, kept: float
) -> None:
    """Of an empty node whose rails are near."""
    every = frozenset(range(8))
    found = packing.kept(NODE, Left(every), Left(every - taken), worth)
    assert pytest.approx(kept) == found

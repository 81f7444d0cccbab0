"""What stays whole of a node."""

from __future__ import annotations

import placing
import pytest
import states
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
    assert (1.0, 0.0) == (whole(*range(8)), whole())


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


@given(SETS, SETS)
def test_taking_more_never_leaves_more(free: frozenset[int], taken: frozenset[int]) -> None:
    """Within 0 and 1 as well."""
    left = Left(free - taken)
    assert packing.whole(NODE, left) <= packing.whole(NODE, Left(free))
    assert 0.0 <= packing.kept(NODE, Left(free), left) <= 1.0


@pytest.mark.parametrize("rows", [("SYS SYS", "SYS SYS"), ("PIX PIX", "PIX PIX")])
def test_levels_that_a_machine_has_not_are_left_out(rows: tuple[str, ...]) -> None:
    """One NUMA node has no halves, and a switch for each GPU is no group."""
    node = states.machine(rows, numas=(None, None))
    assert 1.0 == whole(0, 1, topology=node)
    assert 0.0 < whole(0, topology=node) < 1.0

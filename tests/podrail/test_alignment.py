"""The best pairing of GPUs with rails, and what to expect."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations, permutations

import placing
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podrail import alignment
from podrail.topology import Evidence, Judged, Nic, Tier, Topology

COSTS = st.integers(1, 4).flatmap(
    lambda rows: st.integers(rows, 5).flatmap(
        lambda columns: st.lists(
            st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=columns, max_size=columns),
            min_size=rows,
            max_size=rows,
        )
    )
)


@settings(max_examples=200, deadline=None)
@given(COSTS)
def test_an_assignment_is_the_cheapest_of_all(cost: list[list[float]]) -> None:
    """Against every permutation; no column is used twice."""
    chosen = alignment.assign(cost)
    cheapest = min(
        sum(row[column] for row, column in zip(cost, columns, strict=True))
        for columns in permutations(range(len(cost[0])), len(cost))
    )
    assert len(cost) == len(set(chosen))
    assert cheapest == pytest.approx(
        sum(row[column] for row, column in zip(cost, chosen, strict=True))
    )


@pytest.mark.parametrize(
    ("shape", "expected", "tier"),
    [
        ("podrail-aligned", 1.0, Tier.PIX),
        ("podrail-crossed", 0.2, Tier.SYS),
        ("dgx-h100", 1.0, Tier.PXB),
        ("p5.48xlarge", 1.0, Tier.GROUP),
        ("p4d.24xlarge", 1.0, Tier.PIX),
        ("dgx1-v100", 1.0, Tier.PIX),
        ("Standard_ND128isr_GB300_v6", 1.0, Tier.NODE),
    ],
)
def test_a_whole_node_is_as_aligned_as_its_machine_allows(
    shape: str, expected: float, tier: Tier
) -> None:
    """Two GPUs may share a NIC that is near both; Grace is judged by NUMA; all-SYS is bad."""
    topology = placing.SHAPES[shape]
    found = alignment.expected(topology, len(topology.gpus), topology.rails)
    assert pytest.approx(expected) == found.expected
    assert tier is found.tier
    assert ((tuple(range(len(topology.gpus))), 1.0),) == found.gpu_sets


def test_a_part_of_a_node_is_an_expectation_over_the_gpus_it_may_get() -> None:
    """One GPU of eight with rail 0: aligned once, same socket three times, far four times."""
    found = alignment.expected(placing.ALIGNED, 1, (0,))
    assert pytest.approx((1.0 + 3 * 0.5 + 4 * 0.2) / 8) == found.expected
    assert 8 == len(found.gpu_sets)


def test_many_sets_of_gpus_are_sampled() -> None:
    """The likelihoods told are of the sets looked at."""
    found = alignment.expected(placing.ALIGNED, 4, (0, 1, 2, 3))
    assert pytest.approx(1 / 70) == found.gpu_sets[0][1]


@pytest.mark.parametrize(("gpus", "rails"), [(8, ()), (0, (0,)), (8, (77,))])
def test_nothing_to_pair_is_worth_nothing(gpus: int, rails: tuple[int, ...]) -> None:
    """No rails, no GPUs, or rails that the node has not."""
    assert 0.0 == alignment.expected(placing.ALIGNED, gpus, rails).expected


def test_fewer_rails_than_gpus_are_shared_evenly() -> None:
    """Eight GPUs on two rails: four each."""
    rails = alignment.best(placing.ALIGNED, tuple(range(8)), (0, 4)).rails
    assert [4, 4] == [rails.count(0), rails.count(4)]


def test_pairs_are_aligned_at_the_best_that_the_machine_offers() -> None:
    """PIX pairs are, SYS pairs are not."""
    assert 1 == alignment.aligned_pairs(placing.ALIGNED, [(0, 0), (0, 7)])


def wide(gpus: int, rails: int) -> Topology:
    """A machine of many GPUs, all near all of its rails."""
    nics = tuple(Nic(f"mlx5_{rail}", rail, 0) for rail in range(rails))
    tiers = ((Tier.PIX,) * rails,) * gpus
    return Topology("wide", (0,) * gpus, nics, tiers, Judged.PCIE, Evidence.CATALOG)


def test_too_many_sets_are_sampled_without_counting_them() -> None:
    """32 of 64 GPUs are 1.8e18 sets: a few are looked at, the likelihood told stays the true one."""
    found = alignment.expected(wide(64, 8), 32, tuple(range(8)))
    assert (1.0, 8) == (found.expected, len(found.gpu_sets))
    assert pytest.approx(1 / math.comb(64, 32)) == found.gpu_sets[0][1]


def test_a_sample_is_spread_over_all_sets() -> None:
    """Different ones, in order, from the first to near the last."""
    found = alignment._sets(20, 10, 100)
    assert (100, sorted(set(found))) == (len(found), found)
    assert (0, True) == (found[0][0], found[-1][0] > 0)


@pytest.mark.parametrize(("whole", "size"), [(5, 1), (6, 3), (8, 4)])
def test_a_set_is_found_by_its_number(whole: int, size: int) -> None:
    """The numbers count the sets in order."""
    sets = list(combinations(range(whole), size))
    assert sets == [alignment._numbered(whole, size, number) for number in range(len(sets))]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.lists(st.sampled_from([Tier.PIX, Tier.PHB, Tier.SYS]), min_size=3, max_size=3),
        min_size=2,
        max_size=4,
    ),
    st.integers(0, 3),
    st.integers(0, 2),
)
def test_a_nearer_nic_never_makes_a_node_worth_less(
    rows: list[list[Tier]], gpu: int, nic: int
) -> None:
    """Expected alignment rises with every tier, or stays."""
    nearer = [list(row) for row in rows]
    nearer[gpu % len(rows)][nic] = Tier.PIX
    before, after = (
        replace(wide(len(rows), 3), tiers=tuple(tuple(row) for row in each))
        for each in (rows, nearer)
    )
    for gpus in (1, 2):
        worse = alignment.expected(before, gpus, (0, 1)).expected
        assert worse <= alignment.expected(after, gpus, (0, 1)).expected

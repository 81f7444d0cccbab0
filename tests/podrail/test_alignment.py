"""The best pairing of GPUs with rails."""

from __future__ import annotations

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


TIERS = st.lists(
    st.lists(st.sampled_from([Tier.PIX, Tier.PHB, Tier.SYS]), min_size=4, max_size=4),
    min_size=2,
    max_size=4,
)


@pytest.mark.parametrize(
    ("shape", "worth", "tier"),
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
    shape: str, worth: float, tier: Tier
) -> None:
    """Two GPUs may share a NIC that is near both; Grace is judged by NUMA; all-SYS is bad."""
    topology = placing.SHAPES[shape]
    found = alignment.best(topology, tuple(range(len(topology.gpus))), topology.rails)
    assert pytest.approx(worth) == found.worth
    assert tier is found.tier
    assert pytest.approx(worth) == alignment.ideal(topology, len(topology.gpus))


@settings(max_examples=100, deadline=None)
@given(TIERS)
def test_the_short_way_finds_what_the_long_one_does(rows: list[list[Tier]]) -> None:
    """Against every way to give each GPU a rail of its own."""
    topology = replace(wide(len(rows), 4), tiers=tuple(tuple(row) for row in rows))
    gpus = range(len(rows))
    most = max(
        sum(topology.worth[rail][gpu] for gpu, rail in zip(gpus, rails, strict=True))
        for rails in permutations(range(4), len(rows))
    )
    assert (
        pytest.approx(most / len(rows)) == alignment.best(topology, tuple(gpus), (0, 1, 2, 3)).worth
    )


@settings(max_examples=60, deadline=None)
@given(TIERS, st.integers(1, 4))
def test_the_ideal_is_the_best_of_all_sets_of_gpus(rows: list[list[Tier]], many: int) -> None:
    """Nothing that the kubelet may hand out is worth more, and something is worth as much."""
    topology = replace(wide(len(rows), 4), tiers=tuple(tuple(row) for row in rows))
    many = min(many, len(rows))
    worths = [
        alignment.best(topology, gpus, (0, 1, 2, 3)).worth
        for gpus in combinations(range(len(rows)), many)
    ]
    assert pytest.approx(max(worths)) == alignment.ideal(topology, many)


@pytest.mark.parametrize(("gpus", "rails"), [(0, 2), (2, 0)])
def test_without_gpus_or_rails_nothing_is_the_ideal(gpus: int, rails: int) -> None:
    """There is nothing to pair."""
    assert 0.0 == alignment.ideal(wide(2, rails), gpus)


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
    """What a pairing is worth rises with every tier, or stays."""
    nearer = [list(row) for row in rows]
    nearer[gpu % len(rows)][nic] = Tier.PIX
    before, after = (
        replace(wide(len(rows), 3), tiers=tuple(tuple(row) for row in each))
        for each in (rows, nearer)
    )
    for gpus in combinations(range(len(rows)), 2):
        worse = alignment.best(before, gpus, (0, 1)).worth
        assert worse <= alignment.best(after, gpus, (0, 1)).worth

"""Where a pod fits, how well, and which rails it gets."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import Any

import builders
import placing
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podrail import names, placement
from podrail.job import Job
from podrail.placement import Misfit
from podrail.topology import Evidence, Judged, Nic, Tier, Topology

RAILS = builders.shipped()["sriov-rails"]


def half(**fields: Any) -> placement.Wish:
    """A pod of four GPUs whose four rails are chosen late."""
    return placing.wish(placing.injected(placing.shared(), builders.container(gpus=4), **fields))


@pytest.mark.parametrize(
    ("topology", "gpus", "misfit"),
    [
        (placing.ALIGNED, 8, None),
        (placing.CROSSED, 8, None),
        (placing.FOUR_RAILS, 8, Misfit.NO_RAILS),
        (placing.SHAPES["juwels-booster"], 8, Misfit.TOO_FEW_GPUS),
    ],
)
def test_a_node_is_refused_for_what_no_preemption_can_mend(
    topology: Any, gpus: int, misfit: Misfit | None
) -> None:
    """Misalignment is never a refusal."""
    assert misfit == placement.judge(
        topology, placing.wish(placing.injected(RAILS, builders.container(gpus=gpus)))
    )


def test_late_rails_need_only_some_of_the_nodes() -> None:
    """The others are chosen away at the bind."""
    whole = placing.wish(placing.injected(placing.shared()))
    assert placement.judge(placing.FOUR_RAILS, whole) is None


def test_the_reasons_hold_no_value_that_could_vary() -> None:
    """A text that varies makes kube-scheduler spin."""
    for reason in Misfit:
        assert reason.value.startswith("podrail: ")
        assert not any(letter.isdigit() for letter in reason.value)


def test_an_aligned_node_is_worth_more() -> None:
    """Five times as much as one whose pairs are all SYS."""
    wish = placing.wish(placing.injected(RAILS))
    assert 1.0 == placement.value(placing.ALIGNED, wish)
    assert pytest.approx(0.2) == placement.value(placing.CROSSED, wish)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.none() | st.floats(0, 1), max_size=8))
def test_points_are_integers_and_the_best_node_alone_has_ten(values: list[float | None]) -> None:
    """A worse one has at most nine; unknown is in the middle if anything is known."""
    points = placement.points(values)
    known = [value for value in values if value is not None]
    for value, point in zip(values, points, strict=True):
        assert type(point) is int
        if value is None:
            assert point == (5 if known else 0)
        else:
            assert (point == 10) == (value == max(known))
            assert 0 <= point <= 10


def test_a_pod_without_a_marker_has_no_wish() -> None:
    """Nor one that was skipped, or whose marker cannot be read."""
    assert placement.wish(builders.document(), placing.GPUS) is None
    assert (
        placement.wish(builders.document(annotations={names.INJECTED: "x"}), placing.GPUS) is None
    )
    skipped = placing.injected(RAILS, builders.container(gpus=0))
    assert placement.wish(skipped, placing.GPUS) is None


def test_a_quantity_that_is_no_count_counts_nothing() -> None:
    """The API server has validated it; a direct caller may send anything."""
    document = placing.injected(RAILS)
    document["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] = "half"
    assert 0 == placing.wish(document).gpus


def test_counted_rails_stay_as_admission_chose_them() -> None:
    """Limits are fixed by then."""
    choice = placement.choose(placing.ALIGNED, placing.wish(placing.injected(RAILS)), RAILS, {0: 5})
    assert (tuple(range(8)), False) == (choice.rails, choice.conflict)


SHARED = placing.shared()
ALL_RAILS = placing.shared("AllRails")


@pytest.mark.parametrize(
    ("used", "rails", "conflict"),
    [
        ({}, None, False),
        ({0: 1}, (4, 5, 6, 7), False),
        ({7: 1}, (0, 1, 2, 3), False),
        ({0: 1, 1: 1, 2: 1, 3: 1}, (4, 5, 6, 7), False),
        ({0: 2, 1: 2, 2: 2, 7: 1, 6: 1}, (3, 4, 5, 6), True),
        (dict.fromkeys(range(8), 1), None, True),
    ],
)
def test_late_rails_are_the_least_used_of_one_socket(
    used: dict[int, int], rails: tuple[int, ...] | None, conflict: bool
) -> None:
    """Free ones before near ones, else admission's; none free is a conflict, never a refusal."""
    wish = half()
    choice = placement.choose(placing.ALIGNED, wish, SHARED, Counter(used))
    assert (rails or wish.marker.rails, conflict) == (choice.rails, choice.conflict)


def test_a_pod_with_every_rail_shares_them_by_its_profiles_choice() -> None:
    """That is no conflict; rails that the node lacks are left out."""
    whole = placing.wish(placing.injected(ALL_RAILS))
    choice = placement.choose(placing.FOUR_RAILS, whole, ALL_RAILS, Counter({0: 3}))
    assert ((0, 1, 2, 3), False) == (choice.rails, choice.conflict)


@pytest.mark.parametrize("fabric", [None, builders.fabric("other")])
def test_without_the_profiles_rails_admissions_stay(fabric: Any) -> None:
    """The profile is gone, or has no rails any more."""
    assert half().marker.rails == placement.choose(placing.ALIGNED, half(), fabric, {}).rails


def test_on_an_unknown_node_rails_are_chosen_by_the_profiles_groups() -> None:
    """Two pods still get different rails; nothing is expected of them."""
    wish = half()
    used = dict.fromkeys(wish.marker.rails, 1)
    choice = placement.choose(None, wish, SHARED, used)
    assert set(range(8)) == {*choice.rails, *wish.marker.rails}
    assert choice.alignment is None


def test_one_network_for_several_rails_cannot_be_told_apart() -> None:
    """So its rails are not chosen late."""
    networks = [{"name": "default/all", "rail": rail} for rail in range(2)]
    one = builders.fabric(attachment="SharedDevice", rails={"count": 2}, networks=networks)
    assert {} == placement.movable(one)


def test_the_placement_marker_is_of_the_format() -> None:
    """Design section 11, compact and sorted."""
    wish = placing.wish(placing.injected(RAILS))
    choice = placement.choose(placing.ALIGNED, wish, RAILS, {})
    told = json.loads(placement.record("n1", placing.ALIGNED, wish, choice))
    assert {
        "v": 1,
        "node": "n1",
        "rails": list(range(8)),
        "gpuSets": [{"gpus": list(range(8)), "p": 1.0}],
        "tier": "PIX",
        "expected": 1.0,
        "evidence": "catalog",
        "job": {"key": "team/worker-0", "rule": "pod", "size": 1},
        "score": {"total": 10, "parts": {"alignment": 1.0}},
        "conflict": False,
    } == told


def test_a_node_that_is_not_known_says_so() -> None:
    """No expectation is made up."""
    wish = placing.wish(placing.injected(RAILS))
    told = json.loads(placement.record("n1", None, wish, placement.choose(None, wish, RAILS, {})))
    assert ("none", None, None, list(range(8))) == (
        told["evidence"],
        told["expected"],
        told["tier"],
        told["rails"],
    )


def test_rails_that_the_user_named_are_not_chosen_again() -> None:
    """podrail.dev/rails is the user's own choice, also on a fabric whose rails are late."""
    wish = half(annotations={names.RAILS: "0,1,2,3"})
    assert "networks" in wish.marker.late
    choice = placement.choose(placing.ALIGNED, wish, SHARED, dict.fromkeys(range(4), 1))
    assert ((0, 1, 2, 3), False) == (choice.rails, choice.conflict)


def test_admissions_own_rails_are_kept_where_they_are_as_good() -> None:
    """All pods of a job have the same ones, and jobs are spread over the halves."""
    own = {half(name=f"worker-{number}").marker.rails for number in range(9)}
    assert {(0, 1, 2, 3), (4, 5, 6, 7)} == own
    for number in range(9):
        wish = half(name=f"worker-{number}")
        assert wish.marker.rails == placement.choose(placing.ALIGNED, wish, SHARED, {}).rails


def test_many_rails_are_chosen_in_bounded_time() -> None:
    """16 of 32 rails are 600 million sets; the free ones are found at once."""
    networks = [{"name": f"default/rail{rail}", "rail": rail} for rail in range(32)]
    fabric = builders.fabric(
        attachment="SharedDevice", rails={"count": 32, "gpus": 32}, networks=networks
    )
    marker = replace(half().marker, rails=tuple(range(16)))
    wish = replace(half(), marker=marker)
    choice = placement.choose(None, wish, fabric, dict.fromkeys(range(16), 1))
    assert (tuple(range(16, 32)), False) == (choice.rails, choice.conflict)


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(st.integers(0, 7), st.integers(0, 3)))
def test_a_late_choice_has_as_many_rails_and_a_conflict_only_where_free_ones_lack(
    used: dict[int, int],
) -> None:
    """Ascending, different, all of the profile."""
    choice = placement.choose(placing.ALIGNED, half(), SHARED, used)
    free = sum(not used.get(rail) for rail in range(8))
    assert 4 == len(set(choice.rails) & set(range(8)))
    assert sorted(choice.rails) == list(choice.rails)
    assert (free < 4) == choice.conflict


def test_the_longest_record_is_below_the_limit_of_a_marker() -> None:
    """64 GPUs and rails, the longest names: at most 8 KiB."""
    rails = tuple(range(64))
    nics = tuple(Nic("n", rail, 0) for rail in rails)
    tiers = ((Tier.PIX,) * 64,) * 64
    node = Topology("x", (0,) * 64, nics, tiers, Judged.PCIE, Evidence.CATALOG)
    job = Job("n" * 63 + "/" + "j" * 507, "scheduling-group", 999_999)
    wish = placement.Wish(replace(half().marker, rails=rails), 60, job)
    told = placement.record("n" * 253, node, wish, placement.choose(node, wish, None, {}))
    assert len(told) <= names.MARKER_BYTES


def test_only_the_gpus_of_the_container_with_the_rails_count() -> None:
    """A side container's are not paired with them."""
    containers = builders.container("side", gpus=0), builders.container(gpus=4)
    document = placing.injected(SHARED, *containers)
    document["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] = "2"
    assert 4 == placing.wish(document).gpus

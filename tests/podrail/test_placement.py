"""Where a pod fits, how well, and which rails it gets."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import builders
import placing
import pytest
import states
from hypothesis import given, settings
from hypothesis import strategies as st

from podrail import names, placement
from podrail.gang.job import Job
from podrail.kubelet.node import Container, Kind, Policy
from podrail.placement import Misfit
from podrail.score import choice as choices
from podrail.score import kin
from podrail.score.outlook import Outlook
from podrail.score.weights import Part
from podrail.topology import Evidence, Judged, Nic, Tier, Topology
from podrail.topology import State as Port

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
        states.node(topology), placing.wish(placing.injected(RAILS, builders.container(gpus=gpus)))
    )


def test_late_rails_need_only_some_of_the_nodes() -> None:
    """The others are chosen away at the bind."""
    whole = placing.wish(placing.injected(placing.shared()))
    assert placement.judge(states.node(placing.FOUR_RAILS), whole, ALL_RAILS) is None


def test_the_reasons_hold_no_value_that_could_vary() -> None:
    """A text that varies makes kube-scheduler spin."""
    for reason in Misfit:
        assert reason.value.startswith("podrail: ")
        assert not any(letter.isdigit() for letter in reason.value)


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
    choice = placement.choose(states.node(), states.wish(), RAILS, {0: 5})
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
    choice = placement.choose(states.node(), wish, SHARED, Counter(used))
    assert (rails or wish.marker.rails, conflict) == (choice.rails, choice.conflict)


def test_a_pod_with_every_rail_shares_them_by_its_profiles_choice() -> None:
    """That is no conflict; rails that the node lacks are left out."""
    whole = placing.wish(placing.injected(ALL_RAILS))
    choice = placement.choose(states.node(placing.FOUR_RAILS), whole, ALL_RAILS, Counter({0: 3}))
    assert ((0, 1, 2, 3), False) == (choice.rails, choice.conflict)


@pytest.mark.parametrize("fabric", [None, builders.fabric("other")])
def test_without_the_profiles_rails_admissions_stay(fabric: Any) -> None:
    """The profile is gone, or has no rails any more."""
    assert half().marker.rails == placement.choose(states.node(), half(), fabric, {}).rails


def test_on_an_unknown_node_rails_are_chosen_by_the_profiles_groups() -> None:
    """Two pods still get different rails; nothing is expected of them."""
    wish = half()
    used = dict.fromkeys(wish.marker.rails, 1)
    choice = placement.choose(None, wish, SHARED, used)
    assert set(range(8)) == {*choice.rails, *wish.marker.rails}
    assert choice.outlook is None


def test_one_network_for_several_rails_cannot_be_told_apart() -> None:
    """So its rails are not chosen late."""
    networks = [{"name": "default/all", "rail": rail} for rail in range(2)]
    one = builders.fabric(attachment="SharedDevice", rails={"count": 2}, networks=networks)
    assert {} == choices.movable(one)


def test_the_placement_marker_is_of_the_format() -> None:
    """Design section 11, compact and sorted."""
    wish = placing.wish(placing.injected(RAILS))
    choice = placement.choose(states.node(), wish, RAILS, {})
    score = placement.score(states.node(), wish, RAILS)
    told = json.loads(placement.record("n1", placing.ALIGNED, wish, choice, score))
    assert {
        "v": 1,
        "node": "n1",
        "rails": list(range(8)),
        "gpuSets": [{"gpus": list(range(8)), "p": 1.0}],
        "tier": "PIX",
        "expected": 1.0,
        "evidence": "catalog",
        "job": {"key": "team/worker-0", "rule": "pod", "size": 1},
        "score": {
            "total": 10,
            "parts": {
                "alignment": 1.0,
                "certainty": 1.0,
                "health": 1.0,
                "reach": 1.0,
            },
        },
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
    choice = placement.choose(states.node(), wish, SHARED, dict.fromkeys(range(4), 1))
    assert ((0, 1, 2, 3), False) == (choice.rails, choice.conflict)


def test_admissions_own_rails_are_kept_where_they_are_as_good() -> None:
    """All pods of a job have the same ones, and jobs are spread over the halves."""
    own = {half(name=f"worker-{number}").marker.rails for number in range(9)}
    assert {(0, 1, 2, 3), (4, 5, 6, 7)} == own
    for number in range(9):
        wish = half(name=f"worker-{number}")
        assert wish.marker.rails == placement.choose(states.node(), wish, SHARED, {}).rails


def test_many_rails_are_chosen_in_bounded_time() -> None:
    """16 of 32 rails are 600 million sets; the free ones are found at once."""
    networks = [{"name": f"default/rail{rail}", "rail": rail} for rail in range(32)]
    fabric = builders.fabric(
        attachment="SharedDevice", rails={"count": 32, "gpus": 32}, networks=networks
    )
    marker = half().marker._replace(rails=tuple(range(16)))
    wish = replace(half(), marker=marker)
    choice = placement.choose(None, wish, fabric, dict.fromkeys(range(16), 1))
    assert (tuple(range(16, 32)), False) == (choice.rails, choice.conflict)


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(st.integers(0, 7), st.integers(0, 3)))
def test_a_late_choice_has_as_many_rails_and_a_conflict_only_where_free_ones_lack(
    used: dict[int, int],
) -> None:
    """Ascending, different, all of the profile."""
    choice = placement.choose(states.node(), half(), SHARED, used)
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
    wish = placement.Wish(half().marker._replace(rails=rails), 60, job)
    state = states.node(node)
    told = placement.record(
        "n" * 253,
        node,
        wish,
        placement.choose(state, wish, None, {}),
        placement.score(state, wish, kin=kin.of({0: 1}), near=kin.Near(0.5, 0.5, 0.5)),
    )
    assert len(told) <= names.MARKER_BYTES


def test_only_the_gpus_of_the_container_with_the_rails_count() -> None:
    """A side container's are not paired with them."""
    containers = builders.container("side", gpus=0), builders.container(gpus=4)
    document = placing.injected(SHARED, *containers)
    document["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] = "2"
    assert 4 == placing.wish(document).gpus


def test_what_a_pod_asks_for_is_known_container_by_container() -> None:
    """In the kubelet's order, init containers first; what is no device is left out."""
    document = placing.injected(RAILS)
    document["spec"]["initContainers"] = [
        {"name": "a", "resources": {"limits": {"x.io/fpga": "1", "cpu": "2"}}},
        {"name": "b", "restartPolicy": "Always", "resources": {"limits": {"x.io/fpga": "2"}}},
        {"name": "c"},
    ]
    found = placing.wish(document).request
    assert (Container((("x.io/fpga", 1),), Kind.INIT), Kind.SIDECAR) == (found[0], found[1].kind)
    assert (3, Kind.APP, 9) == (len(found), found[2].kind, len(found[2].wants))


EDGE = dict.fromkeys(range(5), 1)
"""Three of eight rails are left."""


@pytest.mark.parametrize(
    ("patience", "waiting", "misfit"),
    [
        pytest.param(0, 0, None, id="no patience"),
        pytest.param(60, 59, Misfit.RAILS_HELD, id="still waiting"),
        pytest.param(60, 60, None, id="has waited"),
    ],
)
def test_held_rails_are_a_refusal_as_long_as_the_profile_has_patience(
    patience: int, waiting: float, misfit: Misfit | None
) -> None:
    """Afterwards, and without patience, the node only scores low."""
    fabric = builders.fabric(
        attachment="SharedDevice",
        rails={"count": 8},
        networks=[{"name": f"default/rail{rail}", "rail": rail} for rail in range(8)],
        partial="Proportional",
        patienceSeconds=patience,
    )
    wish = states.wish(fabric, 4)
    assert misfit is placement.judge(states.node(used=EDGE), wish, fabric, waiting)
    low, usual = (placement.score(states.node(used=used), wish, fabric) for used in (EDGE, {}))
    assert (True, False) == (low.refused, usual.refused)
    assert low.value is not None
    assert usual.value is not None
    assert low.value < usual.value / 4


FRAGMENTS = (0, 1, 2, 5, 6, 7)


@pytest.mark.parametrize(
    ("gpus", "free", "policy", "waiting", "misfit"),
    [
        pytest.param(4, FRAGMENTS, Policy.RESTRICTED, 0, Misfit.NUMA_FRAGMENTED, id="fragments"),
        pytest.param(4, FRAGMENTS, Policy.RESTRICTED, 60, None, id="has waited"),
        pytest.param(4, FRAGMENTS, Policy.BEST_EFFORT, 0, None, id="best-effort admits"),
        pytest.param(4, (0, 1, 2, 3), Policy.RESTRICTED, 0, None, id="a free half"),
        pytest.param(8, range(8), Policy.RESTRICTED, 0, Misfit.NEVER_ADMITTED, id="whole node"),
        pytest.param(8, range(8), Policy.RESTRICTED, 60, Misfit.NEVER_ADMITTED, id="never"),
        pytest.param(4, (0, 1), Policy.RESTRICTED, 0, None, id="the scheduler knows of more"),
    ],
)
def test_what_the_kubelet_refuses_is_refused_before(
    gpus: int, free: Any, policy: Policy, waiting: float, misfit: Misfit | None
) -> None:
    """For good what no freed device mends; for a while what preemption does (k8s 1.36 table D5)."""
    rails = [{"name": f"x.io/rail{rail}", "rail": rail} for rail in range(8)]
    fabric = builders.fabric(
        attachment="SriovVF",
        rails={"count": 8, "numaGroups": [[0, 1, 2, 3], [4, 5, 6, 7]]},
        resources=rails,
        partial="Proportional",
        patienceSeconds=60,
    )
    wish = states.wish(fabric, gpus, annotations={names.RAILS: "0,1,2,3"} if gpus == 4 else None)
    state = states.node(gpus=free, policy=policy)
    assert misfit is placement.judge(state, wish, fabric, waiting)


def test_which_refusals_preemption_may_mend() -> None:
    """Those that end when other pods go."""
    temporary = {misfit for misfit in Misfit if misfit.temporary}
    assert {Misfit.RAILS_HELD, Misfit.NUMA_FRAGMENTED} == temporary


@pytest.mark.parametrize(
    ("fabric", "down", "misfit"),
    [
        pytest.param(RAILS, (3,), Misfit.RAIL_DOWN, id="counted"),
        pytest.param(ALL_RAILS, (3,), None, id="late"),
        pytest.param(builders.shipped()["sriov-pool"], (3,), None, id="pooled"),
        pytest.param(ALL_RAILS, range(8), Misfit.RAIL_DOWN, id="all of them"),
    ],
)
def test_a_rail_that_is_down_is_never_used(fabric: Any, down: Any, misfit: Misfit | None) -> None:
    """A counted one cannot be exchanged; another is left out, and the node is worth less."""
    state = states.node(states.ports(placing.ALIGNED, **{f"r{rail}": Port.DOWN for rail in down}))
    wish = states.wish(fabric)
    assert misfit is placement.judge(state, wish, fabric)
    if misfit is None:
        assert set(placement.choose(state, wish, fabric, {}).rails) <= set(wish.marker.rails)
        broken, sound = (placement.score(one, wish, fabric) for one in (state, states.node()))
        assert 7 / 8 == broken.parts[Part.HEALTH]
        assert (broken.value or 0) < (sound.value or 0)


@pytest.mark.parametrize(
    ("since", "seconds"),
    [
        pytest.param("2026-11-30T09:00:00Z", 90.0, id="known"),
        pytest.param(None, float("inf"), id="a template has no time"),
        pytest.param("yesterday", float("inf"), id="no time"),
        pytest.param("2026-11-30T09:00:00", float("inf"), id="no zone"),
    ],
)
def test_how_long_a_pod_has_waited(since: str | None, seconds: float) -> None:
    """By its creationTimestamp; one that does not say has no patience left."""
    now = datetime(2026, 11, 30, 9, 1, 30, tzinfo=UTC)
    assert seconds == placement.waited({"metadata": {"creationTimestamp": since}}, now)


def test_the_kubelet_does_not_place_what_is_claimed() -> None:
    """Devices of a claim are kube-scheduler's to allocate, whatever the kubelet's policy."""
    fabric = builders.shipped()["dra-pairs"]
    annotations = {names.GPUS: "4"}
    wish = placing.wish(
        placing.injected(fabric, builders.container(gpus=0), annotations=annotations)
    )
    strict = states.node(policy=Policy.SINGLE_NUMA_NODE)
    assert (4, None) == (wish.gpus, placement.judge(strict, wish, fabric))


@pytest.mark.parametrize(
    ("relative", "word"),
    [(1.0, "full"), (0.99999, "full"), (0.5, "partial"), (0.0, "none"), (None, "unscored")],
)
def test_what_is_expected_has_a_word(relative: float | None, word: str) -> None:
    """Against the best that the node's shape offers, as exactly as the marker says it."""
    outlook = Outlook(0.1, relative, None, 1.0, (), (), None, ())
    assert word == placement.alignment(placement.Choice((), outlook, conflict=False))


def test_a_node_of_which_nothing_is_known_is_unscored() -> None:
    """So is one that the kubelet will refuse."""
    choice = placement.Choice((0,), None, conflict=False)
    assert placement.Alignment.UNSCORED is placement.alignment(choice)

"""Late binding: what a Binding changes, and what it never touches."""

from __future__ import annotations

import json
from typing import Any

import builders
import placing
import strategies
from hypothesis import given, settings
from hypothesis import strategies as st

from podrail import binding, names, placement
from podrail.multus import networks
from podrail.placement import Choice
from podrail.score import state
from podrail.topology import Topology

SHARED = placing.shared()
ALL_RAILS = placing.shared("AllRails")


def chosen(
    document: dict[str, Any], used: dict[int, int], topology: Topology = placing.ALIGNED
) -> Choice:
    """The choice for a pod where others use these rails."""
    return placement.choose(state.idle(topology), placing.wish(document), SHARED, used)


def half(**fields: Any) -> dict[str, Any]:
    """A pod of four GPUs on shared rails."""
    return placing.injected(SHARED, builders.container(gpus=4), **fields)


def bound(document: dict[str, Any], used: dict[int, int], **labels: str) -> dict[str, str]:
    """The annotations of the Binding."""
    choice = chosen(document, used)
    return dict(binding.late(document, placing.wish(document), SHARED, labels, choice).annotations)


def named(text: str) -> list[str]:
    """The networks of an annotation."""
    return [element.network("team") for element in networks.parse(text).elements]


def test_the_networks_become_those_of_the_chosen_rails() -> None:
    """In the places of those that admission wrote."""
    document = half()
    others = [rail for rail in range(8) if rail not in placing.wish(document).marker.rails]
    used = dict.fromkeys(placing.wish(document).marker.rails, 1)
    text = bound(document, used)[names.NETWORKS]
    assert [f"default/rail{rail}" for rail in others] == named(text)
    assert [f"rail{rail}" for rail in others] == [
        one.interface for one in networks.parse(text).elements
    ]


def test_nothing_changes_where_admission_chose_well() -> None:
    """No annotation is sent for the sake of it."""
    document = half()
    used = {rail: 1 for rail in range(8) if rail not in placing.wish(document).marker.rails}
    assert {} == bound(document, used)


USED = st.sets(st.integers(0, 7)).map(lambda rails: dict.fromkeys(rails, 1))


@settings(max_examples=120, deadline=None)
@given(strategies.ANNOTATIONS, USED)
def test_every_element_of_the_users_survives_and_nothing_foreign_is_added(
    text: str | None, used: dict[int, int]
) -> None:
    """Whatever the user wrote and whichever rails are free."""
    document = half(annotations=None if text is None else {names.NETWORKS: text})
    before = networks.parse(document["metadata"]["annotations"].get(names.NETWORKS, ""))
    ours = {attached.index for attached in placing.wish(document).marker.networks}
    after = networks.parse(bound(document, used).get(names.NETWORKS, before.text))
    users = [
        before.text[one.start : one.end].strip()
        for at, one in enumerate(before.elements)
        if at not in ours
    ]
    kept = [after.text[one.start : one.end].strip() for one in after.elements]
    remaining = iter(kept)
    assert all(user in remaining for user in users)
    fabric = {network.name for network in SHARED.networks}
    for one in users:
        kept.remove(one)
    assert all(
        networks.parse(one if one[0] != "{" else f"[{one}]").elements[0].network("team") in fabric
        for one in kept
    )
    interfaces = [
        one.interface
        for one in after.elements
        if one.network("team") in fabric and one.interface.startswith("rail")
    ]
    assert len(interfaces) == len(set(interfaces)) or len(interfaces) > len(kept)


def test_an_element_that_the_user_changed_since_is_not_ours_any_more() -> None:
    """It no longer says what the marker says."""
    document = half()
    rails = placing.wish(document).marker.rails
    text = document["metadata"]["annotations"][names.NETWORKS]
    document["metadata"]["annotations"][names.NETWORKS] = text.replace(f"@rail{rails[0]}", "@mine")
    after = bound(document, dict.fromkeys(rails, 1))[names.NETWORKS]
    assert f"default/rail{rails[0]}@mine" in after


def test_an_annotation_that_became_unreadable_is_left_alone() -> None:
    """Someone else broke it after admission."""
    document = half()
    document["metadata"]["annotations"][names.NETWORKS] = "a;b"
    assert names.NETWORKS not in bound(document, dict.fromkeys(range(4), 1))


def test_a_marker_that_points_beyond_the_annotation_is_harmless() -> None:
    """Elements may have been taken out since."""
    document = half()
    document["metadata"]["annotations"][names.NETWORKS] = "other"
    assert names.NETWORKS not in bound(document, dict.fromkeys(range(8), 1))


def test_rails_that_the_node_lacks_are_taken_out() -> None:
    """A node with four rails gets four networks."""
    document = placing.injected(ALL_RAILS, annotations={names.NETWORKS: "mine"})
    wish = placing.wish(document)
    choice = placement.choose(state.idle(placing.FOUR_RAILS), wish, ALL_RAILS, {})
    late = binding.late(document, wish, ALL_RAILS, {}, choice)
    found = ["team/mine", "default/rail0", "default/rail1", "default/rail2", "default/rail3"]
    assert (found, (0, 1, 2, 3)) == (named(late.annotations[names.NETWORKS]), late.rails)


def test_settings_follow_the_nodes_labels() -> None:
    """The file and the variable, only where they differ from what admission wrote."""
    document = half()
    assert {} == bound(document, {})
    late = {names.NCCL_CONF: "NCCL_IB_TC=2\n", "podrail.dev/env.NCCL_IB_SL": "4"}
    assert late == bound(document, {}, rack="r")


def test_only_annotations_that_admission_wrote_are_replaced() -> None:
    """A pod whose own mount kept the file out has no file annotation."""
    mount = {"name": "x", "mountPath": "/etc/nccl.conf"}
    document = placing.injected(SHARED, builders.container(gpus=4, volumeMounts=[mount]))
    assert {"podrail.dev/env.NCCL_IB_SL"} == set(bound(document, {}, rack="r"))


def test_too_much_for_a_binding_is_left_out() -> None:
    """The API server does not check the size of a Binding's annotations; we do."""
    long = f'[{{"name":"mine","note":"{"x" * names.BINDING_BYTES}"}}]'
    document = half(annotations={names.NETWORKS: long})
    used = dict.fromkeys(placing.wish(document).marker.rails, 1)
    assert {names.NCCL_CONF, "podrail.dev/env.NCCL_IB_SL"} == set(bound(document, used, rack="r"))


def test_a_taken_interface_name_gets_a_letter() -> None:
    """The user's own rail5 interface stays."""
    document = half(annotations={names.NETWORKS: "mine@rail5,mine@rail1"})
    used = dict.fromkeys(placing.wish(document).marker.rails, 1)
    after = networks.parse(bound(document, used)[names.NETWORKS])
    interfaces = [one.interface for one in after.elements]
    assert len(interfaces) == len(set(interfaces))
    assert json.dumps(interfaces).count('a"') == 1


def test_of_counted_rails_only_settings_are_late() -> None:
    """The networks stay as admission wrote them, whatever is free."""
    fabric = builders.fabric(
        "counted",
        attachment="SriovVF",
        rails={"count": 2},
        networks=[{"name": f"default/rail{rail}", "rail": rail} for rail in range(2)],
        resources=[{"name": f"x.io/rail{rail}", "rail": rail} for rail in range(2)],
    )
    document = placing.injected(fabric, builders.container(gpus=2))
    choice = placement.choose(state.idle(placing.ALIGNED), placing.wish(document), fabric, {0: 1})
    late = binding.late(document, placing.wish(document), fabric, {}, choice)
    assert binding.Late({}, (0, 1)) == late


def test_a_variable_that_the_user_set_is_not_late() -> None:
    """The container does not read our annotation."""
    user = [{"name": "NCCL_IB_SL", "value": "1"}]
    document = placing.injected(SHARED, builders.container(gpus=4, env=user))
    assert {names.NCCL_CONF} == set(bound(document, {}, rack="r"))

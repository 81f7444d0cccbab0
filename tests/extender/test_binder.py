"""The bind: what goes to the API server, and what its refusals lead to."""

from __future__ import annotations

import json
import logging
import threading
from typing import Any

import builders
import pytest
import staging

from podrail import names
from podrail_io.kube import KubeError, StatusError, UnreachableError

LEFT, RIGHT = [0, 1, 2, 3], [4, 5, 6, 7]
HALVES = staging.halves()
FAILED = "the API server did not take the binding"


def stage(*pods: dict[str, Any], **fields: Any) -> staging.Stage:
    """An extender that knows a node and these waiting pods."""
    made = staging.Stage(**fields)
    made.sees_nodes(n="good")
    for pod in pods:
        made.sees_pod(pod)
    return made


def pod(number: int = 0, **fields: Any) -> dict[str, Any]:
    """One of several injected pods of one job, with half of a node's rails."""
    labels = {"batch.kubernetes.io/job-name": "j"}
    return staging.injected(
        HALVES, uid=f"u-{number}", name=f"worker-{number}", labels=labels, **fields
    )


def rails_in(networks: str) -> list[int]:
    """The rails that an annotation in the short form names."""
    return [int(element.rpartition("@rail")[2]) for element in networks.split(",")]


def test_an_injected_pod_is_bound_with_its_placement() -> None:
    """One POST: the Binding with the pod's UID, the node and the marker."""
    waiting = pod()
    found = stage(waiting)
    assert "" == found.binds(waiting, "n")
    ((path, body, _),) = found.api.posts
    assert "/api/v1/namespaces/team/pods/worker-0/binding" == path
    assert ("u-0", "n") == (body["metadata"]["uid"], body["target"]["name"])
    placement = found.api.placement
    assert ("n", "catalog", "team/j", False) == (
        placement["node"],
        placement["evidence"],
        placement["job"]["key"],
        placement["conflict"],
    )
    assert (1, 0) == (found.count("binds_total", kind="placed"), found.count("bind_errors_total"))
    assert 1 == found.count("placements_total", alignment="partial")


def test_a_bind_is_one_line(caplog: pytest.LogCaptureFixture) -> None:
    """Which pod, where, and with what; nothing else of the pod."""
    waiting = pod()
    with caplog.at_level(logging.INFO):
        stage(waiting).binds(waiting, "n")
    (found,) = (vars(one) for one in caplog.records if one.name == "extender.binder")
    expected = {
        "message": "pod bound",
        "uid": "u-0",
        "namespace": "team",
        "pod": "worker-0",
        "node": "n",
        "kind": "placed",
        "alignment": "partial",
    }
    assert expected == {key: found[key] for key in expected}


def test_the_bound_networks_are_those_of_the_chosen_rails() -> None:
    """The second pod of the same job gets the other half; marker and annotation agree."""
    first, second = pod(0), pod(1)
    found = stage(first, second)
    own = json.loads(first["metadata"]["annotations"][names.INJECTED])["rails"]
    found.binds(first, "n")
    assert own == found.api.placement["rails"]
    assert names.NETWORKS not in found.api.annotations
    found.binds(second, "n")
    assert sorted(LEFT + RIGHT) == sorted(own + found.api.placement["rails"])
    assert found.api.placement["rails"] == rails_in(found.api.annotations[names.NETWORKS])


def test_a_third_pod_shares_rails_and_is_told_so(caplog: pytest.LogCaptureFixture) -> None:
    """It is bound with the rails of its admission; marker, metric and log say conflict."""
    pods = [pod(number) for number in range(3)]
    found = stage(*pods)
    with caplog.at_level(logging.WARNING):
        assert ["", "", ""] == [found.binds(one, "n") for one in pods]
    assert found.api.placement["conflict"]
    assert names.NETWORKS not in found.api.annotations
    assert 1 == found.count("rail_conflicts_total")
    assert "rails are shared" in caplog.text


def test_pods_bound_at_the_same_moment_get_different_rails() -> None:
    """Choosing and holding are one step, whatever the threads do."""
    pods = [pod(number) for number in range(2)]
    found = stage(*pods)
    meeting = threading.Barrier(2)

    def together() -> None:
        meeting.wait(5)

    found.api.takes = together
    threads = [threading.Thread(target=found.binds, args=(one, "n")) for one in pods]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    bound = [body["metadata"]["annotations"][names.PLACEMENT] for _, body, _ in found.api.posts]
    assert [LEFT, RIGHT] == sorted(json.loads(text)["rails"] for text in bound)


def test_settings_follow_the_nodes_labels() -> None:
    """Only what differs from admission is written."""
    waiting = pod()
    found = stage(waiting)
    found.sees_node("m", "good", vendor="b")
    found.binds(waiting, "n")
    assert names.NCCL_CONF not in found.api.annotations
    found.binds(waiting, "m")
    assert "NCCL_IB_TC=41\n" == found.api.annotations[names.NCCL_CONF]


def test_on_an_unknown_node_the_halves_are_told_apart_all_the_same() -> None:
    """No alignment is claimed there."""
    first, second = pod(0), pod(1)
    found = stage(first, second)
    found.binds(first, "never-seen")
    one = found.api.placement
    found.binds(second, "never-seen")
    two = found.api.placement
    assert sorted(LEFT + RIGHT) == sorted(one["rails"] + two["rails"])
    assert ("none", None) == (two["evidence"], two["expected"])


def scheduled(document: dict[str, Any], **spec: Any) -> dict[str, Any]:
    """The pod of our scheduler, with more in its spec."""
    return {**document, "spec": {**document["spec"], "schedulerName": "podrail", **spec}}


def test_a_pod_of_our_scheduler_is_placed() -> None:
    """What the next test's pods would be without their one difference."""
    waiting = scheduled(pod())
    found = stage(waiting, scheduler="podrail")
    found.binds(waiting, "n")
    assert names.PLACEMENT in found.api.annotations


@pytest.mark.parametrize(
    ("known", "uid"),
    [
        (scheduled(staging.stranger(name="worker-0")), staging.UID),
        (scheduled(pod(), schedulerName="other"), "u-0"),
        (scheduled(pod(), nodeName="m"), "u-0"),
        (scheduled(pod()), "another"),
    ],
    ids=["not opted in", "another scheduler's", "bound already", "another uid"],
)
def test_every_other_pod_is_bound_without_a_change(known: dict[str, Any], uid: str) -> None:
    """A Binding as the default binder would make it, and a metric."""
    found = stage(known, scheduler="podrail")
    assert "" == found.binds({**known, "metadata": {**known["metadata"], "uid": uid}}, "n")
    metadata = found.api.posts[0][1]["metadata"]
    assert {"name": "worker-0", "namespace": "team", "uid": uid} == metadata
    assert 1 == found.count("binds_total", kind="plain")


def test_a_pod_that_nobody_has_seen_is_waited_for_and_then_bound_plainly(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """kube-scheduler's watch may be ahead; the wait is short."""
    monkeypatch.setattr("extender.binder.WAIT_SECONDS", 0.01)
    found = stage()
    assert "" == found.binds(pod(), "n")
    assert ({}, 1) == (found.api.annotations, found.count("binds_total", kind="plain"))


def test_a_pod_whose_profile_is_gone_keeps_what_admission_gave() -> None:
    """It is placed, and nothing in it changes."""
    waiting = pod()
    found = stage(waiting, profile=builders.fabric("another"))
    found.binds(waiting, "n")
    assert {names.PLACEMENT} == found.api.annotations.keys()
    own = json.loads(waiting["metadata"]["annotations"][names.INJECTED])["rails"]
    assert own == found.api.placement["rails"]


def test_the_marker_tells_the_rails_that_the_pod_really_has() -> None:
    """The user rewrote the networks after admission: the marker follows the annotation."""
    waiting = pod()
    waiting["metadata"]["annotations"][names.NETWORKS] = "default/rail6@mine"
    found = stage(waiting)
    found.binds(waiting, "n")
    assert [6] == found.api.placement["rails"]
    assert names.NETWORKS not in found.api.annotations


@pytest.mark.parametrize("status", [400, 413, 422])
def test_annotations_that_the_api_server_refuses_are_left_out(status: int) -> None:
    """The pod is bound all the same."""
    waiting = pod()
    found = stage(waiting)
    found.api.refusals = [StatusError(status, "no")]
    assert "" == found.binds(waiting, "n")
    assert (2, {}) == (len(found.api.posts), found.api.annotations)
    assert 1 == found.count("binds_total", kind="stripped")


@pytest.mark.parametrize(
    ("refusal", "held"),
    [
        (StatusError(409, "already bound"), False),
        (StatusError(403, "no"), False),
        (StatusError(504, "timeout"), True),
        (UnreachableError("cut off"), True),
    ],
    ids=["conflict", "forbidden", "server timeout", "no answer"],
)
def test_rails_stay_held_only_while_the_pod_may_be_bound(refusal: KubeError, held: bool) -> None:
    """Without an answer the Binding may have been made; a refusal gives the rails back."""
    first, second = pod(0), pod(1)
    found = stage(first, second)
    found.api.refusals = [refusal]
    assert FAILED == found.binds(first, "n")
    assert 1 == found.count("bind_errors_total")
    found.binds(second, "n")
    own = json.loads(second["metadata"]["annotations"][names.INJECTED])["rails"]
    assert held == (own != found.api.placement["rails"])


def test_a_bind_never_takes_longer_than_its_deadline() -> None:
    """What the first attempt used up is missing from the second."""
    waiting = pod()
    found = stage(waiting)
    found.api.refusals = [StatusError(422, "no")]

    def slow() -> None:
        found.now += 1.0

    found.api.takes = slow
    found.binds(waiting, "n")
    assert [1.5, 0.5] == [timeout for _, _, timeout in found.api.posts]

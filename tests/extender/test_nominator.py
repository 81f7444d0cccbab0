"""Nominations: whose, to which nodes, how they end, and what a refusal changes."""

from __future__ import annotations

import time
from typing import Any

import builders
import pytest
import staging
from hypothesis import given, settings
from hypothesis import strategies as st

from extender import nominator
from extender.known import NOMINATOR
from podrail.extension import Arguments
from podrail.fabric import Profile
from podrail.placement import Misfit
from podrail_io.kube import Event, KubeError, StatusError, UnreachableError

RAILS = builders.shipped()["sriov-rails"]
HALVES = staging.halves()
LEAF = "topology.kubernetes.io/rack"
TOTAL, GROUP = "kueue.x-k8s.io/pod-group-total-count", "kueue.x-k8s.io/pod-group-name"
DEVICES = {"nvidia.com/gpu": "8", **{f"nvidia.com/rail{rail}": "1" for rail in range(8)}}
NODES = [f"n{number}" for number in range(nominator.FEWEST_NODES + 40)]
PODS = 80
JOB = "team/j"


def stage(nodes: int = len(NODES), profile: Profile = RAILS, **fields: Any) -> staging.Stage:
    """An extender that knows nodes in leaves of ten, all aligned."""
    made = staging.Stage(profile, devices=DEVICES, **fields)
    for number in range(nodes):
        made.sees_node(f"n{number}", "good", **{LEAF: str(number // 10)})
    made.sees_nodes()
    return made


def pod(index: int, gpus: int = 8, profile: Profile = RAILS, **fields: Any) -> dict[str, Any]:
    """A pod of the job."""
    found = staging.injected(
        profile,
        gpus=gpus,
        uid=f"uid-{index}",
        name=f"j-{index}",
        labels={GROUP: "j"},
        annotations={TOTAL: str(PODS)},
        **fields,
    )
    found["metadata"]["resourceVersion"] = str(index)
    return found


def asked(found: staging.Stage, pods: int = PODS, **fields: Any) -> list[dict[str, Any]]:
    """The pods, which wait, after kube-scheduler has asked about the first and bound it."""
    waiting = [pod(index, **fields) for index in range(pods)]
    for one in waiting:
        found.sees_pod(one)
    question = Arguments(waiting[0], [*found.cluster.survey.nodes.items()])
    found.judge.filter(question)
    scores = dict(zip(question.nodes, found.scores(question), strict=True))
    assert "" == found.binds(waiting[0], max(scores, key=scores.__getitem__))
    return waiting


def nominated(found: staging.Stage) -> dict[str, str]:
    """The nominated node of each pod, as it was written."""
    return {
        path.split("/")[-2]: body["status"].get("nominatedNodeName", "")
        for path, body, _ in found.api.applied
    }


def with_node(one: dict[str, Any], node: str, manager: str = NOMINATOR) -> dict[str, Any]:
    """The pod once somebody's nomination is in its status."""
    metadata = {**one["metadata"], "managedFields": [{"manager": manager}]}
    return {**one, "metadata": metadata, "status": {"nominatedNodeName": node}}


def test_the_bind_of_one_pod_nominates_the_others() -> None:
    """All but those that come next; each a node of its own, and none the bound pod's."""
    found = stage()
    asked(found)
    assert [JOB] == found.taken
    found.nominator.nominate(JOB)
    nodes = nominated(found)
    assert {f"j-{index}" for index in range(nominator.SKIPPED, PODS)} == nodes.keys()
    assert len(nodes) == len(set(nodes.values()))
    assert found.api.posts[0][1]["target"]["name"] not in nodes.values()
    assert len(nodes) == found.count("nominations_total", result="made")


def test_a_job_fills_one_leaf_after_the_other() -> None:
    """As if each pod had been asked about on its own."""
    found = stage()
    asked(found)
    found.nominator.nominate(JOB)
    leaves = {int(node[1:]) // 10 for node in nominated(found).values()}
    assert len(leaves) == -(-len(nominated(found)) // 10)


def test_a_nomination_is_one_field_of_one_pod_in_the_version_that_was_read() -> None:
    """By UID and version: the API server refuses it for a pod that was bound meanwhile."""
    found = stage()
    asked(found)
    found.nominator.nominate(JOB)
    written = {body["metadata"]["name"]: (path, body, by) for path, body, by in found.api.applied}
    path, body, manager = written["j-20"]
    assert "/api/v1/namespaces/team/pods/j-20/status" == path
    assert ("uid-20", "20") == (body["metadata"]["uid"], body["metadata"]["resourceVersion"])
    assert (["nominatedNodeName"], NOMINATOR) == (list(body["status"]), manager)


def test_who_has_been_nominated_is_not_again() -> None:
    """While some are on their way nobody is skipped, and what is left is too little."""
    found = stage()
    asked(found)
    found.nominator.nominate(JOB)
    before = len(found.api.applied)
    for one in range(PODS, PODS + nominator.FEWEST_PODS):
        found.sees_pod(pod(one))
    found.nominator.nominate(JOB)
    assert before + nominator.SKIPPED - 1 + nominator.FEWEST_PODS == len(found.api.applied)
    found.nominator.nominate(JOB)
    assert before + nominator.SKIPPED - 1 + nominator.FEWEST_PODS == len(found.api.applied)


def test_pods_with_parts_of_nodes_are_planned_one_by_one() -> None:
    """Two pods of four GPUs fill a node before the next is begun."""
    found = stage(profile=HALVES)
    asked(found, gpus=4, profile=HALVES)
    found.nominator.nominate(JOB)
    nodes = list(nominated(found).values())
    assert [1, 2] == sorted({nodes.count(node) for node in nodes})
    # One shares the bound pod's node, and one is left over.
    assert 2 == [nodes.count(node) for node in set(nodes)].count(1)


def test_a_nominated_pod_finds_its_node_free_and_nobody_else_does() -> None:
    """The state of the node is told apart from what is planned for the pod itself."""
    patient = staging.halves(patienceSeconds=600)
    found = stage(profile=patient)
    waiting = asked(found, gpus=4, profile=patient)
    found.nominator.nominate(JOB)
    node = nominated(found)["j-20"]
    assert 2 == list(nominated(found).values()).count(node)
    own, other = waiting[20], staging.injected(patient, uid="other", name="other")
    for one in (own, other):
        one["metadata"]["creationTimestamp"] = found.wall().isoformat()
    assert {} == found.judge.filter(Arguments(own, [node]))
    assert {node: Misfit.RAILS_HELD} == found.judge.filter(Arguments(other, [node]))


@pytest.mark.parametrize(
    ("nodes", "pods", "fields"),
    [
        (nominator.FEWEST_NODES - 1, PODS, {}),
        (len(NODES), nominator.SKIPPED + nominator.FEWEST_PODS - 1, {}),
        (len(NODES), PODS, {"topologySpreadConstraints": [{"maxSkew": 1}]}),
    ],
    ids=["few nodes", "few pods", "more to weigh"],
)
def test_where_it_is_of_no_use_nobody_is_nominated(
    nodes: int, pods: int, fields: dict[str, Any]
) -> None:
    """A look at few nodes is cheap, few pods are bound at once, and some are not alike."""
    found = stage(nodes)
    asked(found, pods, **fields)
    found.nominator.nominate(JOB)
    assert [] == found.api.applied


def test_it_is_the_size_of_the_cluster_that_counts() -> None:
    """Not how many nodes are left: kube-scheduler looks at the taken ones too."""
    found = stage()
    waiting = asked(found)
    found.scores(Arguments(waiting[0], NODES[:100]))
    found.nominator.nominate(JOB)
    assert set(NODES[:100]) >= set(nominated(found).values())
    assert PODS - nominator.SKIPPED == len(nominated(found))


def test_a_job_that_nobody_has_asked_about_is_left_alone() -> None:
    """Its nodes are not known then."""
    found = stage()
    found.nominator.nominate(JOB)
    assert [] == found.api.applied


def test_only_the_last_jobs_are_remembered() -> None:
    """What is kept of a question are all names."""
    found = stage()
    asked(found)
    for number in range(40):
        other = pod(number)
        other["metadata"]["labels"][GROUP] = f"other-{number}"
        found.scores(Arguments(other, NODES))
    assert None is found.judge.lately(JOB)


def test_a_node_that_pods_should_rather_not_go_to_is_never_nominated() -> None:
    """What such a taint weighs is for kube-scheduler to say."""
    found = stage()
    taint = {"key": "k", "effect": "PreferNoSchedule"}
    for number in range(0, len(NODES), 2):
        document = {
            "metadata": {
                "name": f"n{number}",
                "labels": {"node.kubernetes.io/instance-type": "good", LEAF: str(number // 10)},
            },
            "spec": {"taints": [taint]},
            "status": {"allocatable": DEVICES},
        }
        found.cluster.survey.nodes._take(Event("MODIFIED", document, "2"))
    asked(found)
    found.nominator.nominate(JOB)
    assert {1} == {int(node[1:]) % 2 for node in nominated(found).values()}


@pytest.mark.parametrize(
    ("refusal", "goes_on"),
    [
        (StatusError(409, "changed"), True),
        (StatusError(404, "gone"), True),
        (StatusError(403, "no"), False),
        (StatusError(429, "busy"), False),
        (StatusError(504, "timeout"), False),
        (UnreachableError("cut off"), False),
    ],
    ids=["changed", "gone", "forbidden", "busy", "server timeout", "no answer"],
)
def test_a_refusal_gives_the_node_back(refusal: KubeError, goes_on: bool) -> None:
    """The next pod is tried only where it may fare better."""
    found = stage()
    asked(found)
    found.api.refusals = [refusal]
    found.nominator.nominate(JOB)
    assert goes_on == (len(found.api.applied) == PODS - nominator.SKIPPED)
    assert 1 == found.count("nominations_total", result="failed")
    made = found.count("nominations_total", result="made")
    planned = [index for index in range(PODS) if found.cluster.planned(f"uid-{index}")]
    assert made == len(planned)


def test_without_the_right_nobody_is_nominated_for_ten_minutes() -> None:
    """Then it is tried again: the right may have been given."""
    found = stage()
    asked(found)
    found.api.refusals = [StatusError(403, "no")] * 10
    found.nominator.nominate(JOB)
    found.api.refusals, before = [], len(found.api.applied)
    found.now += nominator.WITHOUT_RIGHT_SECONDS - 1
    found.sees_node("again", "good")
    found.nominator.nominate(JOB)
    assert before == len(found.api.applied)
    found.now += 1
    found.cluster.survey.nodes._take(Event("BOOKMARK", {}, "3"))
    found.cluster.pods._take(Event("BOOKMARK", {}, "3"))
    found.nominator.nominate(JOB)
    assert before < len(found.api.applied)


def test_an_old_view_nominates_nobody() -> None:
    """As it judges nobody."""
    found = stage()
    asked(found)
    found.now += 301
    found.nominator.nominate(JOB)
    assert [] == found.api.applied


def test_a_nomination_that_leads_to_no_bind_is_withdrawn() -> None:
    """By giving up the one field that is ours; the node is free again once the watch shows it."""
    found = stage()
    waiting = asked(found)
    found.nominator.nominate(JOB)
    node = nominated(found)["j-20"]
    found.sees_pod(with_node(waiting[20], node))
    found.now += staging.HOLD_SECONDS
    before = len(found.api.applied)
    found.nominator.withdraw()
    ((path, body, manager),) = found.api.applied[before:]
    assert ("/api/v1/namespaces/team/pods/j-20/status", NOMINATOR) == (path, manager)
    assert ({}, "uid-20") == (body["status"], body["metadata"]["uid"])
    assert node == found.cluster.planned("uid-20")
    found.sees_pod(waiting[20])
    assert "" == found.cluster.planned("uid-20")
    assert 1 == found.count("nominations_total", result="withdrawn")


def test_a_nomination_of_anybody_else_is_never_touched() -> None:
    """A preemption's pod waits for its victims to end, however long that takes."""
    found = stage()
    waiting = asked(found)
    found.sees_pod(with_node(waiting[20], "n5", "kube-scheduler"))
    found.nominator.nominate(JOB)
    found.now += 10 * staging.HOLD_SECONDS
    found.nominator.withdraw()
    assert "j-20" not in nominated(found)


def test_a_withdrawal_that_fails_is_counted_and_tried_again() -> None:
    """At the next look."""
    found = stage()
    found.sees_pod(with_node(pod(20), "n5"))
    found.now += staging.HOLD_SECONDS
    found.api.refusals = [UnreachableError("cut off")]
    found.nominator.withdraw()
    found.nominator.withdraw()
    assert (1, 1) == (
        found.count("nominations_total", result="failed"),
        found.count("nominations_total", result="withdrawn"),
    )


def test_a_bind_takes_the_place_of_a_plan() -> None:
    """Wherever kube-scheduler sent the pod: what was planned for it is free again."""
    found = stage()
    waiting = asked(found)
    found.nominator.nominate(JOB)
    nodes = nominated(found)
    other = next(name for name in NODES if name not in nodes.values() and not found.used(name))
    assert "" == found.binds(waiting[20], other)
    assert ("", 0) == (found.cluster.planned("uid-20"), found.used(nodes["j-20"]).total())
    assert 8 == found.used(other).total()


def test_a_pod_whose_bind_has_begun_is_not_planned() -> None:
    """Its rails stay where they are."""
    found = stage()
    waiting = asked(found)
    found.binds(waiting[20], "n538")
    found.nominator.nominate(JOB)
    assert "j-20" not in nominated(found)
    assert 8 == found.used("n538").total()


def test_a_pod_that_is_gone_leaves_nothing_planned() -> None:
    """Nor its rails."""
    found = stage()
    waiting = asked(found)
    found.nominator.nominate(JOB)
    node = nominated(found)["j-20"]
    found.sees_pod(waiting[20], "DELETED")
    assert ("", 0) == (found.cluster.planned("uid-20"), found.used(node).total())


def test_a_pod_of_another_scheduler_is_not_ours_to_nominate() -> None:
    """As it is bound without a change."""
    found = stage(scheduler="podrail")
    waiting = [pod(index, schedulerName="other") for index in range(PODS)]
    for one in waiting:
        found.sees_pod(one)
    found.scores(Arguments(waiting[0], NODES))
    found.nominator.nominate(JOB)
    assert [] == found.api.applied


def test_a_round_looks_once_at_each_job_that_was_told() -> None:
    """However many of its pods were bound since the last, and at old nominations now and then."""
    found = stage()
    asked(found)
    found.sees_pod(with_node(pod(20), "n5"))
    found.now += staging.HOLD_SECONDS
    for _ in range(3):
        found.nominator.taken(JOB)
    found.nominator.round()
    found.nominator.taken(JOB)
    found.nominator.round()
    assert 1 == found.count("nominations_total", result="withdrawn")
    assert PODS - 1 - nominator.SKIPPED == found.count("nominations_total", result="made")


def test_the_thread_survives_whatever_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault costs one round."""
    monkeypatch.setattr(nominator, "PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(nominator, "SWEEP_SECONDS", 0.01)
    found = stage()
    asked(found)
    found.api.refusals = [RuntimeError("boom")]  # type: ignore[list-item]  # what nobody expects
    found.nominator.start()
    found.nominator.taken(JOB)
    until = time.monotonic() + 20
    while not found.count("nominations_total", result="made") and time.monotonic() < until:
        found.nominator.taken(JOB)
        time.sleep(0.02)
    assert 0 < found.count("nominations_total", result="made")


def happen(found: staging.Stage, act: str, one: dict[str, Any], node: str) -> None:
    """One thing that may become of a pod whose nomination was this node."""
    if act in {"bind", "elsewhere"}:
        found.binds(one, node if act == "bind" else "n538")
    else:
        shown = with_node(one, node) if act == "told" else one
        found.sees_pod(shown, "DELETED" if act == "gone" else "MODIFIED")


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["bind", "elsewhere", "gone", "told", "lost"]), st.integers(0, 79)
        ),
        max_size=25,
    )
)
def test_whatever_happens_nothing_stays_planned_or_held(acts: list[tuple[str, int]]) -> None:
    """Once all pods are gone no rail is in use, and no pod is known."""
    found = stage()
    waiting = asked(found)
    found.nominator.nominate(JOB)
    nodes = nominated(found)
    for act, index in acts:
        happen(found, act, waiting[index], nodes.get(f"j-{index}", "n1"))
    found.nominator.nominate(JOB)
    for one in waiting:
        found.sees_pod(one)
        found.sees_pod(one, "DELETED")
    found.now += 61
    found.cluster.candidates(NODES)
    assert 0 == len(found.cluster._books.tally)
    assert {} == found.cluster.waiting.of(JOB)

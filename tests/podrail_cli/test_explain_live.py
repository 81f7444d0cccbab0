"""`podrail explain` of a pod of the cluster, and of a file by a dry run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import builders
import placing
import pytest
import scenes
import terminal
from dry_api import DryApi

from podrail import names
from podrail_cli import live

PODS = "/api/v1/pods"
TEAM = "/api/v1/namespaces/team/pods"
JOBS = "/apis/batch/v1/namespaces/team/jobs"
PLACED = json.dumps(
    {
        "v": 1, "node": "a", "rails": [0], "tier": "PIX", "expected": 0.97, "evidence": "catalog",
        "score": {"total": 9}, "conflict": True,
    }
)  # fmt: skip
FABRIC = builders.shipped()["sriov-rails"]
JOB = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "llm", "namespace": "team"},
    "spec": {"parallelism": 4, "template": {
        "metadata": {"labels": {names.FABRIC: "sriov-rails"}},
        "spec": {"containers": [builders.container()], "nodeName": "a", "restartPolicy": "Never"},
    }},
}  # fmt: skip


@pytest.fixture
def api() -> Iterator[DryApi]:
    """An API server with two nodes, of which one is of a type that is not known."""
    running = DryApi()
    for one in (scenes.node("a"), scenes.node("u", "no such type")):
        running.put(f"{live.NODES}/{one['metadata']['name']}", one)
    running.put("/api/v1/namespaces/team", {"metadata": {"labels": {}}})
    running.served.add(PODS)
    yield running
    running.stop()


def shown(api: DryApi, *words: str | Path, status: int = 0, given: object = None) -> str:
    """What is printed."""
    result = terminal.run("explain", *words, "-n", "team", "--server", api.url, given=given)
    assert status == result.exit_code, result.output
    return result.stdout


def put(api: DryApi, pod: dict[str, Any]) -> None:
    """Create a pod; the API server lists it among all, too."""
    name = pod["metadata"]["name"]
    bare = {key: one for key, one in pod.items() if key not in {"kind", "apiVersion"}}
    api.put(f"{TEAM}/{name}", pod)
    api.put(f"{PODS}/{name}", bare)


def test_a_bound_pod_tells_where_it_is_and_why(api: DryApi) -> None:
    """What was expected there, then the nodes as if it came now."""
    pod = placing.injected(FABRIC, name="w")
    put(api, scenes.bound(pod, "a", PLACED, phase="Running"))
    lines = shown(api, "pod", "w").splitlines()
    assert "pod team/w: injected by profile sriov-rails into container train" == lines[0]
    at = lines.index("bound to node a (Running)")
    assert [
        "  placed by podrail: 9 of 10, rails 0",
        "  expected then: 97% of the rails' bandwidth, worst pair PIX; evidence: catalog",
        "  its rails were to be its own, and others use them too: too few were free",
    ] == lines[at + 1 : at + 4]
    assert "2 of 2 nodes can run it; the best:" in lines


def test_a_pod_that_others_placed_says_so(api: DryApi) -> None:
    """And one whose marker knows little."""
    pod = placing.injected(FABRIC, name="w")
    put(api, scenes.bound(pod, "a"))
    assert "not placed by podrail: nothing was written at the bind" in shown(api, "pod/w")
    bare = json.dumps({"v": 1, "node": "a", "expected": None, "score": None})
    put(api, scenes.bound(pod, "a", bare))
    told = shown(api, "po/w")
    assert "placed by podrail: not scored, rails none" in told
    assert "expected then: unknown of the rails' bandwidth, worst pair ?" in told


def test_a_pending_pod_says_what_it_waits_for(api: DryApi) -> None:
    """In kube-scheduler's words, and for which scheduler."""
    pod = placing.injected(FABRIC, name="w", schedulerName="podrail")
    condition = {"type": "PodScheduled", "status": "False", "message": "0/2 nodes are available"}
    put(api, {**pod, "status": {"phase": "Pending", "conditions": [condition]}})
    lines = shown(api, "pod", "w").splitlines()
    at = lines.index("not bound yet, it waits for scheduler podrail (Pending):")
    assert "  0/2 nodes are available" == lines[at + 1]
    put(api, pod)
    assert "not bound yet, it waits for scheduler podrail\n" in shown(api, "pod", "w")


@pytest.mark.parametrize(
    ("own", "theirs", "told"),
    [
        (None, None, "not opted in: there is no label podrail.dev/fabric on the pod or its name"),
        ("none", "tcp", "opted out: label podrail.dev/fabric is none"),
        ("tcp", None, "opted in by its label, but created without the webhook"),
        (None, "tcp", "opted in by its namespace's label, but created without the webhook"),
    ],
    ids=["no label", "opted out", "slipped through", "slipped through by the namespace"],
)
def test_a_pod_without_the_marker_says_why(
    api: DryApi, own: str | None, theirs: str | None, told: str
) -> None:
    """Status 1, and nothing of nodes."""
    labels = {names.FABRIC: theirs} if theirs else {}
    api.put("/api/v1/namespaces/team", {"metadata": {"labels": labels}})
    put(api, builders.document(fabric=own, name="w"))
    found = shown(api, "pod", "w", status=1)
    assert (True, False) == (told in found, "nodes can run it" in found)


def test_the_size_of_a_live_job_is_asked_for(api: DryApi) -> None:
    """The object that the rules of jobs name."""
    api.put(f"{JOBS}/llm", {"metadata": {"namespace": "team"}, "spec": JOB["spec"]})
    labels = {"batch.kubernetes.io/job-name": "llm"}
    put(api, placing.injected(FABRIC, name="w", labels=labels))
    assert "found by rule job; pods: 4, bound: 0" in shown(api, "pod", "w")


def test_a_pod_of_a_dump_is_explained(api: DryApi, tmp_path: Path) -> None:
    """With the dump's own profiles; one that is not there is wrong input."""
    own = builders.profile_document("mine", gpuResources=["nvidia.com/gpu"])
    pod = placing.injected(builders.fabric("mine"), name="w")
    home = {"kind": "Namespace", "metadata": {"name": "team"}}
    path = scenes.listed(tmp_path, scenes.node("a"), pod, own, home)
    assert "1 of 1 nodes can run it" in shown(api, "pod", "w", "--cluster", path)
    result = terminal.run("explain", "pod", "v", "-n", "team", "--cluster", path)
    assert (2, True) == (result.exit_code, "team/v: no such pod" in result.stderr)


def test_a_file_is_tried_by_a_dry_run_and_every_node_is_scored(api: DryApi) -> None:
    """As its owner would make it: with its labels, without a node, under no name that is taken."""
    found = json.loads(shown(api, "-f", "-", "-o", "json", given=JOB))
    (sent,) = api.dry
    labels = {names.FABRIC: "sriov-rails", "batch.kubernetes.io/job-name": "llm"}
    assert {"generateName": "podrail-explain-", "labels": labels} == sent["metadata"]
    assert "nodeName" not in sent["spec"]
    assert ("llm", "a dry run in the cluster", 4) == (
        found["pod"],
        found["source"],
        found["job"]["size"],
    )
    assert ["a", "u"] == [one["node"] for one in found["ranked"]]


def test_a_pod_of_a_file_belongs_to_no_job(api: DryApi) -> None:
    """And without the webhook it has no rails, which is told."""
    assert "found by rule" in shown(api, "-f", "-", given=builders.document())
    api.webhook = False
    told = shown(api, "-f", "-", given=builders.document(), status=1)
    assert "opted in by its label, but created without the webhook" in told


def test_a_refusal_is_told_in_the_api_servers_words(api: DryApi) -> None:
    """A quota's or a policy's; status 1."""
    api.refusal = "exceeded quota: team"
    told = shown(api, "-f", "-", status=1, given=builders.document())
    assert (
        "pod team/worker-0: refused by the API server\n  403 Forbidden: exceeded quota: team\n"
        == told
    )


def test_without_a_cluster_the_rules_here_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And say that nodes are not known; a server that was named has to answer."""
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    result = terminal.run("explain", "-f", "-", given=builders.document())
    assert (0, True) == (result.exit_code, "no cluster to ask (no cluster around" in result.stderr)
    assert "Where it fits is not known here" in result.stdout
    away = terminal.run(
        "explain", "-f", "-", "--server", "http://127.0.0.1:1", given=builders.document()
    )
    assert (2, "") == (away.exit_code, away.stdout)


@pytest.mark.parametrize(
    ("document", "status"),
    [(builders.document(), 0), (builders.document(builders.container(gpus=0)), 1)],
)
def test_with_a_profile_no_cluster_is_asked(document: dict[str, Any], status: int) -> None:
    """The shipped ones are tried before they are there."""
    result = terminal.run("explain", "-f", "-", "--profile", "sriov-pool", given=document)
    assert (status, "") == (result.exit_code, result.stderr)


@pytest.mark.parametrize(
    "words", [[], ["pod"], ["w"], ["job", "w"], ["pod", "w", "-f", "x"], ["pod", "a", "b"]]
)
def test_neither_a_pod_nor_a_file_is_wrong_input(words: list[str]) -> None:
    """With how to call it."""
    result = terminal.run("explain", *words)
    assert (2, True) == (result.exit_code, "expected pod NAME, or a file with -f" in result.stderr)


def test_long_lists_of_nodes_are_cut_for_people(api: DryApi) -> None:
    """Rank shows them all."""
    for number in range(30):
        api.put(f"{live.NODES}/n{number}", scenes.node(f"n{number}"))
    told = shown(api, "-f", "-", given=builders.document())
    assert told.endswith("  and 12 more: podrail rank, or -o json\n")

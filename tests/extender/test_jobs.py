"""The job of a pod in filter, prioritize and bind: siblings, blocks, claims, sizes, restarts."""

from __future__ import annotations

import cProfile
import json
from collections.abc import Callable
from typing import Any

import builders
import pytest
import staging

from podrail import names
from podrail.extension import Arguments
from podrail_io.kube import Event, StatusError

RAILS = builders.shipped()["sriov-rails"]
BLOCK, RACK = "topology.kubernetes.io/block", "topology.kubernetes.io/rack"
TOTAL, GROUP = "kueue.x-k8s.io/pod-group-total-count", "kueue.x-k8s.io/pod-group-name"


def stage(**blocks: int) -> staging.Stage:
    """An extender that knows so many nodes in each block; node a-0 is the first of block a."""
    made = staging.Stage(RAILS, devices={"nvidia.com/gpu": "8"})
    see(made, **blocks)
    return made


def see(made: staging.Stage, **blocks: int) -> None:
    """Let the watch bring nodes of blocks."""
    for block, nodes in blocks.items():
        for number in range(nodes):
            made.sees_node(f"{block}-{number}", "good", **{BLOCK: block, RACK: str(number // 2)})
    made.sees_nodes()


def pod(job: str, index: int, size: int, **fields: Any) -> dict[str, Any]:
    """A pod of a job that takes whole nodes."""
    name = f"{job}-{index}"
    return staging.injected(
        RAILS,
        gpus=8,
        uid=f"uid-{name}",
        name=name,
        labels={GROUP: job},
        annotations={TOTAL: str(size)},
        **fields,
    )


def best(found: staging.Stage, one: dict[str, Any], taken: set[str]) -> set[str]:
    """The nodes with ten points, of those that nobody has taken."""
    nodes = sorted(set(found.cluster._seats) - taken)
    scores = found.scores(Arguments(one, nodes))
    return {node for node, score in zip(nodes, scores, strict=True) if score == 10}


def blocks(nodes: set[str]) -> set[str]:
    """The blocks of some nodes."""
    return {node[0] for node in nodes}


def bind(found: staging.Stage, one: dict[str, Any], node: str) -> None:
    """Bind a pod that waits; the watch shows it bound only later."""
    found.sees_pod(one)
    assert "" == found.binds(one, node)


def bound(one: dict[str, Any], node: str, since: str) -> dict[str, Any]:
    """The pod's document once it is bound."""
    marker = json.dumps({"v": 1, "node": node, "rails": list(range(8))})
    annotations = {**one["metadata"]["annotations"], names.PLACEMENT: marker}
    return {
        **one,
        "metadata": {**one["metadata"], "annotations": annotations},
        "spec": {**one["spec"], "nodeName": node},
        "status": {"conditions": [{"type": "PodScheduled", "lastTransitionTime": since}]},
    }


def test_two_jobs_whose_pods_come_interleaved_end_in_one_block_each() -> None:
    """Each pod is bound to one of its best nodes before the next one is asked about."""
    found, taken = stage(a=4, b=5, c=9), set[str]()
    used: dict[str, set[str]] = {"one": set(), "two": set()}
    for index in range(4):
        for job, own in used.items():
            one = pod(job, index, 4)
            node = min(best(found, one, taken))
            bind(found, one, node)
            taken.add(node)
            own.add(node[0])
    assert {"one": {"a"}, "two": {"b"}} == used


def test_a_pod_that_asks_before_its_sibling_counts_follows_it() -> None:
    """The block is one node short for kube-scheduler, and would be too small for the whole job."""
    found, node, taken = stage(a=4, b=4), "", set[str]()
    for index in range(3):
        chosen = best(found, pod("one", index, 4), taken)
        node = node or min(chosen)
        assert {node[0]} == blocks(chosen)
        taken.add(min(chosen))


def test_a_pod_that_was_never_bound_is_followed_for_two_seconds() -> None:
    """Then the job begins where it fits best."""
    found = stage(a=4, b=4)
    first = best(found, pod("one", 0, 4), set())
    other = {"a": "b", "b": "a"}[min(first)[0]]
    found.now += 2.0
    assert {other} == blocks(best(found, pod("one", 1, 4), {min(first)}))


def test_a_bind_that_fails_leaves_no_claim_and_no_sibling() -> None:
    """The next job may have the block."""
    found = stage(a=4, b=6)
    first, second = pod("one", 0, 4), pod("two", 0, 4)
    before = best(found, second, set())
    found.sees_pod(first)
    found.api.refusals = [StatusError(409, "already bound")]
    found.binds(first, "a-0")
    assert {"a"} == blocks(before)
    assert before == best(found, second, set())


@pytest.mark.parametrize("nodes_first", [True, False], ids=["nodes first", "pods first"])
def test_after_a_restart_the_claims_are_there_again(nodes_first: bool) -> None:
    """Whichever watch is first: a job of four with two bound keeps the two nodes beside them."""
    found = stage()
    if nodes_first:
        see(found, a=4, b=4)
    since = found.wall().isoformat()
    for index in range(2):
        found.sees_pod(bound(pod("one", index, 4), f"a-{index}", since))
    if not nodes_first:
        see(found, a=4, b=4)
    taken = {"a-0", "a-1"}
    assert {"b"} == blocks(best(found, pod("two", 0, 2), taken))
    assert {"a"} == blocks(best(found, pod("one", 2, 4), taken))


def test_a_claim_is_as_old_as_the_latest_bind() -> None:
    """Five minutes after it, the rest of a block is anyone's, also after a restart."""
    found = stage()
    since = found.wall().isoformat()
    found.now += 301
    see(found, a=4, b=4)
    for index in range(2):
        found.sees_pod(bound(pod("one", index, 4), f"a-{index}", since))
    assert {"a-2", "a-3"} == best(found, pod("two", 0, 2), {"a-0", "a-1"})


def test_a_pod_that_is_gone_is_no_sibling() -> None:
    """The last one takes the claim with it."""
    found = stage(a=4, b=6)
    one = pod("one", 0, 4)
    bind(found, one, "a-0")
    assert {"b"} == blocks(best(found, pod("two", 0, 4), {"a-0"}))
    found.sees_pod(one, "DELETED")
    assert {"a"} == blocks(best(found, pod("two", 0, 4), set()))


@pytest.mark.parametrize(("size", "expected"), [(2, "a"), (6, "b")])
def test_the_size_of_a_job_comes_from_its_object(size: int, expected: str) -> None:
    """A batch Job's parallelism decides which block is the smallest that can host it."""
    found = stage(a=2, b=6)
    spec = {"parallelism": size, "completions": size, "template": {"spec": {}}}
    document = {"metadata": {"name": "j", "namespace": "team"}, "spec": spec}
    (watch,) = found.cluster.sizes._watches["Job.batch"]
    watch._take(Event("ADDED", document, "1"))
    one = staging.injected(RAILS, gpus=8, labels={"batch.kubernetes.io/job-name": "j"})
    assert {expected} == blocks(best(found, one, set()))


def test_the_placement_says_what_each_part_was_worth() -> None:
    """As the question had it from which the node came."""
    found = stage(a=4, b=6)
    first, second = pod("one", 0, 4), pod("one", 1, 4)
    best(found, first, set())
    bind(found, first, "a-0")
    assert 1.0 == found.api.placement["score"]["parts"]["block"]
    best(found, second, {"a-0"})
    bind(found, second, "a-1")
    parts = found.api.placement["score"]["parts"]
    assert (0.9, 1.0, 1.0) == (parts["closeness"], parts["common"], parts["reach"])
    assert 4 == found.api.placement["job"]["size"]


@pytest.mark.parametrize("question", ["filter", "prioritize"])
def test_a_question_costs_the_same_however_many_siblings_are_bound(question: str) -> None:
    """Counted in function calls: 1,000 bound pods on the nodes of ten, and one pod more to place."""
    costs = []
    for siblings in (10, 1000):
        found = stage(a=16, b=16)
        for index in range(siblings):
            one = pod("one", index, 2000)
            found.sees_pod(bound(one, f"a-{index % 10}", found.wall().isoformat()))
        nodes = [f"b-{number}" for number in range(16)]
        ask = getattr(found.judge, question)
        ask(Arguments(pod("two", 0, 1), nodes))
        costs.append(calls(lambda: ask(Arguments(pod("one", 1500, 2000), nodes))))  # noqa: B023 - called at once
    few, many = costs
    assert many <= 1.1 * few


def calls(act: Callable[[], object]) -> int:
    """How many functions an act calls."""
    profile = cProfile.Profile()
    profile.runcall(act)
    return sum(entry.callcount for entry in profile.getstats())

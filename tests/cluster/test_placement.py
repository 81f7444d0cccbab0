"""Placement by the whole score, through a real kube-scheduler and the extender beside it."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from typing import Any

import builders
import pytest
import yaml
from controlplane import nodes
from controlplane.installed import DEPLOY, ROOT, Installed, eventually, metric
from controlplane.plane import Cluster
from controlplane.processes import free_port
from gangs import GROUP, POOL, TOTAL, blocks_of, bound, create, member, placement

from podrail import names

pytestmark = pytest.mark.cluster
BLOCK = "topology.kubernetes.io/block"
RACK = "topology.kubernetes.io/rack"
PATIENCE = 6
_NUMBERS = itertools.count()


@pytest.fixture
def pool(cluster: Cluster, namespace: str) -> Iterator[str]:
    """The label of nodes that are the test's own; they are gone afterwards."""
    name = f"pool-{namespace}"
    yield name
    cluster.client.delete(f"/apis/batch/v1/namespaces/{namespace}/jobs")
    cluster.client.delete(f"/api/v1/namespaces/{namespace}/pods")
    cluster.client.delete(f"/api/v1/nodes?labelSelector={POOL}%3D{name}")


def blocks(cluster: Cluster, pool: str, *sizes: int, leaf: int = 8) -> None:
    """Aligned nodes in blocks of these sizes, with leaves of eight."""
    cluster.client.create_all(
        nodes.node(
            f"{pool}-b{block}-n{number}",
            nodes.ALIGNED,
            nodes.HARDWARE,
            **{POOL: pool, BLOCK: f"{pool}-b{block}", RACK: f"{pool}-b{block}-r{number // leaf}"},
        )
        for block, size in enumerate(sizes)
        for number in range(size)
    )


@pytest.mark.usefixtures("registered", "extender")
def test_two_jobs_whose_pods_come_interleaved_end_in_one_block_each(
    cluster: Cluster, namespace: str, pool: str
) -> None:
    """Sixteen nodes each, and blocks of 16, 20 and 40: neither is broken over two."""
    blocks(cluster, pool, 16, 20, 40)
    create(
        cluster,
        namespace,
        (member(job, index, 16, pool) for index in range(16) for job in ("one", "two")),
    )
    found = blocks_of(bound(cluster, namespace, 32))
    assert [[16], [16]] == [list(counts.values()) for counts in found.values()]


@pytest.mark.usefixtures("registered", "extender")
def test_two_jobs_of_the_job_controller_end_in_one_block_each(
    cluster: Cluster, namespace: str, pool: str
) -> None:
    """Their size stands in the Jobs, and the controller creates pods in its own order."""
    blocks(cluster, pool, 12, 12, 24)
    template = member("x", 0, 12, pool)
    del template["metadata"]["labels"][GROUP], template["metadata"]["annotations"][TOTAL]
    metadata = {key: template["metadata"][key] for key in ("labels", "annotations")}
    spec = {**template["spec"], "restartPolicy": "Never"}
    for name in ("one", "two"):
        job = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": name},
            "spec": {
                "completions": 12,
                "parallelism": 12,
                "completionMode": "Indexed",
                "template": {"metadata": metadata, "spec": spec},
            },
        }
        cluster.client.create(job, namespace)
    pods = bound(cluster, namespace, 24)
    for one in pods:
        one["metadata"]["labels"][GROUP] = one["metadata"]["labels"]["job-name"]
    assert {"job"} == {placement(one)["job"]["rule"] for one in pods}
    assert {12} == {placement(one)["job"]["size"] for one in pods}
    assert [[12], [12]] == [list(counts.values()) for counts in blocks_of(pods).values()]


@pytest.fixture(scope="module")
def existing(cluster: Cluster, installed: Installed) -> str:
    """The cluster's own scheduler, as deploy/ extends it; its name."""
    extender = installed.extender(PODRAIL_SCHEDULER="")
    path = DEPLOY / "extender" / "scheduler-extend-existing.yaml"
    (config,) = yaml.safe_load_all(path.read_text())
    config["extenders"][0]["urlPrefix"] = f"http://{extender.address()}"
    config["profiles"] = [{"schedulerName": "existing"}]
    cluster.scheduler("existing", config)
    return "existing"


@pytest.mark.usefixtures("registered", "extender")
@pytest.mark.parametrize("scheduler", ["podrail", "existing"])
def test_a_node_that_is_better_by_a_leaf_wins_against_the_schedulers_own_rules(
    cluster: Cluster, namespace: str, pool: str, scheduler: str, existing: str
) -> None:
    """One point of difference: the other leaf's node is empty, this one's CPU and memory are not."""
    assert existing
    blocks(cluster, pool, 3, leaf=2)
    first = member("j", 0, 2, pool, schedulerName=scheduler)
    first["spec"]["nodeSelector"] = {"kubernetes.io/hostname": f"{pool}-b0-n0"}
    create(cluster, namespace, [first])
    work = builders.document(
        builders.container(gpus=0, limits={"cpu": "150", "memory": "1500Gi"}),
        fabric=None,
        name="work",
        nodeName=f"{pool}-b0-n1",
    )
    create(cluster, namespace, [work])
    bound(cluster, namespace, 2)
    create(cluster, namespace, [member("j", 1, 2, pool, schedulerName=scheduler)])
    bound(cluster, namespace, 3)
    second = cluster.client.get(f"/api/v1/namespaces/{namespace}/pods/j-1")
    assert f"{pool}-b0-n1" == second["spec"]["nodeName"]
    parts = placement(second)["score"]["parts"]
    assert (0.9, 1.0) == (parts["closeness"], parts["reach"])


def late_rails(name: str, **spec: Any) -> dict[str, Any]:
    """The example profile of rails that are chosen late, under another name."""
    path = ROOT / "examples" / "profiles" / "macvlan-halves.yaml"
    found: dict[str, Any] = yaml.safe_load(path.read_text())
    found["metadata"]["name"] = name
    found["spec"] |= spec
    return found


@pytest.mark.usefixtures("registered", "webhook")
def test_held_rails_are_refused_for_a_while_and_then_shared_with_an_event(
    cluster: Cluster, namespace: str, pool: str, extender: Any
) -> None:
    """Six seconds of patience: FailedNodes until then, afterwards a bind that says conflict."""
    profile = late_rails("patient", patienceSeconds=PATIENCE, partial="SameNuma")
    cluster.client.create(profile)
    blocks(cluster, pool, 1)
    conflicts = metric(extender, "podrail_rail_conflicts_total")
    some = [member("p", index, 3, pool, fabric="patient", gpus=2) for index in range(3)]
    eventually(lambda: _known(cluster, some[0]), "the webhook knows the profile")
    create(cluster, namespace, some[:2])
    first = bound(cluster, namespace, 2)
    assert set(range(8)) == {rail for one in first for rail in placement(one)["rails"]}
    create(cluster, namespace, some[2:])
    path = f"/api/v1/namespaces/{namespace}/pods/p-2"
    refused = "1 podrail: other pods hold the rails that the pod would get"
    eventually(lambda: refused in _condition(cluster.client.get(path)), "the pod is refused")
    eventually(lambda: _nudged(cluster, pool, path), "the pod is bound all the same", 30)
    assert placement(cluster.client.get(path))["conflict"]
    assert conflicts + 1 == metric(extender, "podrail_rail_conflicts_total")
    eventually(lambda: _told(cluster, namespace), "there is an event")
    cluster.client.delete("/apis/podrail.dev/v1alpha1/fabricprofiles/patient")


def _known(cluster: Cluster, pod: dict[str, Any]) -> bool:
    return cluster.client.try_create(pod, dryRun="All").status == 201


def _condition(pod: dict[str, Any]) -> str:
    conditions = pod["status"].get("conditions") or [{}]
    return str(conditions[0].get("message", ""))


def _nudged(cluster: Cluster, pool: str, path: str) -> bool:
    """True once bound: kube-scheduler tries again when a node changes, as the agent makes it."""
    change = {"metadata": {"annotations": {names.FREE_RAILS: f"{next(_NUMBERS):016x}"}}}
    cluster.client.patch(f"/api/v1/nodes/{pool}-b0-n0", change)
    return "nodeName" in cluster.client.get(path)["spec"]


def _told(cluster: Cluster, namespace: str) -> bool:
    events = cluster.client.items(f"/api/v1/namespaces/{namespace}/events")
    told = [one for one in events if one["reason"] == "RailsShared"]
    return ["p-2"] == [one["involvedObject"]["name"] for one in told]


@pytest.mark.usefixtures("registered")
def test_a_restart_in_the_middle_of_a_job_changes_nothing(
    cluster: Cluster, installed: Installed, namespace: str, pool: str
) -> None:
    """Of two equal blocks the job's own stays claimed for its rest, and its rest goes there."""
    blocks(cluster, pool, 6, 6)
    port = free_port()
    listen = {"PODRAIL_LISTEN": f"127.0.0.1:{port}", "PODRAIL_SCHEDULER": "restarted"}
    extender = installed.extender(**listen)
    config = installed.scheduler_config(extender.address())
    config["profiles"][0]["schedulerName"] = "restarted"
    scheduler = cluster.scheduler("restarted", config)
    job = [member("begun", index, 6, pool, schedulerName="restarted") for index in range(6)]
    create(cluster, namespace, job[:3])
    (own,) = blocks_of(bound(cluster, namespace, 3))["begun"]
    extender.kill()
    extender = installed.extender(**listen)
    # Three nodes are free in the begun block: without its claim they would be the best fit.
    later = [member("later", index, 3, pool, schedulerName="restarted") for index in range(3)]
    create(cluster, namespace, later)
    found = blocks_of(bound(cluster, namespace, 6))
    assert own not in found["later"]
    create(cluster, namespace, job[3:])
    found = blocks_of(bound(cluster, namespace, 9))
    scheduler.stop()
    extender.stop()
    assert {own: 6} == found["begun"]
    assert [3] == list(found["later"].values())


@pytest.mark.usefixtures("registered", "extender")
def test_two_hundred_pods_at_once_share_no_rail_while_one_is_free(
    cluster: Cluster, namespace: str, pool: str
) -> None:
    """One GPU and one late rail each, on 25 nodes of eight: all 200 rails are used once."""
    blocks(cluster, pool, 25)
    cluster.client.create_all(
        {**one, "metadata": {**one["metadata"], "namespace": namespace}}
        for one in (
            member(f"j{index}", 0, 1, pool, fabric="macvlan-halves", gpus=1) for index in range(200)
        )
    )
    pods = bound(cluster, namespace, 200)
    used = Counter((one["spec"]["nodeName"], *placement(one)["rails"]) for one in pods)
    assert {1} == set(used.values())
    assert 200 == len(used)
    assert not any(placement(one)["conflict"] for one in pods)

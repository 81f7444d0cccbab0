"""Reports on pods at a real API server, with the rights and under the policies of deploy/."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import audited
import builders
import placing
import pytest
import reported
from controlplane.client import Client
from controlplane.installed import NAMESPACE, Installed, eventually, metric
from controlplane.plane import Cluster
from controlplane.processes import Child

from podrail import names
from podrail.topology import State

pytestmark = pytest.mark.cluster
RAILS = "/apis/podrail.dev/v1alpha1/noderails"
LEASE = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/podrail-controller"
MERGE = "application/merge-patch+json"
NODE = "aligned-6"
SCHEDULER = "by-hand"
DOWN = {3: State.DOWN}


@pytest.fixture(scope="module")
def token(cluster: Cluster, installed: Installed) -> str:
    """What the kubelet gives the controller's pod: the account that the policies name."""
    del installed
    return reported.token(cluster)


@pytest.fixture(scope="module")
def kubeconfig(cluster: Cluster, token: str) -> Path:
    """The same as a file."""
    return reported.kubeconfig(cluster, token)


def started(installed: Installed, kubeconfig: Path) -> Child:
    """A controller with that account, which takes the test for a scheduler that asks the extender."""
    settings = {"PODRAIL_KUBECONFIG": str(kubeconfig), "PODRAIL_SCHEDULERS": SCHEDULER}
    return installed.controller(**settings)


@pytest.fixture
def controller(installed: Installed, kubeconfig: Path) -> Iterator[Child]:
    """The controller's process."""
    running = started(installed, kubeconfig)
    yield running
    running.stop()


@pytest.fixture
def node(cluster: Cluster) -> Iterator[str]:
    """A node whose agent is the test."""
    yield NODE
    cluster.client.delete(f"{RAILS}/{NODE}")


def stamp() -> str:
    """The time as an agent writes it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def see(cluster: Cluster, pod: str, bad: dict[int, State] | None = None, at: str = "") -> None:
    """Write what an agent would see of a pod that holds the whole node."""
    held = {pod: (range(8), range(8))}
    found = audited.written(audited.node_rails(held=held, bad=bad, at=at or stamp(), name=NODE))
    assert cluster.client.call("POST", RAILS, {**found, "status": {}}).status in {201, 409}
    answer = cluster.client.patch(f"{RAILS}/{NODE}/status", {"status": found["status"]})
    assert 200 == answer.status, answer.message


def bound(cluster: Cluster, namespace: str, *, scored: bool = True, name: str = "worker-0") -> str:
    """A pod that admission has seen, bound to NODE as the extender or somebody else does it."""
    profile = builders.shipped()["sriov-rails"]
    found = placing.injected(profile, name=name)
    found["metadata"] = {key: found["metadata"][key] for key in ("name", "labels", "annotations")}
    # Nobody but the test binds it.
    found["spec"] |= {"schedulerName": SCHEDULER}
    made = cluster.client.create(found, namespace)
    notes = audited.placed(made, "sriov-rails", placing.ALIGNED, NODE) if scored else {}
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": name, "uid": made["metadata"]["uid"], "annotations": notes},
        "target": {"apiVersion": "v1", "kind": "Node", "name": NODE},
    }
    path = f"/api/v1/namespaces/{namespace}/pods/{name}"
    assert 201 == cluster.client.call("POST", f"{path}/binding", binding).status
    status = {"status": {"phase": "Running", "startTime": stamp()}}
    assert 200 == cluster.client.patch(f"{path}/status", status).status
    return path


def said(cluster: Cluster, path: str) -> dict[str, Any]:
    """The report on a pod; empty if there is none."""
    return reported.said(cluster.client.get(path))


def outcome(cluster: Cluster, path: str) -> str:
    """Its outcome."""
    return reported.outcome(cluster.client, path)


def told(cluster: Cluster, namespace: str) -> list[tuple[str, int]]:
    """The reasons and counts of the controller's Events, one by one."""
    found = cluster.client.items(f"/api/v1/namespaces/{namespace}/events")
    return sorted(
        (one["reason"], one["count"])
        for one in found
        if one["source"].get("component") == reported.ACCOUNT
    )


def test_a_pod_is_reported_on_and_a_link_that_goes_down_and_up(
    cluster: Cluster, namespace: str, node: str, controller: Child
) -> None:
    """Annotation, Event and metric; down with the agent's reason, and back again."""
    path = bound(cluster, namespace)
    key = f"{namespace}/worker-0"
    see(cluster, key)
    eventually(lambda: outcome(cluster, path) == "RailsAligned", "aligned")
    report = said(cluster, path)
    assert (node, list(range(8)), "PIX", 1.0, "devices") == (
        report["node"],
        report["gpus"],
        report["tier"],
        report["aligned"],
        report["by"],
    )
    counted = 'podrail_controller_pods{outcome="RailsDegraded",profile="sriov-rails"}'
    see(cluster, key, DOWN)
    eventually(lambda: outcome(cluster, path) == "RailsDegraded", "degraded", 30)
    assert [{"code": "RailDown", "rails": [3], "cause": "PortDown"}] == said(cluster, path)[
        "reasons"
    ]
    assert 1 == metric(controller, counted)
    see(cluster, key)
    eventually(lambda: outcome(cluster, path) == "RailsAligned", "aligned again", 30)
    assert 0 == metric(controller, counted)
    assert [("RailsAligned", 2), ("RailsDegraded", 1)] == told(cluster, namespace)


def test_a_pod_of_the_same_name_is_not_taken_for_the_earlier_one(
    cluster: Cluster, namespace: str, node: str, controller: Child
) -> None:
    """What the agent saw before it began is the other one's; nothing is said until it looks."""
    assert (node, None) == (NODE, controller.process.poll())
    path = bound(cluster, namespace)
    see(cluster, f"{namespace}/worker-0", DOWN, at="2026-01-01T00:00:00Z")
    time.sleep(3)
    assert {} == said(cluster, path)
    see(cluster, f"{namespace}/worker-0")
    eventually(lambda: outcome(cluster, path) == "RailsAligned", "aligned")


def test_pods_that_slipped_past_webhook_and_extender_are_told(
    cluster: Cluster, installed: Installed, namespace: str, node: str, controller: Child
) -> None:
    """One without a marker, in a namespace with the label; one that somebody else bound."""
    assert (node, None) == (NODE, controller.process.poll())
    installed.unregister()
    plain = bound(cluster, namespace, scored=False)
    cluster.client.create(builders.document(fabric=None, name="early"), namespace)
    labels = {"metadata": {"labels": {names.FABRIC: "tcp"}}}
    assert 200 == cluster.client.patch(f"/api/v1/namespaces/{namespace}", labels).status
    early = f"/api/v1/namespaces/{namespace}/pods/early"
    eventually(lambda: outcome(cluster, early) == "RailsNotInjected", "not injected")
    eventually(lambda: outcome(cluster, plain) == "RailsUnscored", "unscored")
    assert [("RailsNotInjected", 1), ("RailsUnscored", 1)] == told(cluster, namespace)


def test_a_controller_that_is_killed_is_followed_without_a_doubled_event(
    cluster: Cluster, installed: Installed, kubeconfig: Path, namespace: str, node: str
) -> None:
    """Of two one is active; the other knows what was said, and says what happened since."""
    assert node == NODE
    children = [started(installed, kubeconfig) for _ in range(2)]
    path, key = bound(cluster, namespace), f"{namespace}/worker-0"
    see(cluster, key)
    eventually(lambda: outcome(cluster, path) == "RailsAligned", "aligned", 40)
    active = [one for one in children if metric(one, "podrail_controller_active")]
    assert 1 == len(active)
    active[0].kill()
    see(cluster, key, DOWN)
    eventually(lambda: outcome(cluster, path) == "RailsDegraded", "degraded by the other", 60)
    again = started(installed, kubeconfig)
    time.sleep(3)
    for one in (*children, again):
        one.stop()
    assert (2, [("RailsAligned", 1), ("RailsDegraded", 1)]) == (
        said(cluster, path)["n"],
        told(cluster, namespace),
    )


def test_fifty_pods_are_caught_up_with_after_a_time_off(
    cluster: Cluster, installed: Installed, kubeconfig: Path, namespace: str, node: str
) -> None:
    """All are reported on, each by one event, and a second controller writes nothing at all."""
    assert node == NODE
    paths = [bound(cluster, namespace, name=f"worker-{at}") for at in range(50)]
    see(cluster, f"{namespace}/worker-0")
    held = {f"{namespace}/worker-{at}": (range(8), range(8)) for at in range(50)}
    found = audited.written(audited.node_rails(held=held, at=stamp(), name=NODE))
    cluster.client.patch(f"{RAILS}/{NODE}/status", {"status": found["status"]})
    first = started(installed, kubeconfig)
    eventually(lambda: all(said(cluster, path) for path in paths), "caught up", 60)
    first.stop()
    before = [cluster.client.get(path)["metadata"]["resourceVersion"] for path in paths]
    second = started(installed, kubeconfig)
    eventually(lambda: bool(metric(second, "podrail_controller_active")), "active", 30)
    time.sleep(2)
    second.stop()
    assert before == [cluster.client.get(path)["metadata"]["resourceVersion"] for path in paths]
    assert [("RailsAligned", 1)] * 50 == told(cluster, namespace)


@pytest.fixture
def account(cluster: Cluster, token: str) -> Client:
    """Calls as the controller."""
    authority = (cluster.folder / "certs" / "apiserver.crt").read_text()
    return Client("127.0.0.1", cluster.port, authority, token)


@pytest.mark.parametrize(
    "change",
    [
        {"metadata": {"annotations": {names.NCCL_CONF: "x"}}},
        {"metadata": {"annotations": {"other": "x"}}},
        {"metadata": {"annotations": {names.INJECTED: None}}},
        {"metadata": {"labels": {"app": "x"}}},
        {"metadata": {"finalizers": ["x.io/y"]}},
        {"spec": {"containers": [{"name": "train", "image": "other"}]}},
    ],
    ids=["setting", "annotation", "marker", "label", "finalizer", "image"],
)
def test_the_controller_changes_one_annotation_of_a_pod(
    cluster: Cluster, account: Client, namespace: str, change: dict[str, Any]
) -> None:
    """Whatever the role would let it do; and nobody else changes that one."""
    path = bound(cluster, namespace)
    answer = account.call("PATCH", path, change, "application/strategic-merge-patch+json")
    assert answer.status in {403, 422}, answer.message
    assert "podrail" in answer.message
    report = {"metadata": {"annotations": {names.OBSERVED: "{}"}}}
    assert 422 == cluster.client.patch(path, report).status
    assert 200 == account.call("PATCH", path, report, MERGE).status

"""A rail's link goes down on the real node and comes back: who sees it, and what follows from it.

The link is a veth pair of the node. Behind it the state of the RDMA port is a file, which follows
the interface's carrier as mlx5's does (Linux 6.12, mlx5_query_port_roce).
"""

from __future__ import annotations

import json
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import commands
import pytest
import reported
from controlplane import nodes
from controlplane.installed import eventually, metric
from controlplane.processes import Child
from realnode import seen
from realnode.fabrics import Hardware
from realnode.node import RealNode

from podrail import names
from podrail.placement import Misfit

pytestmark = [pytest.mark.node, pytest.mark.parametrize("laid", ["sriov-rails"], indirect=True)]
RAIL: Final = 3
SPARE: Final = "spare-0"
RAILS: Final = "/apis/podrail.dev/v1alpha1/noderails"
BEST: Final = 10
SECONDS: Final = 20
"""An idle machine takes 2 to 4: a glance each 2 s, and a write a second at most."""


@dataclass(frozen=True, slots=True)
class Link:
    """The link of one rail of a node."""

    node: RealNode
    hardware: Hardware

    def up(self) -> None:
        """Plug it in."""
        self._set("up")

    def down(self) -> None:
        """Pull it out."""
        self._set("down")

    def _set(self, way: str) -> None:
        name = f"rail{RAIL}"
        self.node.spaces.run("ip", "link", "set", name, way)
        carries = self._operstate(name) == "UP"
        at = self.hardware.rails.index(RAIL)
        self.hardware.machine.port(at, state="4: ACTIVE" if carries else "1: DOWN")

    def _operstate(self, name: str) -> str:
        shown = json.loads(self.node.spaces.run("ip", "-json", "link", "show", name))
        return str(shown[0]["operstate"])

    @property
    def state(self) -> str:
        """What NodeRails says of the rail."""
        status = self.node.cluster.client.get(f"{RAILS}/{self.node.name}")["status"]
        return next(str(one["state"]) for one in status["nics"] if one["rail"] == RAIL)

    @property
    def free(self) -> str:
        """The Node's hash of free rails."""
        found = self.node.cluster.client.get(self.node.path)["metadata"]["annotations"]
        return str(found[names.FREE_RAILS])


@pytest.fixture
def link(laid: RealNode, hardware: Hardware) -> Iterator[Link]:
    """The link, which is up before and after the test."""
    found = Link(laid, hardware)
    eventually(lambda: found.state == "up", "the link is up", SECONDS)
    yield found
    found.up()
    eventually(lambda: found.state == "up", "the link is up again", SECONDS)


@pytest.fixture
def scores(laid: RealNode, extender: Child, room: str) -> Iterator[Callable[[], dict[str, int]]]:
    """What the extender makes of the node and of a twin of it that is always well.

    Asked as kube-scheduler asks, for a pod of eight GPUs. No pod comes onto the twin.
    """
    client, real = laid.cluster.client, laid.cluster.client.get(laid.path)
    twin = nodes.node(SPARE, "", real["status"]["allocatable"])
    twin["metadata"]["labels"] = {**real["metadata"]["labels"], "kubernetes.io/hostname": SPARE}
    client.create({**twin, "spec": {"unschedulable": True}})
    seen_there = client.get(f"{RAILS}/{laid.name}")
    made = {key: seen_there[key] for key in ("apiVersion", "kind")}
    client.create({**made, "metadata": {"name": SPARE}, "spec": {}})
    status = {"status": {**seen_there["status"], "allocations": []}}
    assert 200 == client.patch(f"{RAILS}/{SPARE}/status", status).status
    asked = client.create(seen.document("sriov-rails", 8, "asked"), room, dryRun="All")

    def ask() -> dict[str, int]:
        body = json.dumps({"Pod": asked, "NodeNames": [laid.name, SPARE]}).encode()
        url, kind = f"http://{extender.address()}/prioritize", {"Content-Type": "application/json"}
        call = urllib.request.Request(url, body, kind)
        with urllib.request.urlopen(call, timeout=5) as answer:
            return {one["Host"]: one["Score"] for one in json.loads(answer.read())}

    eventually(lambda: {laid.name: BEST, SPARE: BEST} == ask(), "both are as good", SECONDS)
    yield ask
    client.delete(f"{RAILS}/{SPARE}")
    client.delete(f"/api/v1/nodes/{SPARE}")


@pytest.fixture
def pod(laid: RealNode, room: str) -> Iterator[str]:
    """The path of a whole node's pod, which the test creates."""
    path = f"/api/v1/namespaces/{room}/pods/linked"
    yield path
    laid.cluster.client.delete(path)
    eventually(lambda: laid.cluster.client.call("GET", path).status == 404, "the pod is gone", 40)


def shows(agent: commands.Child, metric_line: str) -> bool:
    """Whether the agent's metrics have the line."""
    lines = (json.loads(line) for line in agent.errors.splitlines() if '"listening"' in line)
    address = next(one["address"] for one in lines)
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=5) as answer:
        return metric_line in answer.read().decode().splitlines()


def waits_for(pod: dict[str, Any]) -> str:
    """Why kube-scheduler has not placed a pod; empty if it says nothing."""
    conditions = pod.get("status", {}).get("conditions", ())
    return "".join(str(one.get("message", "")) for one in conditions if one["status"] == "False")


def nic_state(state: str) -> str:
    """A line of the agent's metrics."""
    device = f'device="mlx5_{RAIL}",rail="{RAIL}"'
    return f'podrail_nodeagent_nic_state{{{device},state="{state}"}} 1.0'


def test_a_node_is_not_used_while_a_rail_is_down_and_used_again_at_once(
    link: Link, scores: Callable[[], dict[str, int]], agent: commands.Child, pod: str, room: str
) -> None:
    """NodeRails, metric, hash and score change; a waiting pod is placed when the link is back."""
    laid, client, before = link.node, link.node.cluster.client, link.free
    began = time.monotonic()
    link.down()
    eventually(lambda: link.state == "down", "NodeRails say so", SECONDS)
    after = time.monotonic() - began
    assert shows(agent, nic_state("down"))
    eventually(lambda: scores()[laid.name] < BEST, "the score is lower", SECONDS)
    assert BEST == scores()[SPARE]
    eventually(lambda: link.free != before, "the hash is another", SECONDS)
    client.create(seen.document("sriov-rails", 8, "linked"), room)
    eventually(lambda: Misfit.RAIL_DOWN.value in waits_for(client.get(pod)), "it waits", SECONDS)
    began = time.monotonic()
    link.up()
    eventually(lambda: "nodeName" in client.get(pod)["spec"], "it is placed", SECONDS)
    print(f"\ndown seen in {after:.1f} s, used again in {time.monotonic() - began:.1f} s", file=sys.stderr)  # fmt: skip
    assert ("up", True) == (link.state, shows(agent, nic_state("up")))
    laid.running(room, "linked")


def test_the_pods_on_a_rail_that_goes_down_are_told_so(
    link: Link, controller: Child, pod: str, room: str
) -> None:
    """Annotation, Event and metric say degraded, with the agent's reason; then aligned again."""
    laid, client = link.node, link.node.cluster.client
    counted = 'podrail_controller_pods{outcome="RailsDegraded",profile="sriov-rails"}'
    client.create(seen.document("sriov-rails", 8, "linked"), room)
    laid.running(room, "linked")
    eventually(lambda: reported.outcome(client, pod) == "RailsAligned", "aligned", 30)
    link.down()
    eventually(lambda: reported.outcome(client, pod) == "RailsDegraded", "degraded", 30)
    reasons = reported.said(client.get(pod))["reasons"]
    assert [{"code": "RailDown", "rails": [RAIL], "cause": "PortDown"}] == reasons
    assert 1 == metric(controller, counted)
    link.up()
    eventually(lambda: reported.outcome(client, pod) == "RailsAligned", "aligned again", 30)
    assert 0 == metric(controller, counted)
    expected = {"RailsAligned": 2, "RailsDegraded": 1}
    eventually(lambda: expected == reported.told(client, room)["linked"], "both are told")

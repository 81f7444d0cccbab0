"""A burst of pods while one program after the other is killed: nothing is lost, doubled or stuck.

Agents, webhook, extender, controller and the control plane are the real programs; kubelets and
hardware are played. Fabrics: one whose devices are counted, and one whose rails are chosen late.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from http.client import HTTPException
from itertools import combinations
from pathlib import Path
from typing import Any, Final

import builders
import commands
import kubelet_socket
import machines
import placing
import pytest
import reported
from controlplane import nodes, own
from controlplane.installed import ROOT, Installed, documents, eventually, metric
from controlplane.plane import TOKEN, Cluster
from controlplane.processes import Child, free_port
from played import Kubelets, Node

from podrail import names

pytestmark = pytest.mark.cluster
SHAPE: Final = placing.SHAPES["hgx-h100-8nic"]
SPACE: Final = "burst"
RAILS: Final = "/apis/podrail.dev/v1alpha1/noderails"
GPU, POOL, SHARED = "nvidia.com/gpu", "nvidia.com/rdma-vf", "rdma/hca_shared_devices_a"
COUNTED, LATE = "sriov-pool", "macvlan-halves"
SIZES: Final = {COUNTED: 6, LATE: 7}
"""Nodes of each fabric: 48 and 56 GPUs."""
PODS: Final = [*((COUNTED, at) for at in range(48)), *((LATE, at) for at in range(52))]
BATCHES: Final = [PODS[at::5] for at in range(5)]
SECONDS: Final = 180


@dataclass(slots=True)
class Yard:
    """A cluster with podrail in it, and nodes with agents."""

    cluster: Cluster
    installed: Installed
    folder: Path
    ends: ExitStack
    machines: dict[str, machines.Machine] = field(default_factory=dict)
    nodes: dict[str, Node] = field(default_factory=dict)
    agents: dict[str, commands.Child] = field(default_factory=dict)
    created: list[str] = field(default_factory=list)
    extender: Child = field(init=False)
    controller: Child = field(init=False)
    kubelets: Kubelets = field(init=False)
    port: int = field(default_factory=free_port)
    """The extender's, at which kube-scheduler asks for it."""
    account: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        (self.folder / "token").write_text(TOKEN)
        self.account = {"PODRAIL_KUBECONFIG": str(reported.kubeconfig(self.cluster))}
        for fabric, size in SIZES.items():
            for at in range(size):
                self._lay(fabric, f"{fabric}-{at}")
        for name in self.nodes:
            self.agents[name] = self._agent(name)
        eventually(lambda: all(len(self.status(one).get("nics", ())) == 8 for one in self.nodes), "the agents have looked", 90)  # fmt: skip
        self.installed.register(self.installed.webhook().address())
        self.extender, self.controller = self._extender(), self._controller()
        config = self.installed.scheduler_config(f"127.0.0.1:{self.port}")
        self.cluster.scheduler("podrail-scheduler", config)
        self.kubelets = Kubelets(self.cluster.client, SPACE, self.nodes)
        self.kubelets.start()
        self.ends.callback(self.kubelets.stop)

    def _lay(self, fabric: str, name: str) -> None:
        made = machines.made(self.folder / name, SHAPE, vfs=1)
        gpus = tuple(machines.UUID.format(at) for at in range(8))
        devices = {GPU: gpus, POOL: tuple(f"{one[:-1]}1" for one in made.nics)}
        if fabric == LATE:
            devices[SHARED] = tuple(str(at) for at in range(64))
            del devices[POOL]
        socket = self.ends.enter_context(kubelet_socket.serving(self.folder / f"{name}.sock"))
        socket.offered = [kubelet_socket.Given(key, ids) for key, ids in devices.items()]
        self.machines[name], self.nodes[name] = made, Node(devices, socket)
        room = {resource: str(len(ids)) for resource, ids in devices.items()}
        self.cluster.client.create(nodes.node(name, "burst", room, pool=fabric))

    def _agent(self, name: str) -> commands.Child:
        number = len(list(self.folder.glob(f"run-{name}-*")))
        variables = {
            "PODRAIL_LISTEN": "127.0.0.1:0",
            "PODRAIL_SERVER": f"https://127.0.0.1:{self.cluster.port}",
            "PODRAIL_TOKEN_FILE": str(self.folder / "token"),
            "PODRAIL_CA_FILE": str(self.cluster.folder / "certs" / "apiserver.crt"),
            "PODRAIL_NODE": name,
            "PODRAIL_SYS": str(self.machines[name].sys),
            "PODRAIL_PROC": str(self.machines[name].proc),
            "PODRAIL_POD_RESOURCES": str(self.folder / f"{name}.sock"),
            "PODRAIL_KUBELET_CONFIG": str(self.folder / "none.yaml"),
        }
        place = self.folder / f"run-{name}-{number}"
        return self.ends.enter_context(commands.running(place, "podrail-nodeagent", **variables))

    def _extender(self) -> Child:
        return self.installed.extender(PODRAIL_LISTEN=f"127.0.0.1:{self.port}")

    def _controller(self) -> Child:
        return self.installed.controller(**self.account)

    def kill_agents(self) -> None:
        """Kill one agent of each fabric, and start others in their places."""
        for name in (f"{COUNTED}-0", f"{LATE}-0"):
            self.agents[name].stop(signal.SIGKILL)
            self.agents[name] = self._agent(name)

    def kill_controller(self) -> None:
        """Kill the controller, which holds the lease, and start another."""
        active = "podrail_controller_active"
        eventually(lambda: metric(self.controller, active) == 1, "the controller is active", 60)
        self.controller.kill()
        self.controller = self._controller()

    def kill_extender(self) -> None:
        """Kill the extender and start another where kube-scheduler looks for it."""
        self.extender.kill()
        self.extender = self._extender()

    def kill_server(self) -> None:
        """Kill the API server and start it anew on the same store."""
        (before,) = [one for one in self.cluster._children if one.log.stem == "kube-apiserver"]
        before.kill()
        args = before.process.args
        assert isinstance(args, list)
        after = self.cluster.run("kube-apiserver-again", args)
        after.wait_until(self._answers, 90)

    def _answers(self) -> bool:
        try:
            return self.cluster.client.call("GET", "/readyz").status == 200
        except (OSError, HTTPException):
            return False

    def create(self, batch: list[tuple[str, int]]) -> None:
        """Create pods as their controller would: again until the API server has them."""
        for fabric, at in batch:
            name = f"{fabric}-{at}"
            pod = builders.document(
                builders.container(gpus=1), fabric=fabric, name=name, nodeSelector={"pool": fabric}
            )
            while not self._made(pod):
                time.sleep(0.2)
            self.created.append(name)

    def _made(self, pod: dict[str, Any]) -> bool:
        try:
            return self.cluster.client.try_create(pod, SPACE).status in {201, 409}
        except (OSError, HTTPException):
            return False

    def wait_for(self, count: int) -> None:
        """Return when so many pods have been created."""
        eventually(lambda: len(self.created) >= count, f"{count} pods are there", 60)

    def extender_hears(self) -> bool:
        """Whether the extender sees what happens to nodes and pods, of which something does now."""
        pod = f"/api/v1/namespaces/{SPACE}/pods/{self.created[0]}"
        for path in (pod, f"/api/v1/nodes/{next(iter(self.nodes))}"):
            change = {"metadata": {"labels": {"touched": str(time.monotonic())}}}
            assert 200 == self.cluster.client.patch(path, change).status
        time.sleep(0.5)
        return metric(self.extender, "podrail_cache_age_seconds") < 1

    @property
    def pods(self) -> list[dict[str, Any]]:
        """The pods as they are now."""
        return self.cluster.client.items(f"/api/v1/namespaces/{SPACE}/pods")

    def status(self, node: str) -> dict[str, Any]:
        """What the agent of a node says."""
        answer = self.cluster.client.call("GET", f"{RAILS}/{node}")
        return dict(answer.body.get("status") or {}) if answer.status == 200 else {}


@pytest.fixture(scope="module")
def yard(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Yard]:
    """A cluster of its own, after the burst: all pods run, or time was up."""
    with own.plane(request.session) as cluster, ExitStack() as ends:
        for crd in documents(Path(__file__).parent / "crds" / "network-attachment-definition.yaml"):
            cluster.client.create(crd)
        space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}}
        cluster.client.create(space)
        account = f"/api/v1/namespaces/{SPACE}/serviceaccounts/default"
        eventually(lambda: cluster.client.call("GET", account).status == 200, "an account")
        installed = Installed(cluster, ROOT / "examples" / "profiles")
        found = Yard(cluster, installed, tmp_path_factory.mktemp("yard"), ends)
        burst(found)
        yield found


def burst(yard: Yard) -> None:
    """Create all pods, and kill one kind of program in the midst of each batch but the last."""
    kills = (yard.kill_agents, yard.kill_controller, yard.kill_extender, yard.kill_server)
    with ThreadPoolExecutor(1) as pool:
        for batch, kill in zip(BATCHES, kills, strict=False):
            if kill == yard.kill_extender:
                eventually(lambda: bound(yard) >= len(BATCHES[0]), "the first batch is bound", 60)
            least = len(yard.created) + 5
            making = pool.submit(yard.create, batch)
            yard.wait_for(least)
            began = time.monotonic()
            kill()
            print(f"\n{kill.__name__}: {time.monotonic() - began:.1f} s", file=sys.stderr)
            making.result()
    began = time.monotonic()
    eventually(yard.extender_hears, "the extender hears the API server again", 60)
    print(f"\nthe extender hears after {time.monotonic() - began:.1f} s", file=sys.stderr)
    yard.create(BATCHES[-1])


def bound(yard: Yard) -> int:
    """How many pods have a node."""
    return sum("nodeName" in one["spec"] for one in yard.pods)


@pytest.fixture(scope="module")
def pods(yard: Yard) -> list[dict[str, Any]]:
    """All pods, once each of them runs and is reported on."""

    def unfinished() -> list[str]:
        return [
            one["metadata"]["name"]
            for one in yard.pods
            if one["status"].get("phase") != "Running" or not reported.said(one)
        ]

    began = time.monotonic()
    eventually(lambda: not unfinished(), "all run and are reported on", SECONDS)
    print(f"\ncaught up after {time.monotonic() - began:.1f} s", file=sys.stderr)
    return yard.pods


def placement(pod: dict[str, Any]) -> dict[str, Any] | None:
    """The placement marker; None if it was bound without."""
    text = pod["metadata"]["annotations"].get(names.PLACEMENT)
    return None if text is None else dict(json.loads(text))


def rails(pod: dict[str, Any]) -> tuple[int, ...]:
    """The rails that a pod was given: at its bind, else at its admission."""
    injected = json.loads(pod["metadata"]["annotations"][names.INJECTED])
    return tuple((placement(pod) or injected)["rails"])


def attached_to(networks: str) -> list[str]:
    """The networks of an annotation in the short form, without their interfaces."""
    return [one.partition("@")[0] for one in networks.split(",")]


def named(pods: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The pods by their names."""
    return {one["metadata"]["name"]: one for one in pods}


def test_no_pod_is_stuck_or_lost(yard: Yard, pods: list[dict[str, Any]]) -> None:
    """Each is bound to a node of its pool, and its kubelet had all that it asked for."""
    assert {f"{fabric}-{at}" for fabric, at in PODS} == set(named(pods))
    assert all(one["spec"]["nodeName"].startswith(one["spec"]["nodeSelector"]["pool"]) for one in pods)  # fmt: skip
    assert [] == yard.kubelets.refused


def test_agents_show_each_device_with_its_one_holder(
    yard: Yard, pods: list[dict[str, Any]]
) -> None:
    """What was handed out while they, or the API server, were away included."""
    assert 100 == len(pods)

    def shown() -> Counter[tuple[str, str, str, str]]:
        return Counter(
            (node, one["pod"], one["resource"], one["deviceID"])
            for node in yard.nodes
            for one in yard.status(node).get("allocations", ())
        )

    expected = Counter(
        (name, pod, resource, device)
        for name, node in yard.nodes.items()
        for pod, given in node.given.items()
        for resource, ids in given.items()
        for device in ids
    )
    eventually(lambda: expected == shown(), "all allocations are shown", 60)
    assert {1} == set(expected.values())


def test_no_rail_is_given_twice_or_lost(pods: list[dict[str, Any]]) -> None:
    """Late rails are a pod's own; only what was bound while nobody answered may share one."""
    late = [one for one in pods if one["spec"]["nodeSelector"]["pool"] == LATE]
    assert {1} == {len(rails(one)) for one in late}
    for one in late:
        attached = one["metadata"]["annotations"][names.NETWORKS]
        assert [f"default/rail{rail}" for rail in rails(one)] == attached_to(attached)
    doubled = [
        pair
        for pair in combinations(late, 2)
        if pair[0]["spec"]["nodeName"] == pair[1]["spec"]["nodeName"]
        if set(rails(pair[0])) & set(rails(pair[1]))
    ]
    assert [] == [pair for pair in doubled if all(placement(one) for one in pair)]
    plain = sum(placement(one) is None for one in pods)
    print(
        f"\nbound without the extender: {plain}, of them sharing: {len(doubled)}", file=sys.stderr
    )


def test_pods_are_placed_unless_the_extender_is_away(pods: list[dict[str, Any]]) -> None:
    """All of the batch before it was killed, and all of the one after everything was back."""
    found = named(pods)
    for fabric, at in (*BATCHES[0], *BATCHES[-1]):
        assert placement(found[f"{fabric}-{at}"]) is not None


def test_each_pod_is_reported_on_as_it_was(yard: Yard, pods: list[dict[str, Any]]) -> None:
    """The GPUs that its kubelet gave it; unscored if the extender has not bound it."""
    gpus = list(yard.nodes[f"{LATE}-0"].devices[GPU])
    for name, pod in named(pods).items():
        report = reported.said(pod)
        given = yard.nodes[pod["spec"]["nodeName"]].given[name]
        assert [gpus.index(one) for one in given[GPU]] == report["gpus"], name
        assert (report["outcome"] == "RailsUnscored") == (placement(pod) is None), name
        assert "Unknown" != report["outcome"], name


def test_each_outcome_is_told_once(yard: Yard, pods: list[dict[str, Any]]) -> None:
    """No event is lost with a controller, and none is doubled by the next one."""
    expected = {
        name: {one["outcome"]: one["count"] for one in reported.said(pod)["told"]}
        for name, pod in named(pods).items()
    }
    eventually(lambda: expected == reported.told(yard.cluster.client, SPACE), "all are told")
    assert {1} == {count for outcomes in expected.values() for count in outcomes.values()}
    outcomes = {reported.said(one)["outcome"] for one in pods}
    lines = [
        f'podrail_controller_pods{{outcome="{one}",profile="{fabric}"}}'
        for one in outcomes
        for fabric in SIZES
    ]
    assert 100 == sum(metric(yard.controller, one) for one in lines)

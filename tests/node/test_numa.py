"""The kubelet model and the filter against a real kubelet that sees two and four NUMA nodes.

Kubelet, container runtime and gRPC are real; NUMA nodes, devices and the plugins behind them are not.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import builders
import deviceplugins
import machines
import numa
import placing
import pytest
import yaml
from controlplane.installed import eventually
from controlplane.plane import Cluster
from deviceplugins import Plugin, Served, kinds
from machines import Machine as Hardware
from realnode import image
from realnode.node import RealNode

from nodeagent.kubelet import Source
from nodeagent.sight import Sight
from podrail import placement
from podrail.kubelet import model
from podrail.kubelet.model import Refused
from podrail.kubelet.node import Counts, Machine, Node, Policy
from podrail.observation import report, usage
from podrail.observation.health import Signs
from podrail.observation.report import Around
from podrail.observation.usage import Usage
from podrail.placement import Misfit
from podrail.score import machine, state
from podrail.score.state import State
from podrail.topology import Topology
from podrail_io.podresources import PodResources
from podrail_io.slim import Place, SlimApi

pytestmark = pytest.mark.node

SHAPES: Final = {2: "hgx-h100-8nic", 4: "Standard_ND96asr_v4"}
"""By the number of NUMA nodes: 8 GPUs, each with a rail of its own."""
POOL, SHARED, RAIL = "nvidia.com/rdma-vf", "rdma/hca_shared_devices_a", "nvidia.com/rail"
CHECKPOINT = "kubelet_internal_checkpoint"
UNEXPECTED = "UnexpectedAdmissionError"
PODS: Final = "/api/v1/namespaces/default/pods"
NOBODY: Final = SlimApi(Place("http://127.0.0.1:9"))
NUMA_MISFITS: Final = {Misfit.NEVER_ADMITTED, Misfit.NUMA_FRAGMENTED}
STEPS: Final = (
    (("sriov-rails", 8),),
    (("sriov-pool", 8),),
    (("sriov-rails", 2), ("sriov-pool", 2), ("sriov-pool", 4)),
    (("macvlan-rails", 3), ("sriov-rails", 4), ("sriov-pool", 1)),
)
"""Pods by fabric and number of GPUs; those of a row stay until its end."""


@dataclass(frozen=True, slots=True)
class View:
    """A node at a moment, as the agent sees it."""

    topology: Topology
    places: Mapping[str, str]
    usage: Usage
    state: State

    def free(self, kubelet: Machine) -> Node:
        """The kubelet's machine with just the devices free that are."""
        held = {(one.resource, one.device) for one in self.usage.held}
        offered = self.usage.offered or {}
        left = {name: [one for one in ids if (name, one) not in held] for name, ids in offered.items()}  # fmt: skip
        return Node(kubelet, self.counted(kubelet, left))

    def counted(self, kubelet: Machine, ids: Mapping[str, Iterable[str]]) -> tuple[Counts, ...]:
        """Devices by card, for each resource of the kubelet's machine."""
        rails = {at: nic.rail for at, nic in enumerate(self.state.topology.nics)}
        found = []
        for resource in kubelet.resources:
            ours = [self.places.get(one, "") for one in ids.get(resource.name, ())]
            where = "g{}" if resource.gpu else "r{}"
            cards = (
                one.number if resource.gpu else rails.get(one.number) for one in resource.cards
            )
            shown = tuple(ours.count(where.format(card)) for card in cards)
            found.append((len(ours),) if resource.gives else shown)
        return tuple(found)


@dataclass(frozen=True, slots=True)
class Bench:
    """A real node with made up devices."""

    node: RealNode
    hardware: Hardware
    served: Served
    resources: int

    @property
    def kubelet(self) -> PodResources:
        return PodResources(self.node.pod_resources, time.monotonic)

    def align(self, policy: Policy) -> None:
        """Have the kubelet start anew with a topology policy."""
        config = yaml.safe_load(self.node.kubelet_config.read_text())
        changed = config | {"topologyManagerPolicy": policy.value}
        self.node.kubelet_config.write_text(yaml.safe_dump(changed))
        # A kubelet believes what it wrote of pods that are gone until all of its sources are ready.
        (self.node.device_plugins / CHECKPOINT).unlink(missing_ok=True)
        if not self._restarted():
            # As systemd does with one that ends.
            assert self._restarted()
        eventually(lambda: len(self.kubelet.allocatable() or ()) == self.resources, "all are there")

    def _restarted(self) -> bool:
        """Whether a new kubelet came up and knows the plugins."""
        before = self.served.registrations
        self.node.restart_kubelet()
        try:
            self.served.wait_registered(before + 1)
        except TimeoutError:
            return False
        return True

    def seen(self) -> View:
        """What the node agent makes of the node, and the extender of that."""
        trees = Sight(self.hardware.sys, self.hardware.proc).look()
        source = Source(self.kubelet, self.node.kubelet_config, NOBODY, "n1")
        used, around = source.usage(), Around("n1", kubelet=source.settings())
        told = report.write(report.look(trees, None, {}), Signs(trees, used), around)
        topology, settings = told.topology, told.kubelet
        assert topology is not None
        capacity = {name: len(ids) for name, ids in (used.offered or {}).items()}
        free = capacity | {
            name: capacity[name] - sum(one.resource == name for one in used.held)
            for name in capacity
        }
        held = state.held((one.device for one in used.held), topology)
        known = State(
            state.plain(topology),
            state.kubelet(settings.policy, settings.scope, settings.options, "v1.36.3"),
            state.counted(capacity),
            state.counted(free),
            state.free_gpus(topology, [held], free[kinds.GPU]),
        )
        return View(topology, usage.places(topology, told.host), used, known)

    def run(self, name: str, limits: Mapping[str, str]) -> tuple[str, str]:
        """The phase that a pod comes to, and the reason if it failed."""
        client, path = self.node.cluster.client, f"{PODS}/{name}"
        client.create(_pod(name, self.node.name, limits))
        eventually(
            lambda: client.get(path)["status"].get("phase") in {"Running", "Failed"}, f"{name} ends"
        )
        status = client.get(path)["status"]
        assert UNEXPECTED != status.get("reason"), status
        return status["phase"], status.get("reason", "")

    def held(self, name: str) -> dict[str, tuple[str, ...]]:
        """A pod's devices by resource."""
        holders = self.kubelet.pod("default", name) or ()
        return {one.resource: one.ids for holder in holders for one in holder.devices}

    def clear(self) -> None:
        """Take all pods away, and wait until they hold nothing."""
        client = self.node.cluster.client
        for one in client.items(PODS):
            client.delete(f"{PODS}/{one['metadata']['name']}")
        eventually(lambda: not client.items(PODS) and not self.kubelet.listed(), "pods are gone")


@pytest.fixture(scope="module", params=SHAPES, ids="{} NUMA nodes".format)
def bench(
    request: pytest.FixtureRequest, cluster: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Bench]:
    """A node of a shape, with GPUs, a VF of each rail's own, a pool and a share."""
    folder = tmp_path_factory.mktemp("numa")
    shape = placing.SHAPES[SHAPES[request.param]]
    hardware = machines.made(folder, shape, vfs=2)
    nodes = numa.lay(folder / "node", request.param)
    plugins = _plugins(hardware, shape)
    with (
        RealNode(cluster, f"numa-{request.param}", over={numa.NODES: nodes}) as node,
        deviceplugins.serve(node.device_plugins, plugins) as served,
    ):
        failed = request.session.testsfailed
        yield Bench(node, hardware, served, len(plugins))
        node.keep = request.session.testsfailed > failed


@pytest.mark.parametrize("policy", Policy)
def test_pods_get_what_was_predicted(bench: Bench, policy: Policy) -> None:
    """Or are refused, where that was; and whatever the filter refuses, the kubelet does, too."""
    bench.align(policy)
    ends = []
    for row, pods in enumerate(STEPS):
        for at, (fabric, gpus) in enumerate(pods):
            ends.append(_agreed(bench, f"{policy}-{row}-{at}", fabric, gpus))
        bench.clear()
    refusing = policy in {Policy.RESTRICTED, Policy.SINGLE_NUMA_NODE}
    assert {"Running", "Failed"} == set(ends) if refusing else {"Running"} == set(ends)


def test_a_device_that_falls_ill_is_not_offered(bench: Bench) -> None:
    """The kubelet listens to the plugins while they run."""
    first = machines.UUID.format(0)

    def offered() -> bool:
        shown = bench.kubelet.allocatable() or ()
        return any(first in one.ids for one in shown)

    eventually(offered, "the GPU is offered")
    bench.served.health(kinds.GPU, first, healthy=False)
    eventually(lambda: not offered(), "the GPU is offered no more")
    bench.served.health(kinds.GPU, first, healthy=True)
    eventually(offered, "the GPU is offered again")


def _agreed(bench: Bench, name: str, fabric: str, gpus: int) -> str:
    """The phase that a pod came to, as filter and model said that it would."""
    profile = builders.shipped()[fabric]
    document = placing.injected(profile, builders.container(gpus=gpus))
    view, need = bench.seen(), placing.wish(document).need(profile)
    # Patience would let a pod try where it is refused for now only.
    misfit = placement.judge(view.state, placing.wish(document), profile, waiting=-1)
    kubelet = machine.possible(view.state, need)[0].node.machine
    expected = model.outcomes(view.free(kubelet), need.containers)
    ended = bench.run(name, document["spec"]["containers"][0]["resources"]["limits"])
    told = f"{name} {fabric} {gpus}: {misfit} {expected}"
    if isinstance(expected, Refused):
        assert misfit in NUMA_MISFITS, told
        assert ("Failed", "TopologyAffinityError") == ended, told
        return ended[0]
    assert (None, True) == (misfit, expected.exact), told
    assert ("Running", "") == ended, told
    observed = _cards(kubelet, view.counted(kubelet, bench.held(name)))
    assert observed in {(one.gpus, one.nics) for one in expected.outcomes}, told
    return ended[0]


def _cards(kubelet: Machine, got: Iterable[Counts]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The GPUs and the NICs behind a pod's devices."""
    found: dict[bool, list[int]] = {True: [], False: []}
    for resource, counts in zip(kubelet.resources, got, strict=True):
        found[resource.gpu] += resource.numbers(counts)
    return tuple(sorted(found[True])), tuple(sorted(found[False]))


def _plugins(hardware: Hardware, shape: Topology) -> tuple[Plugin, ...]:
    gpus = {machines.UUID.format(at): numa for at, numa in enumerate(shape.gpus)}
    nics = [(pci.removesuffix("0"), nic.numa) for pci, nic in zip(hardware.nics, shape.nics, strict=True)]  # fmt: skip
    return (
        kinds.gpus(gpus),
        *kinds.by_rail(RAIL, [{f"{pci}1": numa} for pci, numa in nics]),
        kinds.virtual(POOL, {f"{pci}2": numa for pci, numa in nics}),
        kinds.shared(SHARED, 63),
    )


def _pod(name: str, node: str, limits: Mapping[str, str]) -> dict[str, Any]:
    resources = {"limits": dict(limits), "requests": dict(limits)}
    container = {"name": "train", "image": image.NAME, "imagePullPolicy": "Never"}
    spec = {
        "nodeName": node,
        "hostNetwork": True,
        "automountServiceAccountToken": False,
        "restartPolicy": "Never",
        "containers": [{**container, "resources": resources}],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}

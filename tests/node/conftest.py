"""One control plane with one real node for all tests here, and podrail in front of it.

A fabric's device plugins and networks are there for the tests of that fabric and no longer.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import commands
import deviceplugins
import machines
import placing
import pytest
import reported
from controlplane.binaries import NotRun
from controlplane.installed import ROOT, Installed, documents, eventually
from controlplane.plane import TOKEN, Cluster
from controlplane.processes import Child
from realnode import fabrics, needs
from realnode import node as nodes
from realnode.fabrics import FABRICS, Hardware
from realnode.node import RealNode

SHAPE = "hgx-h100-8nic"
MACHINE_TYPE = "BM.GPU.H200.8"
NODERAILS = "/apis/podrail.dev/v1alpha1/noderails"
NADS = "/apis/k8s.cni.cncf.io/v1/namespaces/default/network-attachment-definitions"
_NUMBERS = itertools.count()
_KEPT = pytest.StashKey[list[Path]]()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say where the logs are when a test failed, and what stood in for what."""
    for folder in terminalreporter.config.stash.get(_KEPT, ()):
        terminalreporter.write_line(f"real node: logs are kept in {folder}")
    if _KEPT in terminalreporter.config.stash and not needs.can_link("ipvlan"):
        terminalreporter.write_line("real node: no ipvlan in this kernel: a macvlan stood in")


@pytest.fixture(scope="session")
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """A control plane without nodes, and the NAD CRD."""
    try:
        nodes.ready()
        running = Cluster()
    except NotRun as missing:
        pytest.skip(str(missing))
    kept = request.config.stash.setdefault(_KEPT, [])
    with running:
        for crd in documents(ROOT / "tests/cluster/crds/network-attachment-definition.yaml"):
            running.client.create(crd)
        failed = request.session.testsfailed
        yield running
        running.keep = request.session.testsfailed > failed
        if running.keep:
            kept.append(running.folder)


@pytest.fixture(scope="session")
def machine(tmp_path_factory: pytest.TempPathFactory) -> machines.Machine:
    """The node's hardware, as files."""
    return machines.made(tmp_path_factory.mktemp("trees"), placing.SHAPES[SHAPE], vfs=fabrics.VFS)


@pytest.fixture(scope="session")
def node(
    cluster: Cluster,
    machine: machines.Machine,
    tmp_path_factory: pytest.TempPathFactory,
    request: pytest.FixtureRequest,
) -> Iterator[RealNode]:
    """The real node with its rails."""
    bus = fabrics.bus(tmp_path_factory.mktemp("bus"), machine)
    labels = {"node.kubernetes.io/instance-type": MACHINE_TYPE}
    with RealNode(cluster, labels=labels, over={needs.PCI: bus}) as running:
        fabrics.cable(running.spaces, range(len(machine.nics)))
        failed = request.session.testsfailed
        yield running
        running.keep = request.session.testsfailed > failed
        if running.keep:
            request.config.stash[_KEPT].append(running.folder)


@pytest.fixture(scope="session")
def hardware(machine: machines.Machine, node: RealNode) -> Hardware:
    """The node's hardware, for the device plugins."""
    return Hardware(machine, placing.SHAPES[SHAPE], node.records)


@pytest.fixture(scope="session")
def agent(
    node: RealNode,
    machine: machines.Machine,
    installed: Installed,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[commands.Child]:
    """The node agent on the kubelet's own socket and the fake trees."""
    folder = tmp_path_factory.mktemp("agent")
    (folder / "token").write_text(TOKEN)
    cluster = installed.cluster
    variables = {
        "PODRAIL_LISTEN": "127.0.0.1:0",
        "PODRAIL_SERVER": f"https://127.0.0.1:{cluster.port}",
        "PODRAIL_TOKEN_FILE": str(folder / "token"),
        "PODRAIL_CA_FILE": str(cluster.folder / "certs" / "apiserver.crt"),
        "PODRAIL_NODE": node.name,
        "PODRAIL_SYS": str(machine.sys),
        "PODRAIL_PROC": str(machine.proc),
        "PODRAIL_POD_RESOURCES": str(node.pod_resources),
        "PODRAIL_KUBELET_CONFIG": str(node.kubelet_config),
    }
    with commands.running(folder / "run", "podrail-nodeagent", **variables) as running:
        path = f"{NODERAILS}/{node.name}"
        running.eventually(lambda: cluster.client.call("GET", path).status == 200)
        yield running


@pytest.fixture(scope="session")
def installed(cluster: Cluster) -> Installed:
    """Podrail's manifests in the cluster."""
    return Installed(cluster, ROOT / "examples" / "profiles")


@pytest.fixture(scope="session")
def controller(installed: Installed) -> Child:
    """The controller, with the account that the policies of deploy/ name."""
    account = reported.kubeconfig(installed.cluster)
    return installed.controller(PODRAIL_KUBECONFIG=str(account))


@pytest.fixture(scope="session")
def extender(node: RealNode, installed: Installed, agent: commands.Child) -> Child:
    """The extender, once the agent has told it of the node."""
    path = f"{NODERAILS}/{node.name}"
    agent.eventually(lambda: bool(installed.cluster.client.get(path).get("status")))
    return installed.extender()


@pytest.fixture(scope="session")
def managed(node: RealNode, installed: Installed, extender: Child) -> RealNode:
    """The real node, with webhook and extender in front of it and a kube-scheduler that asks."""
    installed.register(installed.webhook().address())
    config = installed.scheduler_config(extender.address())
    installed.cluster.scheduler("podrail-scheduler", config)
    return node


@pytest.fixture(scope="session")
def room(cluster: Cluster) -> str:
    """A namespace for pods."""
    name = f"team-{next(_NUMBERS)}"
    cluster.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    account = f"/api/v1/namespaces/{name}/serviceaccounts/default"
    eventually(lambda: cluster.client.call("GET", account).status == 200, f"{name} has an account")
    return name


@pytest.fixture(scope="module")
def laid(
    request: pytest.FixtureRequest, managed: RealNode, hardware: Hardware
) -> Iterator[RealNode]:
    """The real node with a fabric's devices and networks; the parameter is its profile's name."""
    found = FABRICS[request.param](hardware)
    client = managed.cluster.client
    with ExitStack() as ends:
        for one in found.networks:
            client.create(one)
            ends.callback(client.delete, f"{NADS}/{one['metadata']['name']}")
        plugins = (fabrics.gpus(hardware), *found.plugins)
        served = ends.enter_context(deviceplugins.serve(managed.device_plugins, plugins))
        served.wait_registered()
        shown = {one.resource: len(one.devices) for one in plugins}
        eventually(
            lambda: shown == {name: managed.allocatable(name) for name in shown},
            "devices are shown",
        )
        yield managed

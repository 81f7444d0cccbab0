"""A cluster to install podrail in as users do: the chart's pods run on a real node, from images.

Two things stand in for others. Instead of kube-proxy, the kubernetes Service's address is one of the
node's own, and leads to the API server. And the API server reaches Services through an HTTP CONNECT
proxy, its egress selector, as with konnectivity; the proxy chooses among the ready endpoints.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import deviceplugins
import helm
import images
import machines
import placing
import yaml
from controlplane import installed
from controlplane.binaries import VERSION
from controlplane.client import Client
from controlplane.plane import Cluster
from controlplane.processes import Child, free_port
from realnode import fabrics, image, netns, runtime
from realnode.fabrics import Hardware
from realnode.node import RealNode
from relay import Relay

MACHINE_TYPE: Final = "BM.GPU.H200.8"
SHAPE: Final = "hgx-h100-8nic"
PROFILE: Final = "macvlan-rails"
NAD: Final = installed.ROOT / "tests/cluster/crds/network-attachment-definition.yaml"
NADS: Final = "/apis/k8s.cni.cncf.io/v1/network-attachment-definitions"
SERVER: Final = "10.96.0.1"
"""The kubernetes Service, the first address of the cluster's range."""
SCHEDULER: Final = f"localhost/kube-scheduler:v{VERSION}"
WORKLOADS: Final = (
    "deployment-controller",
    "replicaset-controller",
    "daemonset-controller",
    "endpointslice-controller",
    "disruption-controller",
)
"""Controllers of pods that the tests' control plane does without elsewhere."""
VALUES: Final[helm.Values] = {
    "image": {"registry": "localhost", "pullPolicy": "Never"},
    "scheduler": {"replicas": 1, "image": {"registry": "localhost", "pullPolicy": "Never"}},
}
"""The images that the node has, and one scheduler, as the node has two cores."""


class Platform(Cluster):
    """A control plane that runs Deployments and DaemonSets, and calls Services through a proxy."""

    @property
    def proxy(self) -> Path:
        """The socket of the API server's proxy."""
        return self.folder / "proxy.sock"

    def run(
        self, name: str, command: list[str | Path], environ: Mapping[str, str] | None = None
    ) -> Child:
        """Start a program that ends with the cluster."""
        if name != "kube-apiserver":
            return super().run(name, command, environ)
        config = self.folder / "egress.yaml"
        config.write_text(yaml.safe_dump(_egress(self.proxy)))
        return super().run(name, [*command, "--egress-selector-config-file", config], environ)

    def _start(self) -> None:
        super()._start()
        self.run("workload-controllers", [
            self._programs["kube-controller-manager"], "--kubeconfig", self.kubeconfig,
            "--leader-elect=false", "--controllers", ",".join(WORKLOADS),
            "--use-service-account-credentials=false", "--secure-port", str(free_port()),
            "--cert-dir", self.folder / "workload-certs",
        ])  # fmt: skip


def _egress(proxy: Path) -> dict[str, Any]:
    through = {"proxyProtocol": "HTTPConnect", "transport": {"uds": {"udsName": str(proxy)}}}
    return {
        "apiVersion": "apiserver.k8s.io/v1beta1",
        "kind": "EgressSelectorConfiguration",
        "egressSelections": [{"name": "cluster", "connection": through}],
    }


class Site:
    """The cluster, its real node with GPUs, and the images on it; use as a context manager."""

    def __init__(self, trees: Path) -> None:
        self._trees = trees
        self._image = images.built(os.environ)  # noqa: TID251 - children live in our environment
        self.cluster = Platform()
        self._ends = contextlib.ExitStack()

    def __enter__(self) -> Site:
        with contextlib.ExitStack() as ends:
            ends.enter_context(self.cluster)
            self.node = ends.enter_context(
                RealNode(self.cluster, labels={"node.kubernetes.io/instance-type": MACHINE_TYPE})
            )
            self._route(ends)
            self._load()
            self._furnish(ends)
            self._ends = ends.pop_all()
        return self

    def __exit__(self, *_raised: object) -> None:
        self._ends.close()

    def keep(self) -> None:
        """Let the folders with the logs stay."""
        self.cluster.keep = self.node.keep = True

    def helm(self, *words: str | Path, values: helm.Values | None = None) -> str:
        """What helm says in podrail's namespace."""
        where = ("--kubeconfig", self.cluster.kubeconfig, "--namespace", helm.NAMESPACE)
        return helm.run(*words, *where, values=values)

    def tag(self, version: str) -> None:
        """Give podrail's image another tag on the node."""
        name = images.NAME.partition(":")[0]
        self._ctr("images", "tag", images.NAME, f"{name}:{version}")

    def pods(self) -> list[dict[str, Any]]:
        """The pods of podrail itself."""
        return self.cluster.client.items(f"/api/v1/namespaces/{helm.NAMESPACE}/pods")

    def _route(self, ends: contextlib.ExitStack) -> None:
        """Let the node's pods and the API server reach each other."""
        conf = self.node.folder / "net.d" / "00-multus.conf"
        network = json.loads(conf.read_text())
        # Pods of other tests speak to nobody, and their bridge has no address.
        network["delegates"][0]["isDefaultGateway"] = True
        conf.write_text(json.dumps(network))
        self.node.spaces.run("ip", "address", "add", f"{SERVER}/32", "dev", "lo")
        namespace, port = netns.of(self.node.spaces.pid), self.cluster.port
        with netns.inside(namespace):
            listener = socket.create_server((SERVER, 443))
        ends.callback(Relay(listener, lambda _: socket.create_connection((netns.HOST, port))).stop)
        proxy = socket.socket(socket.AF_UNIX)
        proxy.bind(str(self.cluster.proxy))
        proxy.listen()
        ends.callback(
            Relay(proxy, lambda inner: _connect(inner, self.cluster.client, namespace)).stop
        )

    def _furnish(self, ends: contextlib.ExitStack) -> None:
        """Lay the rails, and what admins lay upon them: device plugins and networks."""
        shape = placing.SHAPES[SHAPE]
        hardware = Hardware(machines.made(self._trees, shape), shape, self.node.records)
        fabrics.cable(self.node.spaces, hardware.rails)
        laid = fabrics.FABRICS[PROFILE](hardware)
        client = self.cluster.client
        for one in installed.documents(NAD):
            client.create(one)
        installed.eventually(lambda: client.call("GET", NADS).status == 200, "networks are served")
        for one in laid.networks:
            client.create(one)
        plugins = (fabrics.gpus(hardware), *laid.plugins)
        ends.enter_context(deviceplugins.serve(self.node.device_plugins, plugins)).wait_registered()

    def _load(self) -> None:
        packed = self.node.folder / "kube-scheduler.tar"
        program = {"usr/local/bin/kube-scheduler": self.cluster.scheduler_program.read_bytes()}
        image.write(packed, SCHEDULER, {"Env": ["PATH=/usr/local/bin"]}, program)
        for archive in (packed, self._image.archive):
            self._ctr("images", "import", "--snapshotter", "native", archive)

    def _ctr(self, *words: str | Path) -> None:
        self.node.spaces.run("ctr", "--address", runtime.SOCKET, "--namespace", "k8s.io", *words)


def _connect(inner: socket.socket, client: Client, namespace: Path) -> socket.socket:
    """Answer CONNECT, with a connection to one of the Service's endpoints."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += inner.recv(1)
    address, _, port = head.split()[1].decode().rpartition(":")
    with netns.inside(namespace):
        outer = socket.create_connection(_endpoint(client, address, int(port)), 5)
    outer.settimeout(None)
    inner.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    return outer


def _endpoint(client: Client, address: str, port: int) -> tuple[str, int]:
    """One of the ready endpoints of the Service with a cluster address.

    Raises:
        ConnectionRefusedError: there is none.
    """
    (service,) = (
        one["metadata"]
        for one in client.items("/api/v1/services")
        if one["spec"]["clusterIP"] == address
        and port in {each["port"] for each in one["spec"]["ports"]}
    )
    slices = client.items(
        f"/apis/discovery.k8s.io/v1/namespaces/{service['namespace']}/endpointslices"
        f"?labelSelector=kubernetes.io/service-name={service['name']}"
    )
    found = [
        (one["addresses"][0], int(each["ports"][0]["port"]))
        for each in slices
        for one in each["endpoints"] or ()
        if one["conditions"].get("ready")
    ]
    if not found:
        raise ConnectionRefusedError(f"{service['name']}: no endpoint is ready")
    return random.SystemRandom().choice(found)

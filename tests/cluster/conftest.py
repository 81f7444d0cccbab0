"""One control plane for all cluster tests; a namespace of its own for each test."""

from __future__ import annotations

import http.client
import itertools
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from controlplane import nodes, own
from controlplane.installed import ROOT, Installed, documents, eventually
from controlplane.plane import Cluster
from controlplane.processes import Child

_NUMBERS = itertools.count()
_KEPT = pytest.StashKey[Path]()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say where the logs are when a test failed."""
    if _KEPT in terminalreporter.config.stash:
        folder = terminalreporter.config.stash[_KEPT]
        terminalreporter.write_line(f"control plane: logs are kept in {folder}")


@pytest.fixture(scope="session")
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """A real control plane with sixteen nodes of two shapes and the NAD CRD."""
    with own.plane(request.session) as running:
        for crd in documents(Path(__file__).parent / "crds" / "network-attachment-definition.yaml"):
            running.client.create(crd)
        running.client.create_all(nodes.two_shapes())
        failed = request.session.testsfailed
        yield running
        if request.session.testsfailed > failed:
            request.config.stash[_KEPT] = running.folder


@pytest.fixture(scope="session")
def installed(cluster: Cluster) -> Installed:
    """Podrail's manifests in the cluster."""
    return Installed(cluster, ROOT / "examples" / "profiles")


@pytest.fixture(scope="session")
def webhook(installed: Installed) -> Child:
    """The webhook's process, which is registered where a test says so."""
    return installed.webhook()


@pytest.fixture(scope="session")
def address(webhook: Child) -> str:
    """Where the webhook listens."""
    return webhook.address()


@pytest.fixture
def registered(installed: Installed, address: str) -> Iterator[str]:
    """The webhook, registered by URL for the length of a test."""
    installed.register(address)
    yield address
    installed.unregister()


@pytest.fixture(scope="session")
def extender(installed: Installed) -> Child:
    """The extender's process, with a second kube-scheduler that asks it."""
    running = installed.extender()
    eventually(lambda: _ready(running.address()), "the extender is ready")
    installed.cluster.scheduler("podrail-scheduler", installed.scheduler_config(running.address()))
    return running


def _ready(address: str) -> bool:
    connection = http.client.HTTPConnection(address, timeout=5)
    with closing(connection):
        connection.request("GET", "/readyz")
        return connection.getresponse().status == http.client.OK


@pytest.fixture
def namespace(cluster: Cluster) -> Iterator[str]:
    """A fresh namespace; its pods are gone afterwards, so that their devices are free again."""
    name = f"team-{next(_NUMBERS)}"
    cluster.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    account = f"/api/v1/namespaces/{name}/serviceaccounts/default"
    eventually(lambda: cluster.client.call("GET", account).status == 200, f"{name} has an account")
    yield name
    cluster.client.delete(f"/apis/batch/v1/namespaces/{name}/jobs")
    cluster.client.delete(f"/api/v1/namespaces/{name}/pods")

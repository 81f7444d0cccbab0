"""podrail-certs on a real API server, with the rights of deploy/: rotations that nobody notices."""

from __future__ import annotations

import base64
import contextlib
import os
import socket
import ssl
import threading
import time
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import builders
import gocalls
import pytest
from certificates_api import Follower
from controlplane.client import Client
from controlplane.installed import DEPLOY, NAMESPACE, Installed, documents, eventually, script
from controlplane.plane import Cluster
from controlplane.processes import Child

from certs import authority, chain, holdings
from certs.holdings import Authorities, Served
from podrail import names

pytestmark = pytest.mark.cluster
ACCOUNT: Final = "podrail-certs"
HOST: Final = "podrail-webhook.podrail-system.svc"
REGISTRATION: Final = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/podrail"
SECRETS: Final = f"/api/v1/namespaces/{NAMESPACE}/secrets"
LEASE: Final = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/podrail-certs"
SLICES: Final = f"/apis/discovery.k8s.io/v1/namespaces/{NAMESPACE}/endpointslices"
SLICE: Final = {
    "apiVersion": "discovery.k8s.io/v1",
    "kind": "EndpointSlice",
    "addressType": "IPv4",
    "metadata": {
        "name": "podrail-webhook-test",
        "namespace": NAMESPACE,
        "labels": {"kubernetes.io/service-name": "podrail-webhook"},
    },
}
LIFE: Final = timedelta(seconds=60)
SOAK_SECONDS: Final = int(os.environ.get("PODRAIL_SOAK", "50"))  # noqa: TID251 - a soak sets it
ROTATED: Final = 35
"""Seconds after which the CA that a test begins with is due."""


def own_address() -> str:
    """An address of this machine that an EndpointSlice may have, which loopback is not."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            # A datagram socket that is connected has sent nothing yet.
            probe.connect(("192.0.2.1", 9))
        except OSError:
            pytest.skip("NOT RUN: this machine has no address but loopback, so no EndpointSlice")
        return str(probe.getsockname()[0])


@dataclass(frozen=True, slots=True)
class Site:
    """The cluster with the rights of deploy/, and the account that has them."""

    cluster: Cluster
    kubeconfig: Path
    account: Client

    def start(self, name: str, program: list[Path | str] | None = None, **settings: str) -> Child:
        """Start a keeper of sixty-second certificates."""
        environ = {
            "PODRAIL_LISTEN": "127.0.0.1:0",
            "PODRAIL_KUBECONFIG": str(self.kubeconfig),
            "PODRAIL_HOSTS": "127.0.0.1",
            "PODRAIL_LEAF_SECONDS": "60",
            "PODRAIL_SETTLE_SECONDS": "6",
            "PODRAIL_LOOK_SECONDS": "1",
            **settings,
        }
        number = len(list(self.cluster.folder.glob(f"{name}-*.log")))
        command = program or [script("podrail-certs"), "run"]
        return self.cluster.run(f"{name}-{number}", command, environ)

    def secret(self, name: str) -> dict[str, bytes]:
        """The data of a Secret; none if it is not there."""
        found = self.cluster.client.call("GET", f"{SECRETS}/{name}")
        data = found.body.get("data", {}) if found.status == 200 else {}
        return {key: base64.b64decode(text) for key, text in data.items()}

    def fill(self, name: str, kind: str, data: Mapping[str, bytes]) -> None:
        """Have a Secret with these data."""
        encoded = {key: base64.b64encode(text).decode() for key, text in data.items()}
        self.cluster.client.delete(f"{SECRETS}/{name}")
        metadata = {"name": name, "namespace": NAMESPACE}
        self.cluster.client.create(
            {"apiVersion": "v1", "kind": "Secret", "type": kind, "metadata": metadata, "data": encoded}
        )  # fmt: skip

    def bundles(self) -> dict[str, bytes]:
        """The caBundle of each entry; none while nothing is registered."""
        found = self.cluster.client.call("GET", REGISTRATION)
        return {
            one["name"]: base64.b64decode(one["clientConfig"].get("caBundle", ""))
            for one in found.body.get("webhooks", ())
        }

    def trusted(self) -> list[int]:
        """How many CAs each entry trusts."""
        return [len(chain.parse(one)) for one in self.bundles().values()]


def _now() -> datetime:
    return datetime.fromtimestamp(time.time(), UTC)


@pytest.fixture(scope="module")
def site(installed: Installed) -> Iterator[Site]:
    """Deploy/certs in the cluster, under its own account."""
    client = installed.cluster.client
    for path in sorted((DEPLOY / "certs").glob("*.yaml")):
        for one in documents(path):
            answer = client.try_create(one, fieldValidation="Strict")
            assert answer.status in {201, 409}, answer.message
    metadata = {"name": ACCOUNT, "namespace": NAMESPACE}
    client.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
    minted = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{ACCOUNT}/token"
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    token = client.call("POST", minted, asked).body["status"]["token"]
    cluster = installed.cluster
    verified = (cluster.folder / "certs" / "apiserver.crt").read_text()
    account = Client("127.0.0.1", cluster.port, verified, token)
    yield Site(cluster, cluster.kubeconfig_of(ACCOUNT, token), account)
    client.delete(f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{ACCOUNT}")


@pytest.fixture
def clean(site: Site, installed: Installed) -> Iterator[Site]:
    """No Secret and no Lease; registered with somebody else's caBundle."""
    for path in (f"{SECRETS}/podrail-ca", f"{SECRETS}/podrail-tls", LEASE):
        site.cluster.client.delete(path)
    installed.register("127.0.0.1:1", alive=False)
    yield site
    installed.unregister()


@pytest.fixture
def keeper(clean: Site) -> Iterator[Child]:
    """One that has done its first work."""
    child = clean.start("certs")
    eventually(lambda: good(clean), "everything is there", 30)
    yield child
    child.stop()


def good(site: Site) -> bool:
    """Whether a leaf is there that each entry trusts."""
    found = Served.read(site.secret("podrail-tls"))
    bundles = [chain.parse(one) for one in site.bundles().values()]
    return found.leaf is not None and all(chain.leads(found.leaf, (), one) for one in bundles)


@pytest.mark.usefixtures("keeper")
def test_its_rights_suffice_and_only_the_bundles_are_its(clean: Site) -> None:
    """The field manager owns the caBundle of our entries; all else stays whose it was."""
    found = clean.cluster.client.get(REGISTRATION)
    (mine,) = [one for one in found["metadata"]["managedFields"] if one["manager"] == ACCOUNT]
    fields = mine["fieldsV1"]["f:webhooks"]
    assert 2 == len(fields)
    for one in fields.values():
        assert {"f:caBundle": {}} == one["f:clientConfig"]
        assert {".", "f:name", "f:clientConfig"} >= set(one)
    assert ["Ignore", "Ignore"] == [one["failurePolicy"] for one in found["webhooks"]]
    assert {"ca.crt", "ca.key"} == set(clean.secret("podrail-ca"))


def test_a_registration_applied_anew_is_trusted_again_within_seconds(
    clean: Site, keeper: Child, installed: Installed
) -> None:
    """As GitOps would replace it; a stranger's entry in it is left alone."""
    del keeper
    (registration,) = documents(DEPLOY / "webhook" / "registration.yaml")
    stranger = {**registration["webhooks"][0], "name": "stranger.example.com"}
    registration["webhooks"].append(stranger)
    installed.unregister()
    clean.cluster.client.create(registration)
    eventually(lambda: sorted(clean.trusted()) == [0, 1, 1], "ours are trusted", 30)
    assert b"" == clean.bundles()["stranger.example.com"]


@pytest.mark.usefixtures("keeper")
@pytest.mark.parametrize(
    ("name", "kind", "status"),
    [
        pytest.param("podrail-tls", "kubernetes.io/tls", 409, id="its own"),
        pytest.param("podrail-tls", "kubernetes.io/service-account-token", 403, id="a token"),
        pytest.param("other", "Opaque", 403, id="another"),
    ],
)
def test_it_creates_no_other_secret(clean: Site, name: str, kind: str, status: int) -> None:
    """A Secret may be a request for another account's token."""
    note = {"kubernetes.io/service-account.name": "default"}
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": kind,
        "metadata": {"name": name, "annotations": note},
        "data": {"tls.crt": "", "tls.key": ""} if kind.endswith("tls") else {},
    }
    assert status == clean.account.call("POST", SECRETS, secret).status


@pytest.mark.usefixtures("keeper")
def test_it_reads_no_other_secret_and_no_list(clean: Site) -> None:
    """Two names and no more."""
    paths = (f"{SECRETS}/podrail-ca", f"{SECRETS}/other", SECRETS)
    assert [200, 403, 403] == [clean.account.call("GET", path).status for path in paths]


def test_another_goes_on_where_one_was_killed(clean: Site, keeper: Child) -> None:
    """With the same CA; while both were there only one had written."""
    second = clean.start("certs-second")
    before = clean.secret("podrail-ca")
    try:
        eventually(lambda: bool(second.address()), "the second is there")
        keeper.kill()
        clean.cluster.client.delete(f"{SECRETS}/podrail-tls")
        eventually(lambda: good(clean), "the second has taken over", 40)
        assert before == clean.secret("podrail-ca")
    finally:
        second.stop()


JUMPED: Final = """
import sys
from datetime import timedelta
from certs import program
real, days = program._now, timedelta(days=int(sys.argv.pop(1)))
program._now = lambda: real() + days
program.main()
"""


@pytest.mark.parametrize("days", ["-800", "800"])
def test_a_machine_with_a_wrong_clock_makes_certificates_that_are_valid(
    clean: Site, days: str, tmp_path: Path
) -> None:
    """By the clock of the API server, which verifies them."""
    jumped = tmp_path / "jumped.py"
    jumped.write_text(JUMPED)
    python = script("python")
    child = clean.start("certs-jumped", [python, jumped, days, "run"])
    try:
        eventually(lambda: good(clean), "everything is there", 30)
        leaf = Served.read(clean.secret("podrail-tls")).leaf
        assert leaf is not None
        assert chain.current(leaf, _now())
    finally:
        child.stop()


@contextlib.contextmanager
def mounted(site: Site, folder: Path, lag: float) -> Iterator[Path]:
    """The replicas' Secret as a volume, some seconds late."""
    with Follower(folder, lambda: site.secret("podrail-tls"), lag):
        eventually((folder / "tls.key").exists, "the Secret is mounted", 30)
        yield folder


@contextlib.contextmanager
def webhook(site: Site, installed: Installed, folder: Path) -> Iterator[str]:
    """The port of a webhook that serves from a volume and is an endpoint of its Service."""
    environ = {
        "PODRAIL_LISTEN": "0.0.0.0:0",
        "PODRAIL_KUBECONFIG": str(installed._accounts["podrail-webhook"]),
        "PODRAIL_CERT": str(folder / "tls.crt"),
        "PODRAIL_KEY": str(folder / "tls.key"),
    }
    number = len(list(site.cluster.folder.glob("webhook-mounted-*.log")))
    child = site.cluster.run(f"webhook-mounted-{number}", [script("podrail-webhook")], environ)
    client = site.cluster.client
    try:
        port = child.address().rpartition(":")[2]
        child.wait_until(lambda: ready(port, folder / "ca.crt"), 30)
        endpoints = {"endpoints": [{"addresses": [own_address()]}], "ports": [{"port": int(port)}]}
        client.create({**SLICE, **endpoints})
        yield port
    finally:
        client.delete(f"{SLICES}/podrail-webhook-test")
        child.stop()


def ready(port: str, ca: Path) -> bool:
    """Whether it serves, verified by who is trusted in its volume."""
    context = ssl.create_default_context(cafile=ca)
    url = f"https://127.0.0.1:{port}/readyz"
    try:
        with urllib.request.urlopen(url, timeout=5, context=context) as answer:
            return int(answer.status) == 200
    except OSError:
        return False


class Creations(threading.Thread):
    """Pods that are created all the time by a dry run; those that came back without rails."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__()
        self._cluster = cluster
        self._stopping = threading.Event()
        self.all = 0
        self.missed: list[str] = []

    def run(self) -> None:
        while not self._stopping.wait(0.1):
            answer = self._cluster.client.try_create(builders.document(), dryRun="All")
            self.all += 1
            if names.INJECTED not in answer.body.get("metadata", {}).get("annotations", {}):
                self.missed.append(answer.message)

    def stop(self) -> None:
        self._stopping.set()
        self.join()


def almost_due(site: Site) -> Authorities:
    """A CA in its Secret that is due in ROTATED seconds, and a leaf that is due sooner."""
    ca = authority.authority(_now() - timedelta(seconds=400 - ROTATED), LIFE)
    hosts = (HOST, f"{HOST}.cluster.local", "127.0.0.1")
    leaf = authority.leaf(ca, hosts, _now() - timedelta(seconds=10), LIFE)
    kept = Authorities(ca)
    site.fill("podrail-ca", "Opaque", kept.data())
    site.fill("podrail-tls", "kubernetes.io/tls", holdings.served(leaf, [ca.certificate]))
    return kept


@contextlib.contextmanager
def rotating(site: Site) -> Iterator[None]:
    """A keeper for the length of a block."""
    child = site.start("certs-rotating")
    try:
        yield
    finally:
        child.stop()


def calls(port: str, trust: Path) -> gocalls.Calls:
    """The Go client under rotations, which trusts what the file says at each moment."""
    return gocalls.start(
        "rotate", url=f"https://127.0.0.1:{port}/mutate", ca=trust, name=HOST,
        gap="50ms", lasts=f"{SOAK_SECONDS}s", deadline="5s", accept=400,
    )  # fmt: skip


def test_certificates_of_sixty_seconds_rotate_under_calls_that_never_fail(
    clean: Site, installed: Installed, tmp_path: Path
) -> None:
    """Leaf and CA, with volumes and clients that are late: no handshake fails, each pod is injected."""
    before = almost_due(clean)
    with (
        rotating(clean),
        mounted(clean, tmp_path / "volume", 0.2) as folder,
        webhook(clean, installed, folder) as port,
    ):
        installed.register(f"127.0.0.1:{port}", alive=False)
        eventually(lambda: good(clean), "our CA is trusted", 30)
        installed._wait_until_called()
        bundles = Follower(tmp_path / "trust", lambda: {"ca.crt": next(iter(clean.bundles().values()))}, 3.5)  # fmt: skip
        creations = Creations(clean.cluster)
        with bundles:
            eventually((tmp_path / "trust" / "ca.crt").exists, "the caBundle is known")
            client = calls(port, tmp_path / "trust" / "ca.crt")
            creations.start()
            try:
                seen = client.report(SOAK_SECONDS + 60)
            finally:
                client.stop()
                creations.stop()
    told = {key: {**seen[key], "errors": len(seen[key]["errors"])} for key in ("fresh", "kept")}
    print(f"{told}, {seen['leaves']} leaves, {seen['bundles']} bundles, {creations.all} pods")
    assert ([], [], []) == (seen["fresh"]["errors"], seen["kept"]["errors"], creations.missed)
    assert seen["fresh"]["calls"] > 100
    assert creations.all > 30
    assert seen["leaves"] >= 3
    assert len(seen["authorities"]) == len(set(seen["authorities"])) >= 2
    assert seen["bundles"] >= 3
    assert before != Authorities.read(clean.secret("podrail-ca"))


def test_a_replica_is_known_by_what_it_serves(
    clean: Site, keeper: Child, installed: Installed, tmp_path: Path
) -> None:
    """Its metrics tell how many replicas serve what is trusted."""
    with mounted(clean, tmp_path / "volume", 0) as folder, webhook(clean, installed, folder):
        eventually(lambda: metric(keeper, 'podrail_certs_replicas{serves="trusted"}') == 1, "seen")
    assert 0 < metric(keeper, 'podrail_certs_days_until_expiry{certificate="leaf"}') * 86_400 <= 60


def metric(child: Child, name: str) -> float:
    """A metric of the keeper."""
    with urllib.request.urlopen(f"http://{child.address()}/metrics", timeout=5) as answer:
        lines: list[str] = answer.read().decode().splitlines()
    return float(next((one.rpartition(" ")[2] for one in lines if one.startswith(name)), "nan"))

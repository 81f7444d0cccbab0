"""An extender that knows its clients, asked by real kube-schedulers (1.36.3) over TLS."""

from __future__ import annotations

import json
import shutil
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import builders
import pytest
from controlplane.installed import SHAPES, Installed, eventually, script
from controlplane.plane import Cluster
from controlplane.processes import Child, free_port

from certs import authority, store
from certs.authority import Pair, Purpose
from podrail import names

pytestmark = pytest.mark.cluster
NAME: Final = "kube-scheduler"
LIFE: Final = timedelta(days=1)
CA, CERTIFICATE, KEY = store.CA_CERTIFICATE, store.CERTIFICATE, store.KEY


def _now() -> datetime:
    return datetime.fromtimestamp(time.time(), UTC)


def clients(folder: Path, name: str = NAME) -> Path:
    """A CA for clients, and the pair of one."""
    store.create(folder, (name,), _now(), LIFE, Purpose.CLIENT)
    return folder


@dataclass(slots=True)
class Site:
    """An extender behind TLS, and whoever asks it."""

    installed: Installed
    folder: Path
    port: int
    bulletin: int
    extender: Child

    @classmethod
    def start(cls, installed: Installed, folder: Path) -> Site:
        """One that is served with a pair for 127.0.0.1 and trusts the CA in the folder known."""
        store.create(folder / "server", ("127.0.0.1",), _now(), LIFE)
        clients(folder / "known")
        port, bulletin = free_port(), free_port()
        return cls(installed, folder, port, bulletin, _extender(installed, folder, port, bulletin))

    def restart(self) -> None:
        """End it and start it anew at the same address: connections are made anew."""
        self.extender.stop()
        self.extender = _extender(self.installed, self.folder, self.port, self.bulletin)

    def scheduler(self, name: str, pair: Path) -> Child:
        """A kube-scheduler that shows this pair."""
        config = self.installed.scheduler_config("")
        config["profiles"][0]["schedulerName"] = name
        config["extenders"][0] |= {
            "urlPrefix": f"https://127.0.0.1:{self.port}",
            "enableHTTPS": True,
            "tlsConfig": {
                "caFile": str(self.folder / "server" / CA),
                "certFile": str(pair / CERTIFICATE),
                "keyFile": str(pair / KEY),
            },
        }
        return self.installed.cluster.scheduler(name, config)

    def asked(self) -> float:
        """How many calls the extender has answered, by the address that tells no more than that."""
        with urllib.request.urlopen(
            f"http://127.0.0.1:{self.bulletin}/metrics", timeout=5
        ) as answer:
            lines: list[str] = answer.read().decode().splitlines()
        return sum(float(one.rpartition(" ")[2]) for one in lines if one.startswith("podrail_extender_requests_total{"))  # fmt: skip


def _extender(installed: Installed, folder: Path, port: int, bulletin: int) -> Child:
    environ = {
        "PODRAIL_LISTEN": f"127.0.0.1:{port}",
        "PODRAIL_BULLETIN": f"127.0.0.1:{bulletin}",
        "PODRAIL_CERT": str(folder / "server" / CERTIFICATE),
        "PODRAIL_KEY": str(folder / "server" / KEY),
        "PODRAIL_CLIENT_CA": str(folder / "known" / CA),
        "PODRAIL_KUBECONFIG": str(installed._accounts["podrail-extender"]),
        "PODRAIL_SHAPES": str(SHAPES),
        "PODRAIL_SCHEDULER": "",
        **installed._profiles,
    }
    number = len(list(installed.cluster.folder.glob("extender-tls-*.log")))
    child = installed.cluster.run(f"extender-tls-{number}", [script("podrail-extender")], environ)
    child.wait_until(lambda: _ready(bulletin), 40)
    return child


def _ready(bulletin: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{bulletin}/readyz", timeout=5) as answer:
            return int(answer.status) == 200
    except OSError:
        return False


@pytest.fixture(scope="module")
def site(installed: Installed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """For all tests of this file."""
    found = Site.start(installed, tmp_path_factory.mktemp("mutual"))
    yield found
    found.extender.stop()


def notes(cluster: Cluster, namespace: str, name: str, scheduler: str) -> dict[str, Any]:
    """Those of a new pod once the scheduler has bound it."""
    one = builders.document(builders.container(gpus=1), name=name, fabric="macvlan-halves", schedulerName=scheduler)  # fmt: skip
    cluster.client.create(one, namespace)
    path = f"/api/v1/namespaces/{namespace}/pods/{name}"
    eventually(lambda: "nodeName" in cluster.client.get(path)["spec"], f"{name} is bound")
    found: dict[str, Any] = cluster.client.get(path)["metadata"]["annotations"]
    return found


@pytest.mark.usefixtures("registered")
def test_a_scheduler_that_it_knows_is_answered(
    cluster: Cluster, site: Site, namespace: str
) -> None:
    """Filter, prioritize and bind, over TLS and with a certificate of the client CA."""
    scheduler, before = site.scheduler("known", site.folder / "known"), site.asked()
    found = notes(cluster, namespace, "worker", "known")
    scheduler.stop()
    assert 1 == len(json.loads(found[names.PLACEMENT])["rails"])
    assert 3 <= site.asked() - before


def stranger(site: Site) -> Path:
    """A pair of another CA, under the right name."""
    return clients(site.folder / "stranger")


def namesake(site: Site) -> Path:
    """A pair of the right CA, under another name."""
    folder, known = site.folder / "other-name", site.folder / "known"
    clients(folder)
    ca = Pair.read((known / CA).read_bytes(), (known / store.CA_KEY).read_bytes())
    leaf = authority.leaf(ca, ("kube-controller-manager",), _now(), LIFE, Purpose.CLIENT)
    (folder / CERTIFICATE).write_bytes(leaf.certificate_pem)
    (folder / KEY).write_bytes(leaf.key_pem)
    return folder


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize("pair", [stranger, namesake])
def test_another_scheduler_is_not_answered_and_binds_plainly(
    cluster: Cluster, site: Site, namespace: str, pair: Any
) -> None:
    """The extender is ignorable: the pod keeps what its admission gave it, and has no placement."""
    scheduler, before = site.scheduler(pair.__name__, pair(site)), site.asked()
    found = notes(cluster, namespace, "worker", pair.__name__)
    scheduler.stop()
    assert names.INJECTED in found
    assert names.PLACEMENT not in found
    assert before == site.asked()


@pytest.mark.usefixtures("registered")
def test_a_client_pair_is_replaced_while_the_scheduler_runs(
    cluster: Cluster, site: Site, namespace: str
) -> None:
    """Also with its CA: kube-scheduler reads its files at each handshake, the extender within a second."""
    mine = shutil.copytree(site.folder / "known", site.folder / "mine")
    scheduler = site.scheduler("renewed", mine)
    assert names.PLACEMENT in notes(cluster, namespace, "before", "renewed")
    after = clients(site.folder / "renewed")
    shutil.copytree(after, mine, dirs_exist_ok=True)
    shutil.copytree(after, site.folder / "known", dirs_exist_ok=True)
    site.restart()
    found = notes(cluster, namespace, "after", "renewed")
    scheduler.stop()
    assert names.PLACEMENT in found


@pytest.mark.usefixtures("registered")
def test_a_new_ca_of_the_extender_is_known_to_the_next_scheduler_only(
    cluster: Cluster, installed: Installed, tmp_path: Path, namespace: str
) -> None:
    """kube-scheduler reads caFile at its start: until it is started anew it binds plainly."""
    own = Site.start(installed, tmp_path)
    scheduler = own.scheduler("before-ca", tmp_path / "known")
    assert names.PLACEMENT in notes(cluster, namespace, "before", "before-ca")
    store.create(tmp_path / "new", ("127.0.0.1",), _now(), LIFE)
    shutil.copytree(tmp_path / "new", tmp_path / "server", dirs_exist_ok=True)
    own.restart()
    assert names.PLACEMENT not in notes(cluster, namespace, "between", "before-ca")
    scheduler.stop()
    again = own.scheduler("after-ca", tmp_path / "known")
    assert names.PLACEMENT in notes(cluster, namespace, "after", "after-ca")
    again.stop()
    own.extender.stop()

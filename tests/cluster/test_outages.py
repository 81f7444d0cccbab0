"""The API server frozen for twice the lease, and its store killed: all go on where they were."""

from __future__ import annotations

import os
import signal
import ssl
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import builders
import creating
import pytest
from controlplane import own
from controlplane.installed import ROOT, Installed, documents, eventually, metric
from controlplane.plane import Cluster
from controlplane.processes import Child

from podrail import names
from podrail_io import lease

pytestmark = pytest.mark.cluster

FROZEN_SECONDS = 2 * lease.LEASE_SECONDS
SPACE = "burst"
ACTIVE = "podrail_controller_active"
PROFILES = "/apis/podrail.dev/v1alpha1/fabricprofiles"


@dataclass(slots=True)
class Yard:
    """A cluster of its own, with a webhook and two controllers."""

    cluster: Cluster
    installed: Installed
    webhook: Child
    controllers: tuple[Child, Child]

    def active(self) -> tuple[bool, bool]:
        """Which of the two says that it holds the lease."""
        first, second = (metric(one, ACTIVE) == 1 for one in self.controllers)
        return first, second

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """The API server does nothing, and its connections stay open."""
        (server,) = (one for one in self.cluster._children if one.log.stem == "kube-apiserver")
        os.kill(server.process.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(server.process.pid, signal.SIGCONT)

    def review(self) -> int:
        """The status of a review that the webhook is sent without the API server."""
        context = ssl.create_default_context(cafile=str(self.installed.certificates / "ca.crt"))
        url = f"https://{self.webhook.address()}/mutate"
        body, kind = builders.review(builders.document(), "default"), "application/json"
        request = urllib.request.Request(url, body, {"Content-Type": kind})
        with urllib.request.urlopen(request, timeout=5, context=context) as answer:
            return int(answer.status)

    def kill_etcd(self, away: float) -> None:
        """Kill the store, and start it on the same data after some seconds."""
        (store,) = (one for one in self.cluster._children if one.log.stem == "etcd")
        store.kill()
        time.sleep(away)
        args = store.process.args
        assert isinstance(args, list)
        self.cluster.run("etcd-again", args)

    def check_all_go_on(self, name: str) -> None:
        """A profile that comes now is judged by one controller, and a pod is injected."""
        (profile,) = documents(ROOT / "examples" / "profiles" / "macvlan-halves.yaml")
        self.cluster.client.create({**profile, "metadata": {"name": name}})
        eventually(lambda: self.is_accepted(name), f"the profile {name} is judged", 60)
        assert 1 == sum(self.active())
        made = self.cluster.client.create(builders.document(), "default", dryRun="All")
        assert names.INJECTED in made["metadata"]["annotations"]

    def is_accepted(self, name: str) -> bool:
        """Whether the active controller has judged a profile."""
        status = self.cluster.client.get(f"{PROFILES}/{name}").get("status") or {}
        return bool(status.get("conditions"))


@pytest.fixture(scope="module")
def yard(request: pytest.FixtureRequest) -> Iterator[Yard]:
    """One whose lease is held."""
    with own.plane(request.session) as cluster:
        folder = Path(__file__).parent / "crds"
        for crd in documents(folder / "network-attachment-definition.yaml"):
            cluster.client.create(crd)
        installed = Installed(cluster, ROOT / "examples" / "profiles")
        space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}}
        cluster.client.create(space)
        webhook = installed.webhook()
        installed.register(webhook.address())
        first, second = installed.controller(), installed.controller()
        found = Yard(cluster, installed, webhook, (first, second))
        eventually(lambda: any(found.active()), "one is active", 60)
        yield found


def test_an_api_server_frozen_for_twice_the_lease(yard: Yard) -> None:
    """The active one steps down before the lease ends, nobody takes over, one goes on afterwards."""
    held, seen, reviews = yard.active(), list[tuple[float, tuple[bool, bool]]](), list[float]()
    assert 1 == sum(held)
    began = time.monotonic()
    with yard.frozen():
        while time.monotonic() < began + FROZEN_SECONDS:
            seen.append((time.monotonic() - began, yard.active()))
            asked = time.monotonic()
            assert 200 == yard.review()
            reviews.append(time.monotonic() - asked)
            time.sleep(0.2)
    until = max((at for at, active in seen if any(active)), default=0.0)
    taken = [one for one in seen if any(one[1]) and one[1] != held]
    thawed = time.monotonic()
    eventually(lambda: any(yard.active()), "one is active again", 30)
    waited = time.monotonic() - thawed
    for _ in range(30):
        seen.append((time.monotonic() - began, yard.active()))
        time.sleep(0.1)
    told = f"stepped down after {until:.1f} s, {len(reviews)} reviews, the slowest {max(reviews):.3f} s"
    print(f"\n{told}, active again {waited:.1f} s after", file=sys.stderr)
    assert until < lease.LEASE_SECONDS
    assert [] == [one for one in seen if sum(one[1]) > 1]
    assert [] == taken, "before the API server could have said so"
    assert max(reviews) < 1
    yard.check_all_go_on("thawed")


def test_an_etcd_that_is_killed_and_started_again(yard: Yard) -> None:
    """Creations wait or fail meanwhile, as without podrail; no pod is lost or left without rails."""
    with creating.creating(yard.cluster.client, SPACE) as load:
        time.sleep(2)
        before = len(load.created)
        yard.kill_etcd(away=3)
        back = time.monotonic()
        eventually(lambda: len(load.created) > before + 20, "pods are created again", 60)
        waited = time.monotonic() - back
    told = f"{len(load.created)} pods, {len(load.failures)} calls failed, back after {waited:.1f} s"
    print(f"\n{told}", file=sys.stderr)
    pods = yard.cluster.client.items(f"/api/v1/namespaces/{SPACE}/pods")
    assert set() == {*load.created} - {one["metadata"]["name"] for one in pods}
    assert [] == load.uninjected
    assert [] == [one for one in load.failures if "podrail" in one]
    yard.check_all_go_on("restarted")

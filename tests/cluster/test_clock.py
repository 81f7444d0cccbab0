"""The wall clock of all of podrail's programs jumps by a day, on the real control plane."""

from __future__ import annotations

import re
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import builders
import pytest
from certificates_api import logged
from controlplane.installed import (
    DEPLOY,
    NAMESPACE,
    Installed,
    documents,
    eventually,
    metric,
    script,
)
from controlplane.plane import Cluster
from controlplane.processes import Child
from gangs import bound
from jumping import Clock

from podrail import names

pytestmark = pytest.mark.cluster
DAY: Final = 86_400
JUMPS: Final = {"before": 0, "a day ahead": DAY, "a day behind": -DAY, "back": 0}
SCHEDULER: Final = "jumped"
PODS: Final = 6
SECONDS: Final = 10
"""How long writes are counted for each."""
WRITES: Final = re.compile(r'^apiserver_request_total\{.*[,{]resource="(\w*)".*verb="(?:POST|PUT|PATCH|APPLY|DELETE)".*\} (\S+)$')  # fmt: skip
REGISTRATIONS: Final = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
SECRETS: Final = f"/api/v1/namespaces/{NAMESPACE}/secrets"
LEASES: Final = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases"
TAKEN_OVER_SECONDS: Final = 30
STALE_SECONDS: Final = 300
"""With an older view the extender would judge nobody; a quiet watch hears a bookmark a minute."""


@dataclass(slots=True)
class Yard:
    """All programs, with one clock that is the test's."""

    cluster: Cluster
    clock: Clock
    children: dict[str, Child]

    def written(self) -> Counter[str]:
        """How many writes the API server has taken so far, by resource."""
        found = Counter[str]()
        for line in self.cluster.client.text("/metrics").splitlines():
            if (match := WRITES.match(line)) is not None:
                found[match[1]] += round(float(match[2]))
        return found

    def leading(self) -> tuple[bool, bool]:
        """Which of the two controllers is active."""
        first, second = (metric(self.children[one], "podrail_controller_active") == 1 for one in ("controller", "rival"))  # fmt: skip
        return first, second

    def told(self, program: str, name: str) -> float:
        """A metric of a program that speaks plain HTTP, by its beginning."""
        address = self.children[program].address()
        with urllib.request.urlopen(f"http://{address}/metrics", timeout=5) as answer:
            lines: list[str] = answer.read().decode().splitlines()
        return sum(float(one.rpartition(" ")[2]) for one in lines if one.startswith(name))

    def ahead(self, program: str, message: str) -> float:
        """The seconds by which a program's latest line with a message is ahead of now."""
        line = logged(self.children[program].log.read_text(), message)[-1]
        return datetime.fromisoformat(line["time"]).timestamp() - time.time()

    def kept(self) -> list[str]:
        """What only changes if certificates or a lease are given anew: versions, and the holder."""
        client = self.cluster.client
        secrets = (client.get(f"{SECRETS}/{one}") for one in ("podrail-ca", "podrail-tls"))
        leases = (client.get(f"{LEASES}/{one}")["spec"] for one in ("podrail-certs", "podrail-controller"))  # fmt: skip
        bundle = client.get(f"{REGISTRATIONS}/podrail-jumped")["metadata"]["resourceVersion"]
        return [
            *(one["metadata"]["resourceVersion"] for one in secrets),
            *(f"{one['holderIdentity']} {one['leaseTransitions']}" for one in leases),
            bundle,
        ]

    def work(self, namespace: str, jump: str) -> list[dict[str, Any]]:
        """Have pods created, injected and placed; as they are then."""
        prefix = jump.replace(" ", "-")
        for number in range(PODS):
            one = builders.document(builders.container(gpus=1), fabric="macvlan-halves", name=f"{prefix}-{number}", schedulerName=SCHEDULER)  # fmt: skip
            self.cluster.client.create(one, namespace)
        pods = bound(self.cluster, namespace, PODS * (1 + list(JUMPS).index(jump)))
        return [one for one in pods if one["metadata"]["name"].startswith(f"{prefix}-")]


@pytest.fixture(scope="module")
def yard(installed: Installed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    """One whose clock is right, and whose certificates and leases are there."""
    if missing := Clock.missing():
        pytest.skip(missing)
    clock = Clock(tmp_path_factory.mktemp("clock"))
    _register(installed)
    webhook = installed.webhook(**clock.environ)
    installed.register(webhook.address())
    extender = installed.extender(PODRAIL_SCHEDULER=SCHEDULER, **clock.environ)
    config = installed.scheduler_config(extender.address())
    config["profiles"][0]["schedulerName"] = SCHEDULER
    children = {
        "webhook": webhook,
        "extender": extender,
        "scheduler": installed.cluster.scheduler(SCHEDULER, config),
        "controller": installed.controller(**clock.environ),
        "certs": _certs(installed, clock),
    }
    found = Yard(installed.cluster, clock, children)
    eventually(lambda: metric(children["controller"], "podrail_controller_active") == 1, "it is active", 60)  # fmt: skip
    children["rival"] = installed.controller(**clock.environ)
    eventually(lambda: found.told("certs", "podrail_certs_bundle_writes_total") == 1, "certificates are there", 30)  # fmt: skip
    time.sleep(SECONDS)
    yield found
    installed.unregister()
    for child in children.values():
        child.stop()
    for path in (f"{REGISTRATIONS}/podrail-jumped", f"{SECRETS}/podrail-ca", f"{SECRETS}/podrail-tls"):  # fmt: skip
        installed.cluster.client.delete(path)


def _register(installed: Installed) -> None:
    """A registration for podrail-certs alone, which no pod is sent through."""
    (registration,) = documents(DEPLOY / "webhook" / "registration.yaml")
    registration["metadata"]["name"] = "podrail-jumped"
    for one in registration["webhooks"]:
        one["objectSelector"] = {"matchLabels": {"test.podrail.dev/never": "true"}}
    client = installed.cluster.client
    for path in (f"{SECRETS}/podrail-ca", f"{SECRETS}/podrail-tls", f"{LEASES}/podrail-certs"):
        client.delete(path)
    client.create(registration)


def _certs(installed: Installed, clock: Clock) -> Child:
    environ = {
        "PODRAIL_LISTEN": "127.0.0.1:0",
        "PODRAIL_KUBECONFIG": str(installed.cluster.kubeconfig),
        "PODRAIL_REGISTRATION": "podrail-jumped",
        "PODRAIL_LOOK_SECONDS": "1",
        **clock.environ,
    }
    return installed.cluster.run("certs-clock", [script("podrail-certs"), "run"], environ)


def test_a_clock_that_jumps_by_a_day_changes_nothing(yard: Yard, namespace: str) -> None:
    """Ahead, behind, and back: pods are placed as ever, nothing is renewed, given up or written."""
    kept, leading, writes = yard.kept(), yard.leading(), dict[str, Counter[str]]()
    for jump, seconds in JUMPS.items():
        yard.clock.jump(seconds)
        before, began = yard.written(), time.monotonic()
        pods = yard.work(namespace, jump)
        time.sleep(max(began + SECONDS - time.monotonic(), 0))
        writes[jump] = yard.written() - before
        assert PODS == len(pods), jump
        assert all(names.PLACEMENT in one["metadata"]["annotations"] for one in pods), jump
        assert (kept, leading) == (yard.kept(), yard.leading()), jump
        assert seconds == pytest.approx(yard.told("certs", "podrail_certs_clock_skew"), abs=3)
        assert seconds == pytest.approx(yard.ahead("webhook", "pod admitted"), abs=SECONDS + 5)
        assert seconds == pytest.approx(yard.ahead("extender", "pod bound"), abs=SECONDS + 5)
        assert yard.told("extender", "podrail_cache_age_seconds") < STALE_SECONDS, jump
    for jump, found in writes.items():
        print(f"\n{jump}: {found.total()} writes {dict(found.most_common(4))}", file=sys.stderr)
    usual = writes["before"].total()
    assert [] == [jump for jump, found in writes.items() if found.total() > usual * 1.5 + 5]
    assert [] == [name for name, one in yard.children.items() if one.process.poll() is not None]


def test_a_clock_that_is_wrong_delays_no_succession(yard: Yard) -> None:
    """Leases are judged by when a renewal was seen: the other controller takes over in time."""
    first, rival = "controller", "rival"
    if yard.leading()[1]:
        first, rival = rival, first
    yard.clock.jump(-DAY)
    yard.children[first].kill()
    killed = time.monotonic()
    active = "podrail_controller_active"
    eventually(lambda: metric(yard.children[rival], active) == 1, "the other is active", TAKEN_OVER_SECONDS)  # fmt: skip
    waited = time.monotonic() - killed
    print(f"\nactive after {waited:.1f} s", file=sys.stderr)
    yard.clock.jump(0)
    assert 10 < waited

"""Two webhooks behind a Service, replaced or killed while pods are created."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

import balancer
import creating
import pytest
from balancer import Balancer
from controlplane.installed import Installed
from controlplane.plane import Cluster
from controlplane.processes import Child

pytestmark = pytest.mark.cluster

ROUNDS = 3
"""How often both are replaced."""
PRE_STOP_SECONDS = 1.0
"""From the end of its new connections to SIGTERM, as the chart's preStop waits; it waits longer."""
FAIL_OPEN = "apiserver_admission_webhook_fail_open_count"
POLICY = "ValidatingAdmissionPolicy 'podrail-injected'"


@pytest.fixture
def service(installed: Installed) -> Iterator[Balancer]:
    """The registered address of two webhooks."""
    first, second = (installed.webhook() for _ in range(2))
    with balancer.balancing(first.address(), second.address()) as found:
        installed.register(found.address)
        yield found
        installed.unregister()


def webhook_at(installed: Installed, address: str) -> Child:
    """The running webhook that listens there."""
    children = (one for one in installed.cluster._children if one.process.poll() is None)
    webhooks = (one for one in children if one.log.name.startswith("podrail-webhook-"))
    return next(one for one in webhooks if one.address() == address)


def replace(installed: Installed, service: Balancer) -> None:
    """Start another, then end the oldest: no new connections, a while, SIGTERM."""
    oldest, *others = service.ready
    service.ready = (*others, installed.webhook().address())
    time.sleep(PRE_STOP_SECONDS)
    child = webhook_at(installed, oldest)
    child.stop()
    assert 0 == child.process.returncode


def fail_open(cluster: Cluster) -> float:
    """How many calls the API server went on without."""
    lines = cluster.client.text("/metrics").splitlines()
    return sum(float(one.rpartition(" ")[2]) for one in lines if one.startswith(FAIL_OPEN))


def test_a_rolling_restart_fails_no_creation(
    cluster: Cluster, installed: Installed, service: Balancer, namespace: str
) -> None:
    """Six creators: every pod is created and injected, and no call was given up."""
    before, replaced = fail_open(cluster), set(service.ready)
    with creating.creating(cluster.client, namespace) as load:
        for _ in range(2 * ROUNDS):
            replace(installed, service)
            replaced |= set(service.ready)
    print(f"\n{len(load.created)} pods, connections {service.led}", file=sys.stderr)
    assert ([], []) == (load.failures, load.uninjected)
    assert before == fail_open(cluster)
    assert 2 + 2 * ROUNDS == len(replaced)
    # The last one may have come too late for a new connection.
    assert replaced - {service.ready[-1]} <= service.led.keys()


def test_a_webhook_that_is_killed_lets_no_pod_pass_without_rails(
    cluster: Cluster, installed: Installed, service: Balancer, namespace: str
) -> None:
    """Calls in its hands are lost: the policy refuses those pods, and the other goes on alone."""
    before = fail_open(cluster)
    with creating.creating(cluster.client, namespace) as load:
        time.sleep(2)
        killed, *others = service.ready
        webhook_at(installed, killed).kill()
        service.ready = tuple(others)
        time.sleep(1)
        after = len(load.created)
        time.sleep(2)
    print(f"\n{len(load.created)} pods, refused: {len(load.failures)}", file=sys.stderr)
    assert [] == load.uninjected
    assert [] == [one for one in load.failures if POLICY not in one]
    # At most what was in flight, and once more before the Service knew.
    assert len(load.failures) <= 2 * creating.CREATORS
    assert len(load.failures) == fail_open(cluster) - before
    assert len(load.created) > after

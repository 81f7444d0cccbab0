"""Two kube-schedulers that elect one, an extender beside each; the leading pair is killed."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

import builders
import pytest
from controlplane import nodes
from controlplane.installed import NAMESPACE, Installed, eventually
from controlplane.plane import Cluster
from controlplane.processes import Child
from gangs import POOL, bound, placement

from podrail import names

pytestmark = pytest.mark.cluster
SCHEDULER: Final = "elected"
FABRIC: Final = "macvlan-halves"
"""Its rails are chosen at the bind, and counted by nobody but the extender."""
PODS: Final = 100
NODES: Final = 13
KILL_AFTER: Final = 20
LEASE: Final = {"leaderElect": True, "resourceName": "podrail-scheduler", "resourceNamespace": NAMESPACE}  # fmt: skip
"""As the chart has it, with kube-scheduler's own times: 15, 10 and 2 s."""
LEASE_SECONDS: Final = 15
TAKEN_OVER_SECONDS: Final = LEASE_SECONDS + 10


@dataclass(frozen=True, slots=True)
class Couple:
    """What is one pod of the chart: a scheduler, and the extender that it alone asks."""

    scheduler: Child
    extender: Child

    @property
    def leads(self) -> bool:
        """Whether the scheduler has the lease."""
        log = self.scheduler.log.read_text(errors="replace").lower()
        return "successfully acquired lease" in log

    def kill(self) -> None:
        """As the end of its node does."""
        self.scheduler.kill()
        self.extender.kill()


def couple(installed: Installed, number: int) -> Couple:
    """One more of them."""
    extender = installed.extender(PODRAIL_SCHEDULER=SCHEDULER)
    config = installed.scheduler_config(extender.address())
    config["profiles"][0]["schedulerName"] = SCHEDULER
    name = f"{SCHEDULER}-{number}"
    scheduler = installed.cluster.scheduler(name, {**config, "leaderElection": LEASE})
    return Couple(scheduler, extender)


@pytest.fixture
def couples(installed: Installed) -> Iterator[tuple[Couple, Couple]]:
    """Two of them; the first leads."""
    first = couple(installed, 1)
    eventually(lambda: first.leads, "the first one leads", 30)
    second = couple(installed, 2)
    yield first, second
    for one in (first, second):
        one.scheduler.stop()
        one.extender.stop()


@pytest.fixture
def pool(cluster: Cluster, namespace: str) -> Iterator[str]:
    """Nodes for four more pods than come, which are gone afterwards."""
    name = f"pool-{namespace}"
    made = (
        nodes.node(f"{name}-{at}", nodes.ALIGNED, nodes.HARDWARE, **{POOL: name})
        for at in range(NODES)
    )
    cluster.client.create_all(made)
    yield name
    cluster.client.delete(f"/api/v1/namespaces/{namespace}/pods")
    cluster.client.delete(f"/api/v1/nodes?labelSelector={POOL}%3D{name}")


def pods(namespace: str, pool: str) -> Iterator[dict[str, Any]]:
    """The burst: one GPU and one rail each."""
    for number in range(PODS):
        one = builders.document(
            builders.container(gpus=1),
            fabric=FABRIC,
            name=f"worker-{number}",
            schedulerName=SCHEDULER,
            nodeSelector={POOL: pool},
        )
        one["metadata"]["namespace"] = namespace
        yield one


def count(cluster: Cluster, namespace: str) -> int:
    """How many are bound."""
    found = cluster.client.items(f"/api/v1/namespaces/{namespace}/pods")
    return sum("nodeName" in one["spec"] for one in found)


def wait_above(cluster: Cluster, namespace: str, least: int, seconds: float) -> float:
    """The seconds until more are bound."""
    began = time.monotonic()
    while count(cluster, namespace) <= least:
        assert time.monotonic() < began + seconds, f"nothing more than {least} is bound"
        time.sleep(0.02)
    return time.monotonic() - began


@pytest.mark.usefixtures("registered")
def test_the_other_pair_goes_on_where_the_leading_one_was_killed(
    cluster: Cluster, namespace: str, pool: str, couples: tuple[Couple, Couple]
) -> None:
    """In the midst of a burst: every pod is placed, each rail once, within the lease and little more."""
    leading, other = couples
    with ThreadPoolExecutor(1) as executor:
        making = executor.submit(cluster.client.create_all, pods(namespace, pool))
        wait_above(cluster, namespace, KILL_AFTER, 30)
        leading.kill()
        killed = time.monotonic()
        making.result()
    # Whatever the API server had in its hands is done by then.
    time.sleep(max(killed + 1 - time.monotonic(), 0))
    before = count(cluster, namespace)
    wait_above(cluster, namespace, before, TAKEN_OVER_SECONDS)
    waited = time.monotonic() - killed
    found = bound(cluster, namespace, PODS, 60)
    print(f"\n{before} bound before, the next after {waited:.1f} s, all after {time.monotonic() - killed:.1f} s", file=sys.stderr)  # fmt: skip
    assert other.leads
    assert before < PODS
    assert waited < TAKEN_OVER_SECONDS
    assert all(names.PLACEMENT in one["metadata"]["annotations"] for one in found)
    taken = Counter((one["spec"]["nodeName"], rail) for one in found for rail in placement(one)["rails"])  # fmt: skip
    assert ({1}, PODS) == (set(taken.values()), sum(taken.values()))
    assert [] == [one["metadata"]["name"] for one in found if placement(one)["conflict"]]

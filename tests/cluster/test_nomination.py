"""A large job through the real kube-scheduler, which tries the nodes that the extender nominated."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import scheduling
from controlplane.client import Client
from controlplane.installed import Installed, eventually, metric
from controlplane.plane import Cluster
from controlplane.processes import Child
from gangs import bound, create, member, placement

from extender.known import NOMINATOR
from podrail_io.kube import Api

pytestmark = pytest.mark.cluster
NODES, PODS = 512, 160
SCHEDULER = "podrail-nominating"
HOLD_SECONDS = 4
ASKED = 'podrail_extender_duration_seconds_count{verb="prioritize"}'
_NUMBERS = itertools.count()


@dataclass(frozen=True, slots=True)
class Yard:
    """Nodes of the tests' own, and an extender that only our schedulers ask."""

    cluster: Cluster
    installed: Installed
    extender: Child
    pool: str

    def scheduler(self) -> Child:
        """A kube-scheduler, from now on."""
        config = self.installed.scheduler_config(self.extender.address())
        config["profiles"][0]["schedulerName"] = SCHEDULER
        return self.cluster.scheduler(f"nominating-{next(_NUMBERS)}", config)

    def create(self, namespace: str) -> None:
        """A job's pods, which nobody schedules yet."""
        pods = (
            member("large", index, PODS, self.pool, schedulerName=SCHEDULER)
            for index in range(PODS)
        )
        create(self.cluster, namespace, pods)


@pytest.fixture(scope="module")
def yard(cluster: Cluster, installed: Installed) -> Iterator[Yard]:
    """Four blocks, one of them of nodes whose pairs are all SYS."""
    documents = list(scheduling.site(NODES))
    for one in documents:
        one["metadata"]["labels"]["pool"] = "nominating"
    cluster.client.create_all(documents)
    running = installed.extender(
        PODRAIL_SCHEDULER=SCHEDULER, PODRAIL_HOLD_SECONDS=str(HOLD_SECONDS)
    )
    yield Yard(cluster, installed, running, "nominating")
    running.stop()
    cluster.client.delete("/api/v1/nodes?labelSelector=pool%3Dnominating")


def pods_of(client: Client, namespace: str) -> list[dict[str, Any]]:
    """The pods that are there now."""
    return client.items(f"/api/v1/namespaces/{namespace}/pods")


def nominated(client: Client, namespace: str) -> dict[str, str]:
    """The nominated node of each pod that waits with one."""
    return {
        one["metadata"]["name"]: one["status"]["nominatedNodeName"]
        for one in pods_of(client, namespace)
        if one["status"].get("nominatedNodeName") and "nodeName" not in one["spec"]
    }


@pytest.mark.usefixtures("registered")
def test_most_of_a_job_is_bound_after_a_look_at_one_node_each(
    cluster: Cluster, namespace: str, yard: Yard
) -> None:
    """Where a look at all would have led: as few leaves as can hold it, every pod placed."""
    yard.create(namespace)
    asked, made = metric(yard.extender, ASKED), metric(yard.extender, scheduling.NOMINATED)
    scheduler = yard.scheduler()
    pods = bound(cluster, namespace, PODS, 60)
    scheduler.stop()
    assert PODS == len([placement(one) for one in pods])
    leaves = {int(one["spec"]["nodeName"].rpartition("-")[2]) // scheduling.LEAF for one in pods}
    assert PODS // scheduling.LEAF == len(leaves)
    assert metric(yard.extender, scheduling.NOMINATED) - made >= PODS // 3
    assert metric(yard.extender, ASKED) - asked <= PODS - PODS // 4
    assert {} == nominated(cluster.client, namespace)


@pytest.mark.usefixtures("registered")
def test_a_job_that_stops_gives_its_nodes_back_and_goes_on_later(
    cluster: Cluster, namespace: str, yard: Yard
) -> None:
    """kube-scheduler dies under it: the nominations are withdrawn, and the next one binds all."""
    yard.create(namespace)
    scheduler = yard.scheduler()
    eventually(lambda: bool(nominated(cluster.client, namespace)), "some are nominated", 30)
    scheduler.stop()
    eventually(lambda: not nominated(cluster.client, namespace), "the nodes are free", 40)
    waiting = sum("nodeName" not in one["spec"] for one in pods_of(cluster.client, namespace))
    assert 0 < waiting < PODS
    again = yard.scheduler()
    bound(cluster, namespace, PODS, 60)
    again.stop()


def test_what_is_withdrawn_is_ours_alone(cluster: Cluster, namespace: str, yard: Yard) -> None:
    """Giving up the field leaves the node that a preemption nominated since."""
    create(cluster, namespace, [member("one", 0, 1, yard.pool, fabric=None, schedulerName="none")])
    path = f"/api/v1/namespaces/{namespace}/pods/one-0/status"
    api = Api.connect(cluster.kubeconfig)
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "one-0"}}
    api.apply(path, body | {"status": {"nominatedNodeName": "a"}}, NOMINATOR)
    assert {"one-0": "a"} == nominated(cluster.client, namespace)
    api.apply(path, body | {"status": {}}, NOMINATOR)
    assert {} == nominated(cluster.client, namespace)
    api.apply(path, body | {"status": {"nominatedNodeName": "a"}}, NOMINATOR)
    cluster.client.patch(path, {"status": {"nominatedNodeName": "b"}})
    api.apply(path, body | {"status": {}}, NOMINATOR)
    assert {"one-0": "b"} == nominated(cluster.client, namespace)

"""Pods that another version of podrail injected, bound by this one's extender.

As after an upgrade or a rollback: the pods wait with their markers, and the programs are others.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import marked
import pytest
from controlplane import nodes
from controlplane.plane import Cluster
from gangs import POOL, bound, placement

from podrail import names

pytestmark = pytest.mark.cluster
EACH: Final = pytest.mark.parametrize(
    "version", sorted(path.stem for path in marked.FOLDER.glob("*.yaml"))
)
AZURE: Final = "Standard_ND96isr_H100_v5"
"""A machine type for which the profile sriov-rails has another value of a late setting."""
ORDERING: Final = f"{names.ENV_PREFIX}NCCL_IB_PCI_RELAXED_ORDERING"


@pytest.fixture
def pool(cluster: Cluster, namespace: str) -> Iterator[str]:
    """The label of nodes that are the test's own; they are gone afterwards."""
    name = f"pool-{namespace}"
    yield name
    cluster.client.delete(f"/api/v1/namespaces/{namespace}/pods")
    cluster.client.delete(f"/api/v1/nodes?labelSelector={POOL}%3D{name}")


def settled(
    cluster: Cluster, namespace: str, node: dict[str, Any], pods: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """The pods once they are bound to the node, created one after the other."""
    cluster.client.create(node)
    label = {POOL: node["metadata"]["labels"][POOL]}
    for number, pod in enumerate(pods):
        named = {**pod["metadata"], "name": f"p-{number}"}
        spec = {**pod["spec"], "nodeSelector": label}
        cluster.client.create({**pod, "metadata": named, "spec": spec}, namespace)
        bound(cluster, namespace, number + 1)
    found = bound(cluster, namespace, len(pods))
    return sorted(found, key=lambda one: str(one["metadata"]["name"]))


@EACH
@pytest.mark.usefixtures("extender")
def test_its_late_settings_follow_the_node(
    cluster: Cluster, namespace: str, pool: str, version: str
) -> None:
    """The keys that its marker calls late, and no other; its rails stay those of admission."""
    one = marked.read(marked.FOLDER / f"{version}.yaml")["whole"]
    node = nodes.node(pool, AZURE, nodes.HARDWARE, **{POOL: pool})
    (pod,) = settled(cluster, namespace, node, [one.pod])
    before, after = one.pod["metadata"]["annotations"], pod["metadata"]["annotations"]
    assert {ORDERING: "1"} == {
        key: text
        for key, text in after.items()
        if key != names.PLACEMENT and text != before.get(key)
    }
    assert (pool, list(range(8))) == (placement(pod)["node"], placement(pod)["rails"])


@EACH
@pytest.mark.usefixtures("extender")
def test_its_late_networks_are_those_that_are_free(
    cluster: Cluster, namespace: str, pool: str, version: str
) -> None:
    """Four pods with two rails each share none, though admission gave all the first two."""
    one = marked.read(marked.FOLDER / f"{version}.yaml")["late"]
    node = nodes.node(pool, nodes.ALIGNED, nodes.HARDWARE, **{POOL: pool})
    pods = settled(cluster, namespace, node, [one.pod] * 4)
    rails = [placement(pod)["rails"] for pod in pods]
    assert list(range(8)) == sorted(rail for some in rails for rail in some)
    assert [",".join(f"default/rail{rail}@rail{rail}" for rail in some) for some in rails] == [
        pod["metadata"]["annotations"][names.NETWORKS] for pod in pods
    ]
    assert {one.injected} == {pod["metadata"]["annotations"][names.INJECTED] for pod in pods}

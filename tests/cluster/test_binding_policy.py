"""The policy on Bindings at a real API server: who writes what into a pod by binding it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import builders
import pytest
from controlplane import policed
from controlplane.client import Answer, Client
from controlplane.installed import DEPLOY, Installed, eventually
from controlplane.plane import Cluster

from podrail import names

pytestmark = pytest.mark.cluster
NODE = "aligned-0"
OURS = {
    names.PLACEMENT: "{}",
    names.NCCL_CONF: "NCCL_DEBUG=INFO\n",
    f"{names.ENV_PREFIX}NCCL_IB_TC": "106",
    names.NETWORKS: "team/rail0",
}


@pytest.fixture(scope="module")
def own(cluster: Cluster, installed: Installed) -> Iterator[Client]:
    """The API server as podrail-extender, while the policy is in force."""
    del installed
    with policed.policed(cluster, DEPLOY / "extender" / "policy-binding.yaml"):
        yield policed.client(cluster, "podrail-extender")


@pytest.fixture
def pod(cluster: Cluster, own: Client, namespace: str) -> str:
    """The path of a pod that nobody schedules, with the policy known to the API server."""
    del own
    cluster.client.create(builders.document(fabric=None, schedulerName="nobody"), namespace)
    path = f"/api/v1/namespaces/{namespace}/pods/worker-0"
    eventually(lambda: refused(bind(cluster.client, path, OURS, dry=True)), "the policy is known")
    return path


def bind(
    client: Client, pod: str, annotations: dict[str, str] | None, *, dry: bool = False
) -> Answer:
    """The answer to a Binding of the pod."""
    return client.call("POST", f"{pod}/binding{'?dryRun=All' if dry else ''}", binding(annotations))


def binding(annotations: dict[str, str] | None) -> dict[str, Any]:
    """The Binding of the pod to a node."""
    metadata = {"name": "worker-0"} | ({} if annotations is None else {"annotations": annotations})
    target = {"apiVersion": "v1", "kind": "Node", "name": NODE}
    return {"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": target}


def refused(answer: Answer) -> bool:
    """Whether the policy refuses, in its words."""
    return answer.status == 403 and "podrail-binding" in answer.message


@pytest.mark.usefixtures("own")
def test_its_expressions_have_types(cluster: Cluster) -> None:
    """By the schema of a Binding."""
    assert [] == policed.warnings(cluster, "podrail-binding")


def test_the_extender_writes_its_annotations_with_the_node(
    cluster: Cluster, own: Client, pod: str
) -> None:
    """All four families, in the write that binds the pod."""
    answer = bind(own, pod, OURS)
    assert 201 == answer.status, answer.message
    bound = cluster.client.get(pod)
    assert (NODE, OURS) == (bound["spec"]["nodeName"], bound["metadata"]["annotations"])


@pytest.mark.parametrize(
    "key",
    ["cni.projectcalico.org/ipAddrs", names.INJECTED, names.OBSERVED, "v1.multus-cni.io/default-network"],
)  # fmt: skip
def test_the_extender_writes_nothing_else(own: Client, pod: str, key: str) -> None:
    """Whoever has its token can choose a node, and no address, default network or report."""
    assert refused(bind(own, pod, {**OURS, key: "x"}, dry=True))


@pytest.mark.parametrize("key", [key for key in OURS if key != names.NETWORKS])
def test_nobody_else_writes_podrails_annotations(cluster: Cluster, pod: str, key: str) -> None:
    """Nor by the older way, past pods/binding; the cluster's admin included."""
    assert refused(bind(cluster.client, pod, {key: "x"}, dry=True))
    older = f"{pod.removesuffix('/pods/worker-0')}/bindings?dryRun=All"
    assert refused(cluster.client.call("POST", older, binding({key: "x"})))


@pytest.mark.parametrize(
    "annotations", [None, {}, {"other.io/key": "x"}], ids=["none", "empty", "a stranger's"]
)
def test_other_bindings_are_nobodys_business(
    cluster: Cluster, pod: str, annotations: dict[str, str] | None
) -> None:
    """As kube-scheduler makes them, and as another scheduler might."""
    assert 201 == bind(cluster.client, pod, annotations, dry=True).status

"""The node agent at a real API server, with the rights of deploy/ and a token of its node's pod."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import commands
import kubelet_socket
import machines
import placing
import pytest
from commands import Child
from controlplane.client import Answer, Client
from controlplane.installed import ROOT, documents, eventually
from controlplane.plane import Cluster
from machines import Machine

from podrail.evidence import noderails

pytestmark = pytest.mark.cluster
SPACE = "podrail-system"
OWN, OTHER = "agent-node", "agent-other"
FOLDER = "/apis/podrail.dev/v1alpha1/noderails"
APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
MANAGED = "fieldManager=podrail-nodeagent&force=true"


@pytest.fixture(scope="module")
def authority(cluster: Cluster) -> Path:
    """The API server's CA."""
    return cluster.folder / "certs" / "apiserver.crt"


@pytest.fixture(scope="module")
def token(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """What the kubelet gives a pod of the DaemonSet: bound to the pod, so to its node."""
    client = cluster.client
    client.try_create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}})
    (crd,) = documents(ROOT / "deploy/crds/noderails.yaml")
    assert client.try_create(crd).status in {201, 409}
    for one in documents(ROOT / "deploy/nodeagent/rbac.yaml"):
        assert client.try_create(one, SPACE).status in {201, 409}
    for name in (OWN, OTHER):
        client.try_create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
    eventually(lambda: client.call("GET", FOLDER).status == 200, "NodeRails are served")
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "agent"},
        "spec": {
            "nodeName": OWN,
            "serviceAccountName": "podrail-nodeagent",
            "containers": [{"name": "c", "image": "x"}],
        },
    }
    made = client.create(pod, SPACE)
    reference = {"kind": "Pod", "apiVersion": "v1", "name": "agent", "uid": made["metadata"]["uid"]}
    asked = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"boundObjectRef": reference, "expirationSeconds": 3600},
    }
    path = f"/api/v1/namespaces/{SPACE}/serviceaccounts/podrail-nodeagent/token"
    found = tmp_path_factory.mktemp("token") / "token"
    found.write_text(client.call("POST", path, asked).body["status"]["token"])
    yield found
    client.delete(f"/api/v1/namespaces/{SPACE}/pods/agent?gracePeriodSeconds=0")
    for name in (OWN, OTHER):
        client.delete(f"/api/v1/nodes/{name}")


@pytest.fixture(scope="module")
def own(cluster: Cluster, token: Path, authority: Path) -> Client:
    """Calls with that token, once the policies are in force."""
    found = Client("127.0.0.1", cluster.port, authority.read_text(), token.read_text())
    eventually(lambda: denied(annotated(found, OTHER)), "the policies are in force")
    return found


def annotated(client: Client, node: str) -> Answer:
    """The answer to an apply of the annotation."""
    metadata = {"name": node, "annotations": {"podrail.dev/free-rails": "0" * 16}}
    body = {"apiVersion": "v1", "kind": "Node", "metadata": metadata}
    return client.call("PATCH", f"/api/v1/nodes/{node}?{MANAGED}", body, APPLY)


def denied(answer: Answer) -> bool:
    """Whether a policy of ours has refused it, not a missing right."""
    return answer.status == 403 and "a node agent" in answer.message


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A DGX H100."""
    return machines.made(tmp_path, placing.SHAPES["dgx-h100"], vfs=1)


@pytest.fixture
def child(
    cluster: Cluster, machine: Machine, token: Path, authority: Path, tmp_path: Path
) -> Iterator[Child]:
    """An agent on that machine, whose node is the pod's; its memory is looked at."""
    variables = {
        "PODRAIL_LISTEN": "127.0.0.1:0",
        "PODRAIL_SERVER": f"https://127.0.0.1:{cluster.port}",
        "PODRAIL_TOKEN_FILE": str(token),
        "PODRAIL_CA_FILE": str(authority),
        "PODRAIL_NODE": OWN,
        "PODRAIL_SYS": str(machine.sys),
        "PODRAIL_PROC": str(machine.proc),
        "PODRAIL_POD_RESOURCES": str(tmp_path / "kubelet.sock"),
        "PODRAIL_KUBELET_CONFIG": str(tmp_path / "none.yaml"),
    }
    with (
        kubelet_socket.serving(tmp_path / "kubelet.sock"),
        commands.weighed(tmp_path / "run", "podrail-nodeagent", **variables) as running,
    ):
        yield running


def status(cluster: Cluster) -> dict[str, Any]:
    """The status as stored."""
    answer = cluster.client.call("GET", f"{FOLDER}/{OWN}")
    return dict(answer.body.get("status") or {}) if answer.status == 200 else {}


@pytest.mark.usefixtures("own")
def test_an_agent_writes_its_node_and_what_happens_to_it(
    cluster: Cluster, machine: Machine, child: Child
) -> None:
    """Object, annotation, a port that goes down; nothing is pruned, an admin's spec stays."""
    child.eventually(lambda: bool(status(cluster)))
    override = {"spec": {"override": {"nics": [{"hca": "mlx5_0", "rail": 0, "role": "rail"}]}}}
    assert 200 == cluster.client.call("PATCH", f"{FOLDER}/{OWN}", override, MERGE).status
    machine.port(3, state="1: DOWN")
    child.eventually(lambda: status(cluster)["nics"][3].get("state") == "down")
    whole = cluster.client.get(f"{FOLDER}/{OWN}")
    assert override["spec"] == whole["spec"]
    found = noderails.read(whole)
    assert ("shared", 12, "PortDown") == (
        found.host.rdma_netns,
        len(found.host.ports),
        found.troubles[0].code,
    )
    node = f"/api/v1/nodes/{OWN}"
    child.eventually(
        lambda: "podrail.dev/free-rails" in cluster.client.get(node)["metadata"]["annotations"]
    )
    held = Path(f"/proc/{child.process.pid}/status").read_text().partition("VmHWM:")[2].split()[0]
    print(f"{int(held) / 1024:.1f} MiB with TLS", file=sys.stderr)
    assert int(held) <= 30 * 1024
    assert 0 == child.stop()
    assert "Traceback" not in child.errors


def test_an_agent_may_touch_nothing_of_another_node(own: Client, cluster: Cluster) -> None:
    """Neither the Node nor its object."""
    assert denied(annotated(own, OTHER))
    body = {"apiVersion": "podrail.dev/v1alpha1", "kind": "NodeRails"}
    made = {**body, "metadata": {"name": OTHER}, "spec": {}}
    assert denied(own.call("POST", FOLDER, made))
    assert 201 == cluster.client.try_create(made).status
    applied = {**body, "metadata": {"name": OTHER}, "status": {"source": "sysfs"}}
    path = f"{FOLDER}/{OTHER}/status?{MANAGED}"
    assert denied(own.call("PATCH", path, applied, APPLY))
    cluster.client.delete(f"{FOLDER}/{OTHER}")


@pytest.mark.parametrize(
    "change",
    [
        {"metadata": {"labels": {"node-role.kubernetes.io/control-plane": ""}}},
        {"metadata": {"annotations": {"other.io/key": "x"}}},
        {"metadata": {"annotations": {"kept": None}}},
        {"spec": {"unschedulable": True}},
        {"spec": {"taints": [{"key": "x", "effect": "NoSchedule"}]}},
    ],
    ids=["label", "annotation", "deletion", "cordon", "taint"],
)
def test_an_agent_changes_one_annotation_of_its_node(
    own: Client, cluster: Cluster, change: dict[str, Any]
) -> None:
    """Whatever the role would let it do."""
    path = f"/api/v1/nodes/{OWN}"
    cluster.client.call("PATCH", path, {"metadata": {"annotations": {"kept": "y"}}}, MERGE)
    assert denied(own.call("PATCH", path, change, MERGE))
    assert 200 == annotated(own, OWN).status

"""The demo's cluster and jobs, and a scheduler that knows kube-scheduler's default rules."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from podrail import fit, quantity

Document = dict[str, Any]

ALIGNED: Final = "podrail-aligned"
CROSSED: Final = "podrail-crossed"
NAMESPACE: Final = "demo"
JOBS: Final = 2
WORKERS: Final = 4
_EACH: Final = 8
_DEVICES: Final = {
    "nvidia.com/gpu": "8",
    "nvidia.com/rdma-vf": "8",
    "rdma/hca_shared_devices_a": "1000",
    **{f"nvidia.com/rail{rail}": "1" for rail in range(8)},
}
_CORES: Final = 192


def objects() -> list[Document]:
    """All that is there before the first job."""
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    return [namespace, *networks(), *nodes(), *others()]


def networks() -> list[Document]:
    """The networks of the fabric, each of which hands out the device of its rail."""
    return [
        {
            "apiVersion": "k8s.cni.cncf.io/v1",
            "kind": "NetworkAttachmentDefinition",
            "metadata": {
                "name": f"rail{rail}",
                "namespace": "default",
                "annotations": {"k8s.v1.cni.cncf.io/resourceName": f"nvidia.com/rail{rail}"},
            },
            "spec": {"config": '{"cniVersion":"1.0.0","type":"sriov"}'},
        }
        for rail in range(8)
    ]


def nodes() -> list[Document]:
    """Sixteen nodes with the same resources: half aligned, half with GPU and NIC apart."""
    return [
        _node(f"{shape.removeprefix('podrail-')}-{number}", shape)
        for shape in (ALIGNED, CROSSED)
        for number in range(_EACH)
    ]


def others() -> list[Document]:
    """Other people's pods, which make the aligned nodes the fuller ones."""
    return [
        {
            **_pod(f"other-{number}", {}),
            "spec": {
                "nodeName": f"aligned-{number}",
                "containers": [_container("web", {"cpu": "64"})],
            },
        }
        for number in range(_EACH)
    ]


def workers(job: int) -> list[Document]:
    """The pods of a training job, as their author wrote them: one label, no networks, no NCCL."""
    labels = {
        "podrail.dev/fabric": "sriov-rails",
        "batch.kubernetes.io/job-name": f"train-{job}",
    }
    limits = {"nvidia.com/gpu": "8", "cpu": "32", "memory": "256Gi"}
    return [
        {
            **_pod(f"train-{job}-{number}", labels),
            "spec": {"restartPolicy": "Never", "containers": [_container("train", limits)]},
        }
        for number in range(WORKERS)
    ]


def default_score(node: Document, pods: Sequence[Document]) -> int:
    """NodeResourcesFit's default, LeastAllocated, over CPU: the emptier, the better."""
    name = node["metadata"]["name"]
    used = sum(_cores(pod) for pod in pods if pod["spec"].get("nodeName") == name)
    return 100 * (_CORES - used) // _CORES


def feasible(
    pod: Document, all_nodes: Sequence[Document], pods: Sequence[Document]
) -> list[Document]:
    """The nodes with enough free devices for the pod."""
    wanted = fit.asked(pod)
    return [node for node in all_nodes if not fit.shortage(wanted, fit.free(node, _on(node, pods)))]


def best(candidates: Sequence[Document], scores: Mapping[str, int]) -> str:
    """The name of the node with the highest score, the first of several."""
    return max((str(node["metadata"]["name"]) for node in candidates), key=scores.__getitem__)


def _on(node: Document, pods: Sequence[Document]) -> list[Document]:
    return [pod for pod in pods if pod["spec"].get("nodeName") == node["metadata"]["name"]]


def _cores(pod: Document) -> int:
    limits = [container["resources"]["limits"] for container in pod["spec"]["containers"]]
    return sum(quantity.whole(one.get("cpu", 0)) for one in limits)


def _node(name: str, shape: str) -> Document:
    room = {"cpu": str(_CORES), "memory": "2Ti", "pods": "110", **_DEVICES}
    labels = {"kubernetes.io/hostname": name, "node.kubernetes.io/instance-type": shape}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {"allocatable": room, "capacity": room},
    }


def _pod(name: str, labels: Mapping[str, str]) -> Document:
    metadata = {"name": name, "namespace": NAMESPACE, "labels": dict(labels)}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}


def _container(name: str, limits: Mapping[str, str]) -> Document:
    return {"name": name, "image": f"example.invalid/{name}", "resources": {"limits": dict(limits)}}

"""What the programs are asked in the benchmark: about pods of two sizes, and about many nodes.

A pod comes as its operator writes it, and as kube-apiserver shows it to a webhook.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from random import Random
from typing import Any, Final

import builders
from controlplane import nodes

from podrail import names, pod
from podrail.admission import injection

RACK: Final = "topology.kubernetes.io/rack"
BLOCK: Final = "topology.kubernetes.io/block"
GROUP: Final = "kueue.x-k8s.io/pod-group-name"
TOTAL: Final = "kueue.x-k8s.io/pod-group-total-count"
INDEX: Final = "kueue.x-k8s.io/pod-group-pod-index"
PROFILE: Final = "sriov-rails"
NAMESPACE: Final = "team"
UID: Final = "705ab4f5-6393-11e8-b7cc-42010a800002"
_TOKEN: Final = "kube-api-access-x7k2p"
_ROOM: Final = {"cpu": "96", "memory": "1200Gi"}


@dataclass(frozen=True, slots=True)
class Size:
    """How large a pod is: what its containers hold, and the bytes of one long annotation."""

    name: str
    variables: int
    sidecars: int
    annotation: int


SMALL: Final = Size("6 KB", variables=29, sidecars=0, annotation=200)
LARGE: Final = Size("60 KB", variables=143, sidecars=2, annotation=9500)


def written(size: Size) -> dict[str, Any]:
    """A labelled worker with eight GPUs, as its operator creates it."""
    volumes = [
        {"name": "shm", "emptyDir": {"medium": "Memory"}},
        {"name": "data", "persistentVolumeClaim": {"claimName": "data"}},
    ]
    job = "training.kubeflow.org/job-name"
    made = builders.document(
        *_containers(size),
        fabric=PROFILE,
        labels={job: "llm", "training.kubeflow.org/replica-type": "worker"},
        annotations={"team.example.com/notes": "n" * size.annotation},
        restartPolicy="Never",
        volumes=volumes,
    )
    owner = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "name": "llm",
        "uid": "5d3f4e7a-0b7c-4e8b-9b8e-1f2a3b4c5d6e",
        "controller": True,
        "blockOwnerDeletion": True,
    }
    made["metadata"]["ownerReferences"] = [owner]
    return made


def _containers(size: Size) -> list[dict[str, Any]]:
    """The trainer, and its sidecars with as many variables."""
    env = _environment(size.variables)
    trainer = builders.container(
        "pytorch",
        limits=_ROOM,
        requests={"nvidia.com/gpu": "8", **_ROOM},
        command=["torchrun"],
        args=["--nnodes=8", "--nproc_per_node=8", "train.py", "--config=/etc/cfg/run.yaml"],
        env=env,
        volumeMounts=[
            {"name": "shm", "mountPath": "/dev/shm"},
            {"name": "data", "mountPath": "/data"},
        ],
    )
    sides = [
        builders.container(f"side-{number}", gpus=0, limits={"cpu": "1"}, env=env)
        for number in range(size.sidecars)
    ]
    return [trainer, *sides]


def _environment(variables: int) -> list[dict[str, Any]]:
    plain = [{"name": f"VAR_{n}", "value": f"value-of-variable-{n}"} for n in range(variables)]
    address = {"fieldRef": {"apiVersion": "v1", "fieldPath": "status.podIP"}}
    return [*plain, {"name": "POD_IP", "valueFrom": address}]


def shown(size: Size) -> dict[str, Any]:
    """The same pod as a webhook sees it: with defaults, the token's volume and managedFields."""
    made = written(size)
    token = {"name": _TOKEN, "readOnly": True, "mountPath": "/var/run/secrets/token"}
    for one in made["spec"]["containers"]:
        one["volumeMounts"] = [*one.get("volumeMounts", ()), token]
        one |= {
            "terminationMessagePath": "/dev/termination-log",
            "terminationMessagePolicy": "File",
            "imagePullPolicy": "Always",
        }
    source = {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}}
    made["spec"]["volumes"].append({"name": _TOKEN, "projected": {"sources": [source]}})
    made["spec"] |= {
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "serviceAccountName": "default",
        "schedulerName": "default-scheduler",
        "enableServiceLinks": True,
        "securityContext": {},
    }
    made["metadata"] |= {"namespace": NAMESPACE, "managedFields": [_managed(made)]}
    made["status"] = {}
    return made


def _managed(made: dict[str, Any]) -> dict[str, Any]:
    """Who wrote which field; for env there is an entry a variable."""
    containers: dict[str, Any] = {
        f'k:{{"name":"{one["name"]}"}}': {
            ".": {},
            "f:image": {},
            "f:env": {
                f'k:{{"name":"{variable["name"]}"}}': {".": {}, "f:name": {}, "f:value": {}}
                for variable in one["env"]
            },
        }
        for one in made["spec"]["containers"]
    }
    return {
        "manager": "training-operator",
        "operation": "Update",
        "apiVersion": "v1",
        "time": "2026-11-30T02:00:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {"f:containers": containers}},
    }


def review(size: Size) -> bytes:
    """The AdmissionReview of the pod's creation."""
    kind = {"group": "", "version": "v1", "kind": "Pod"}
    resource = {"group": "", "version": "v1", "resource": "pods"}
    request = {
        "uid": UID,
        "kind": kind,
        "resource": resource,
        "requestKind": kind,
        "requestResource": resource,
        "namespace": NAMESPACE,
        "operation": "CREATE",
        "userInfo": {
            "username": "system:serviceaccount:kubeflow:training-operator",
            "groups": ["system:serviceaccounts", "system:authenticated"],
        },
        "object": shown(size),
        "oldObject": None,
        "dryRun": False,
        "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
    }
    return _compact(
        {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request}
    )


def creation(size: Size) -> bytes:
    """The body that creates the pod at an API server."""
    return _compact(written(size))


def arguments(count: int) -> bytes:
    """ExtenderArgs with names only: the small pod, injected, and every node."""
    return question(_waiting(), [name(number) for number in range(count)])


def others(count: int, pods: int) -> list[bytes]:
    """The same for so many other pods, each with the names in an order of its own.

    kube-scheduler looks at so many nodes at a time, several times in parallel, and names those
    that pass as they come (v1.36.3: chunkSizeFor, findNodesThatPassFilters).
    """
    chance, waiting, bodies = Random(count), _waiting(), list[bytes]()
    chunk = int(count**0.5)
    for number in range(pods):
        chunks = [range(at, min(at + chunk, count)) for at in range(0, count, chunk)]
        chance.shuffle(chunks)
        metadata = waiting["metadata"] | {"name": f"other-{number}", "uid": f"uid-{number}"}
        named = [name(one) for some in chunks for one in some]
        bodies.append(question({**waiting, "metadata": metadata}, named))
    return bodies


def question(waiting: dict[str, Any], named: list[str]) -> bytes:
    """ExtenderArgs as kube-scheduler marshals them, of a pod and the nodes that are left for it."""
    return _compact({"Pod": waiting, "Nodes": None, "NodeNames": named})


def _waiting() -> dict[str, Any]:
    """The small pod, injected, as the API server keeps it."""
    found = pod.read(shown(SMALL), NAMESPACE)
    made: dict[str, Any] = json.loads(
        json.dumps(injection.inject(found, builders.shipped()[PROFILE]).pod.document)
    )
    assert names.INJECTED in made["metadata"]["annotations"]
    made["metadata"] |= {"uid": UID, "resourceVersion": "7"}
    return made


def cluster(count: int) -> list[dict[str, Any]]:
    """So many nodes, of two shapes in turn, in leaves of 16 and blocks of 128."""
    shapes = (nodes.ALIGNED, nodes.CROSSED)
    return [
        nodes.node(
            name(n), shapes[n % 2], nodes.HARDWARE, **{RACK: f"r{n // 16}", BLOCK: f"b{n // 128}"}
        )
        for n in range(count)
    ]


def name(number: int) -> str:
    """The name of a node."""
    return f"gpu-node-{number:05d}"


def stranger(number: int, node: int, gpus: int) -> dict[str, Any]:
    """A bound pod that takes GPUs of a node and has not opted in."""
    return builders.document(
        builders.container(gpus=gpus), fabric=None, name=f"other-{number}", nodeName=name(node)
    )


def running(number: int, node: int) -> dict[str, Any]:
    """A bound pod that podrail placed, of a job of 64 pods."""
    fabric = builders.shipped()[PROFILE]
    document = builders.document(
        builders.container(gpus=8),
        fabric=PROFILE,
        name=f"running-{number}",
        labels={GROUP: f"job-{number // 64}", INDEX: str(number % 64)},
        annotations={TOTAL: "64"},
    )
    admitted = injection.inject(pod.read(document, NAMESPACE), fabric).pod.document
    made: dict[str, Any] = json.loads(json.dumps(admitted))
    placed = {"v": 1, "rails": list(range(8)), "gpuSets": [{"gpus": list(range(8)), "p": 1.0}]}
    made["metadata"]["annotations"][names.PLACEMENT] = json.dumps(placed)
    made["spec"]["nodeName"] = name(node)
    return made


def _compact(document: object) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()

"""The objects that measure: two Jobs for each pair, and an MPIJob over all nodes.

They opt in by the label as any pod does, so it is podrail's own work that is measured. They end by
themselves: a deadline, no second try, and a time after which the cluster removes them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from podrail import names
from podrail.fabric import Attachment, Profile
from podrail.verification import plan, script
from podrail.verification.plan import Pair

Document = dict[str, Any]
SERVICE: Final = "podrail-verify"
ROUND: Final = "podrail-verify-round"
"""Label: the round of a Job."""
LAST: Final = "podrail-verify-last"
"""Label: what is applied when all rounds have ended."""
APP: Final = {"app.kubernetes.io/name": SERVICE}
MPI: Final = "kubeflow.org/v2beta1"
KEPT_SECONDS: Final = 3600
_HOST: Final = "kubernetes.io/hostname"
_FLAGS: Final[Mapping[str, str]] = {
    "NCCL_IB_GID_INDEX": "-x",
    "NCCL_IB_TC": "--tclass",
    "NCCL_IB_SL": "--sl",
}
"""ib_write_bw's option for what the profile sets for NCCL."""


@dataclass(frozen=True, slots=True)
class Order:
    """What to measure, with what, where; seconds is how long a round may take."""

    profile: Profile
    image: str
    nodes: tuple[str, ...]
    namespace: str = "default"
    seconds: int = 1800
    tag: str = ""
    """What tells the objects of one run from those of another; they stay for an hour."""

    @property
    def called(self) -> str:
        """The name of the run, with which the names of all its objects begin."""
        return f"{SERVICE}-{self.tag}" if self.tag else SERVICE

    @property
    def labels(self) -> dict[str, str]:
        """The labels that only the objects of this run have."""
        return {**APP, "app.kubernetes.io/instance": self.called}

    @property
    def host_network(self) -> bool:
        """True if the pods are on the host's network."""
        return self.profile.attachment is Attachment.HOST_NETWORK


def service(order: Order, owner: Mapping[str, str] | None = None) -> Document:
    """The headless Service by which the pods of a pair find each other; gone with its owner."""
    metadata: Document = {
        "name": order.called,
        "namespace": order.namespace,
        "labels": order.labels,
    }
    if owner:
        metadata["ownerReferences"] = [{"apiVersion": "batch/v1", "kind": "Job", **owner}]
    spec = {"clusterIP": "None", "selector": order.labels, "publishNotReadyAddresses": True}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}


def jobs(order: Order) -> tuple[Document, ...]:
    """The Jobs of all rounds, in their order; one for the node itself if it is alone."""
    found = plan.pairs(order.nodes)
    if not found:
        return tuple(_job(order, Pair(one, "", 1), 0, "server") for one in order.nodes)
    return tuple(
        _job(order, pair, number, role)
        for number, pair in enumerate(found)
        for role in ("server", "client")
    )


def _job(order: Order, pair: Pair, number: int, role: str) -> Document:
    mine, other = (pair.server, pair.client) if role == "server" else (pair.client, pair.server)
    peer = f"{_called(order, number, 'server')}.{order.called}.{order.namespace}.svc"
    # A pod alone has nobody to measure against.
    alone = not pair.client or plan.unmeasured(order.profile)
    env = {
        "NODE": mine,
        "ROLE": role,
        "PEER": peer,
        "PEER_NODE": other,
        "GPUS": str(order.profile.rails.gpus),
        "RAILS": "none" if alone else " ".join(plan.rails(order.profile)),
        "FLAGS": " ".join(_flags(order.profile)),
    }
    name = _called(order, number, role)
    labels = {**order.labels, ROUND: str(pair.round)}
    pod = {
        "restartPolicy": "Never",
        "hostname": name,
        "subdomain": order.called,
        "nodeSelector": {_HOST: mine},
        **_host(order),
        "containers": [_container(order, ["sh", "-c", script.TEXT], env)],
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": order.namespace, "labels": labels},
        "spec": {
            "backoffLimit": 0,
            "activeDeadlineSeconds": order.seconds,
            "ttlSecondsAfterFinished": KEPT_SECONDS,
            "template": {"metadata": {"labels": _opted(order, labels)}, "spec": pod},
        },
    }


def _called(order: Order, number: int, role: str) -> str:
    return f"{order.called}-{number}-{role}"


def _opted(order: Order, labels: Mapping[str, str]) -> dict[str, str]:
    return {**labels, names.FABRIC: order.profile.name}


def _host(order: Order) -> Document:
    if not order.host_network:
        return {}
    return {"hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet"}


def _flags(profile: Profile) -> Iterator[str]:
    for setting in profile.settings:
        if setting.name in _FLAGS and not setting.value.startswith("-"):
            yield f"{_FLAGS[setting.name]} {setting.value}"


def _container(order: Order, command: Sequence[str], env: Mapping[str, str]) -> Document:
    gpus = {order.profile.gpu_resources[0]: str(order.profile.rails.gpus)}
    return {
        "name": "measure",
        "image": order.image,
        "command": list(command),
        "env": [{"name": key, "value": value} for key, value in env.items()],
        "resources": {"limits": gpus},
    }


def mpi_job(order: Order) -> Document:
    """all_reduce_perf over all GPUs of all nodes, for the MPI operator."""
    replicas = {
        "Launcher": {"replicas": 1, "template": {"spec": _launcher(order)}},
        "Worker": {
            "replicas": len(order.nodes),
            "template": {
                "metadata": {"labels": _opted(order, order.labels)},
                "spec": _worker(order),
            },
        },
    }
    return {
        "apiVersion": MPI,
        "kind": "MPIJob",
        "metadata": {
            "name": order.called,
            "namespace": order.namespace,
            "labels": {**order.labels, LAST: "true"},
        },
        "spec": {
            "slotsPerWorker": order.profile.rails.gpus,
            "runPolicy": {
                "cleanPodPolicy": "Running",
                "activeDeadlineSeconds": order.seconds,
                "ttlSecondsAfterFinished": KEPT_SECONDS,
            },
            "mpiReplicaSpecs": replicas,
        },
    }


def _launcher(order: Order) -> Document:
    gpus = order.profile.rails.gpus
    run = (
        f"mpirun --allow-run-as-root -np {gpus * len(order.nodes)} --map-by ppr:{gpus}:node "
        "--bind-to none all_reduce_perf -b 1G -e 8G -f 2 -g 1 -w 2 -n 10"
    )
    return {"containers": [{"name": "launch", "image": order.image, "command": ["sh", "-c", run]}]}


def _worker(order: Order) -> Document:
    return {
        "affinity": _on(order.nodes),
        **_host(order),
        "containers": [_container(order, ["/usr/sbin/sshd", "-De"], {})],
    }


def _on(nodes: Sequence[str]) -> Document:
    expression = {"key": _HOST, "operator": "In", "values": list(nodes)}
    return {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [expression]}]
            }
        }
    }

"""NodeRails (podrail.dev/v1alpha1): what the node agent saw, and what an admin knows better.

The fields are those of design §11. `fields` reads spec and status and nothing else of the object,
so that the schema of the custom resource comes from it (podrail.schema).
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from podrail.evidence import devices, merge
from podrail.reading import Reader, shown
from podrail.topology import Evidence, Topology

KIND: Final = "NodeRails"
API_VERSION: Final = "podrail.dev/v1alpha1"
MOST_ALLOCATIONS: Final = 2048
MOST_VFS: Final = 256
MOST_TROUBLES: Final = 64
MOST_QUEUES: Final = 4096
MOST_FLOWS: Final = 1 << 30


class Verdict(StrEnum):
    """Whether a NIC reads and writes GPU memory on this node."""

    PROVEN = "proven"
    POSSIBLE = "possible"
    NO = "no"


@dataclass(frozen=True, slots=True)
class Kubelet:
    """The TopologyManager's policy, scope and policy options, as the kubelet spells them."""

    policy: str = ""
    scope: str = ""
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Allocation:
    """A device that a container holds (PodResources gives no UID)."""

    resource: str
    device: str
    namespace: str
    pod: str
    container: str


@dataclass(frozen=True, slots=True)
class Port:
    """What an RDMA device offers: its GID types (IB, RoCE v1, RoCE v2) and its VFs' addresses."""

    hca: str
    gids: tuple[str, ...] = ()
    vfs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Netdev:
    """An interface of the host: its receive queues, and how many have CPUs (RPS), flows (RFS)."""

    name: str
    queues: int
    rps: int
    rfs: int


@dataclass(frozen=True, slots=True)
class Host:
    """What the host gives its pods; empty is unknown.

    rdma_netns is shared or exclusive, memlock the bytes that may be locked or unlimited, flows
    net.core.rps_sock_flow_entries.
    """

    rdma_netns: str = ""
    memlock: str = ""
    gpu_driver: str = ""
    ports: tuple[Port, ...] = ()
    netdevs: tuple[Netdev, ...] = ()
    flows: int | None = None


@dataclass(frozen=True, slots=True)
class Trouble:
    """What is wrong with a device, or with the node if it names none: a fixed code, a sentence."""

    code: str
    device: str
    message: str


@dataclass(frozen=True, slots=True)
class NodeRails:
    """The object: two topologies, and what else the agent saw."""

    name: str
    override: Topology | None = None
    observed: Topology | None = None
    source: str = ""
    observed_at: str = ""
    boot_id: str = ""
    kubelet: Kubelet = field(default_factory=Kubelet)
    gpudirect: Verdict | None = None
    gpudirect_reasons: tuple[str, ...] = ()
    allocations: tuple[Allocation, ...] = ()
    host: Host = field(default_factory=Host)
    troubles: tuple[Trouble, ...] = ()

    @property
    def topology(self) -> Topology | None:
        """What is known of the node: the observation, corrected by the override."""
        return merge.merge(one for one in (self.override, self.observed) if one is not None)


def read(document: object, place: str = KIND) -> NodeRails:
    """The object that a document holds.

    Raises:
        MalformedError: with every problem.
    """
    top = Reader.of(document, place)
    for key, expected in (("apiVersion", API_VERSION), ("kind", KIND)):
        if top.raw(key) != expected:
            top.wrong(key, f"expected {expected}, got {shown(top.raw(key))}")
    metadata = top.part("metadata")
    metadata.required("name")
    found = fields(top, metadata.text("name"))
    top.close()
    top.finish(KIND)
    return found


def fields(top: Reader, name: str = "") -> NodeRails:
    """What spec and status say, with a problem for each thing that is wrong."""
    spec, status = top.part("spec"), top.part("status")
    override = spec.part("override")
    kubelet, gpudirect = status.part("kubelet"), status.part("gpudirect")
    host = status.part("host")
    _counts(status.part("summary"))
    found = NodeRails(
        name=name,
        override=devices.read(override, Evidence.OVERRIDE),
        observed=devices.read(status, Evidence.NODERAILS),
        source=status.text("source", limit=32),
        observed_at=status.text("observedAt", limit=40),
        boot_id=status.text("bootID", limit=64),
        kubelet=Kubelet(
            kubelet.text("policy", limit=64),
            kubelet.text("scope", limit=64),
            kubelet.texts("options", 16),
        ),
        gpudirect=_verdict(gpudirect),
        gpudirect_reasons=gpudirect.texts("reasons", 16, size=1024),
        allocations=tuple(
            _allocation(one) for one in status.parts("allocations", MOST_ALLOCATIONS)
        ),
        host=_host(host),
        troubles=tuple(_trouble(one) for one in status.parts("troubles", MOST_TROUBLES)),
    )
    for part in (spec, override, status, kubelet, gpudirect, host):
        part.close()
    return found


def _counts(part: Reader) -> None:
    """Counts are for listings, since a printer column cannot count; the lists say it anyway."""
    part.integer("gpus", 0, 0, devices.MOST_GPUS)
    part.integer("rails", 0, 0, devices.MOST_NICS)
    part.close()


def _verdict(part: Reader) -> Verdict | None:
    return None if part.raw("verdict") is None else part.choice("verdict", Verdict.NO)


def _allocation(part: Reader) -> Allocation:
    found = Allocation(
        part.text("resource"),
        part.text("deviceID"),
        part.text("namespace", limit=63),
        part.text("pod"),
        part.text("container", limit=63),
    )
    part.close()
    return found


def _host(part: Reader) -> Host:
    return Host(
        rdma_netns=part.text("rdmaNetns", limit=16),
        memlock=part.text("memlock", limit=20),
        gpu_driver=part.text("gpuDriver", limit=64),
        ports=tuple(_port(one) for one in part.parts("ports", devices.MOST_NICS)),
        netdevs=tuple(_netdev(one) for one in part.parts("netdevs", devices.MOST_NICS)),
        flows=_flows(part),
    )


def _port(part: Reader) -> Port:
    found = Port(
        part.text("hca", limit=64),
        part.texts("gids", 4, size=16),
        part.texts("vfs", MOST_VFS, size=16),
    )
    part.close()
    return found


def _netdev(part: Reader) -> Netdev:
    counts = (part.integer(key, 0, 0, MOST_QUEUES) for key in ("queues", "rps", "rfs"))
    found = Netdev(part.text("name", limit=64), *counts)
    part.close()
    return found


def _flows(part: Reader) -> int | None:
    known = part.raw("rpsSockFlowEntries") is not None
    found = part.integer("rpsSockFlowEntries", 0, 0, MOST_FLOWS)
    return found if known else None


def _trouble(part: Reader) -> Trouble:
    found = Trouble(
        part.text("code", limit=64), part.text("device", limit=128), part.text("message", limit=512)
    )
    part.close()
    return found


def document(found: NodeRails) -> dict[str, Any]:
    """The object as the API server takes it; what is unknown is left out."""
    status: dict[str, Any] = {
        "source": found.source,
        "observedAt": found.observed_at,
        "bootID": found.boot_id,
        "kubelet": {
            "policy": found.kubelet.policy,
            "scope": found.kubelet.scope,
            "options": list(found.kubelet.options),
        },
        **({} if found.observed is None else _observed(found.observed)),
        "allocations": [_allocated(one) for one in found.allocations],
        "host": devices.said(_hosted(found.host)),
        "troubles": [
            {"code": one.code, "device": one.device, "message": one.message}
            for one in found.troubles
        ],
    }
    if found.gpudirect is not None:
        reasons = list(found.gpudirect_reasons)
        status["gpudirect"] = {"verdict": found.gpudirect.value, "reasons": reasons}
    override = {} if found.override is None else {"override": devices.document(found.override)}
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {"name": found.name},
        "spec": override,
        "status": devices.said(status),
    }


def _hosted(host: Host) -> dict[str, Any]:
    return {
        "rdmaNetns": host.rdma_netns,
        "memlock": host.memlock,
        "gpuDriver": host.gpu_driver,
        "ports": [
            devices.said({"hca": one.hca, "gids": list(one.gids), "vfs": list(one.vfs)})
            for one in host.ports
        ],
        "netdevs": [
            {"name": one.name, "queues": one.queues, "rps": one.rps, "rfs": one.rfs}
            for one in host.netdevs
        ],
        "rpsSockFlowEntries": host.flows,
    }


def _observed(topology: Topology) -> dict[str, Any]:
    summary = {"gpus": len(topology.gpus), "rails": len(topology.rails)}
    return {"summary": summary, **devices.document(topology)}


def _allocated(one: Allocation) -> dict[str, str]:
    return {
        "resource": one.resource,
        "deviceID": one.device,
        "namespace": one.namespace,
        "pod": one.pod,
        "container": one.container,
    }

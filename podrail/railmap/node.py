"""A node: its GPUs and NICs, how far each pair is apart, and who holds what."""

from collections.abc import Mapping
from dataclasses import dataclass

from podrail import alignment
from podrail.locality import Place
from podrail.railmap.machine import Machine, Use, Voice
from podrail.railmap.tenant import Tenant
from podrail.topology import Topology


@dataclass(frozen=True, slots=True)
class Gpu:
    """A GPU and the pods that hold it; numa is None where it is not known."""

    index: int
    numa: int | None
    product: str
    healthy: bool
    pods: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Nic:
    """An RDMA device; rail is None for one that is no rail, state is empty where unknown."""

    name: str
    rail: int | None
    numa: int | None
    state: str
    gbps: int | None
    netdev: str
    pci: str
    resource: str
    role: str
    pods: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """A GPU and the NIC, by position, that it does best with when all GPUs are at work."""

    gpu: int
    nic: int
    tier: str


@dataclass(frozen=True, slots=True)
class Switch:
    """The GPUs and the NICs, by position, below one PCIe switch."""

    gpus: tuple[int, ...]
    nics: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Held:
    """A pod of the node, and how its rails are known."""

    pod: str
    profile: str
    job: str
    gpus: tuple[int, ...]
    rails: tuple[int, ...]
    known_by: str
    outcome: str


@dataclass(frozen=True, slots=True)
class Trouble:
    """What the agent finds wrong."""

    code: str
    device: str
    message: str


@dataclass(frozen=True, slots=True)
class Host:
    """What the agent says of the node as a whole."""

    agent: Voice
    observed_at: float | None
    kubelet_policy: str
    kubelet_scope: str
    gpudirect: str
    problem: str
    """Why what the agent wrote cannot be read."""
    troubles: tuple[Trouble, ...]


@dataclass(frozen=True, slots=True)
class Node:
    """The view. tiers[g][n] is empty where the distance is not known."""

    name: str
    place: Place
    use: Use
    count: int
    free: int
    cordoned: bool
    evidence: str
    gpus: tuple[Gpu, ...]
    nics: tuple[Nic, ...]
    tiers: tuple[tuple[str, ...], ...]
    pairs: tuple[Pair, ...]
    switches: tuple[Switch, ...]
    host: Host
    pods: tuple[Held, ...]


def of(one: Machine) -> Node:
    """The view of a machine."""
    topology = one.topology
    return Node(
        name=one.node.name,
        place=one.node.place,
        use=one.use,
        count=one.gpus,
        free=one.free,
        cordoned=one.node.cordoned,
        evidence=one.evidence.value,
        gpus=() if topology is None else _gpus(topology, one.holders),
        nics=() if topology is None else _nics(topology, one),
        tiers=() if topology is None else _tiers(topology),
        pairs=() if topology is None else _pairs(topology),
        switches=() if topology is None else tuple(Switch(*both) for both in topology.groups),
        host=_host(one),
        pods=tuple(_held(tenant) for tenant in one.tenants),
    )


def _gpus(topology: Topology, holders: Mapping[int, tuple[str, ...]]) -> tuple[Gpu, ...]:
    return tuple(
        Gpu(at, numa, topology.card(at).product, topology.card(at).healthy, holders.get(at, ()))
        for at, numa in enumerate(topology.gpus)
    )


def _nics(topology: Topology, one: Machine) -> tuple[Nic, ...]:
    pods = {rail.number: rail.pods for rail in one.rails}
    return tuple(
        Nic(
            name=nic.name,
            rail=nic.rail,
            numa=nic.numa,
            state="" if nic.state is None else nic.state.value,
            gbps=nic.gbps,
            netdev=nic.netdev,
            pci=nic.pci,
            resource=nic.resource,
            role="" if nic.role is None else nic.role.value,
            pods=() if nic.rail is None else pods.get(nic.rail, ()),
        )
        for nic in topology.nics
    )


def _tiers(topology: Topology) -> tuple[tuple[str, ...], ...]:
    return tuple(
        tuple("" if tier is None else tier.value for tier in row) for row in topology.tiers
    )


def _pairs(topology: Topology) -> tuple[Pair, ...]:
    if not topology.gpus or not topology.rails:
        return ()
    gpus = tuple(range(len(topology.gpus)))
    rails = alignment.best(topology, gpus, topology.rails).rails
    return tuple(_pair(topology, gpu, rail) for gpu, rail in zip(gpus, rails, strict=True))


def _pair(topology: Topology, gpu: int, rail: int) -> Pair:
    """With the nearest of the rail's NICs."""
    tier, row = topology.tier(gpu, rail), topology.tiers[gpu]
    nic = next(at for at, nic in enumerate(topology.nics) if nic.rail == rail and row[at] is tier)
    return Pair(gpu, nic, "" if tier is None else tier.value)


def _host(one: Machine) -> Host:
    agent = one.agent
    if agent is None:
        return Host(one.voice, None, "", "", "", "", ())
    return Host(
        agent=one.voice,
        observed_at=None if agent.sight is None else agent.sight.observed_at,
        kubelet_policy=agent.kubelet.policy,
        kubelet_scope=agent.kubelet.scope,
        gpudirect=agent.gpudirect,
        problem=agent.why,
        troubles=tuple(Trouble(it.code, it.device, it.message) for it in agent.troubles),
    )


def _held(tenant: Tenant) -> Held:
    subject, pod = tenant.pod.subject, tenant.pod
    promise = None if subject is None else subject.promise
    return Held(
        pod=pod.key,
        profile="" if promise is None else promise.profile,
        job="" if pod.job is None else pod.job.key,
        gpus=tenant.gpus,
        rails=tenant.rails,
        known_by="" if tenant.by is None else tenant.by.value,
        outcome="" if tenant.report is None else tenant.report.outcome.value,
    )

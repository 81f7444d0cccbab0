"""A node on the map: the condition of each of its rails, who holds what, what is left.

A rail is down if all of its ports are, degraded if one is down or suspect; who holds it is told
all the same. A node is fragmented if some of its GPUs are held and some are free.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from podrail.evidence.atlas import Atlas, Said
from podrail.railmap.facts import Agent, Node
from podrail.railmap.tenant import Tenant
from podrail.topology import Evidence, State, Topology


class Condition(StrEnum):
    """How a rail of a node stands."""

    FREE = "free"
    HELD = "held"
    DEGRADED = "degraded"
    DOWN = "down"


class Use(StrEnum):
    """How much of a node is taken."""

    FREE = "free"
    FRAGMENTED = "fragmented"
    FULL = "full"
    NONE = "no GPUs"


class Voice(StrEnum):
    """Whether a node's agent is heard."""

    FRESH = "fresh"
    SILENT = "silent"
    BROKEN = "unreadable"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Rail:
    """A rail of a node, the pods that have it, and the agent's code for what is wrong."""

    number: int
    condition: Condition
    pods: tuple[str, ...] = ()
    cause: str = ""


@dataclass(frozen=True, slots=True)
class Machine:
    """A node with all that is on it. gpus is what it has to give, free what nobody asked for."""

    node: Node
    agent: Agent | None = None
    voice: Voice = Voice.NEVER
    topology: Topology | None = None
    """With all of its devices, as far as they are known."""
    evidence: Evidence = Evidence.NONE
    rails: tuple[Rail, ...] = ()
    tenants: tuple[Tenant, ...] = ()
    gpus: int = 0
    free: int = 0
    holders: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    """The pods that hold each GPU, as far as they are known."""

    @property
    def use(self) -> Use:
        """How much of it is taken."""
        if not self.gpus:
            return Use.NONE
        if self.free <= 0:
            return Use.FULL
        return Use.FREE if self.free >= self.gpus else Use.FRAGMENTED

    def count(self, condition: Condition) -> int:
        """How many of its rails are in a condition."""
        return sum(rail.condition is condition for rail in self.rails)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the cluster's nodes have in common: known machine types, and what counts as a GPU."""

    atlas: Atlas
    gpu_resources: Collection[str]


def of(
    node: Node, agent: Agent | None, voice: Voice, tenants: Sequence[Tenant], around: Surroundings
) -> Machine:
    """The machine; without an agent its devices are those of its machine type."""
    known = None if agent is None else agent.topology
    topology = known or around.atlas.find(Said(node.labels)).topology
    gpus = sum(count for name, count in node.devices if name in around.gpu_resources)
    asked = [one for tenant in tenants for one in tenant.pod.asked]
    taken = sum(count for name, count in asked if name in around.gpu_resources)
    return Machine(
        node=node,
        agent=agent,
        voice=voice,
        topology=topology,
        evidence=Evidence.NONE if topology is None else topology.evidence,
        rails=_rails(topology, agent, tenants),
        tenants=tuple(tenants),
        gpus=gpus,
        free=max(gpus - taken, 0),
        holders=_by_device((tenant.pod.key, tenant.gpus) for tenant in tenants),
    )


def voice(agent: Agent | None, now: float, stale: float) -> Voice:
    """Whether the agent is heard at a time; an admin's override alone has no voice."""
    if agent is None:
        return Voice.NEVER
    if agent.why:
        return Voice.BROKEN
    if agent.sight is None or agent.sight.observed_at is None:
        return Voice.NEVER
    return Voice.SILENT if now - agent.sight.observed_at > stale else Voice.FRESH


def _by_device(held: Iterable[tuple[str, tuple[int, ...]]]) -> Mapping[int, tuple[str, ...]]:
    found: dict[int, list[str]] = defaultdict(list)
    for key, devices in held:
        for device in devices:
            found[device].append(key)
    return {device: tuple(keys) for device, keys in found.items()}


def _rails(
    topology: Topology | None, agent: Agent | None, tenants: Sequence[Tenant]
) -> tuple[Rail, ...]:
    if topology is None:
        return ()
    pods = _by_device((tenant.pod.key, tenant.rails) for tenant in tenants)
    ports: dict[int, list[State | None]] = defaultdict(list)
    for nic in topology.nics:
        if nic.rail is not None:
            ports[nic.rail].append(nic.state)
    causes = _causes(topology, agent)
    return tuple(
        Rail(
            number,
            _condition(some, held=number in pods),
            pods.get(number, ()),
            causes.get(number, ""),
        )
        for number, some in sorted(ports.items())
    )


def _condition(ports: Sequence[State | None], *, held: bool) -> Condition:
    if all(port is State.DOWN for port in ports):
        return Condition.DOWN
    if State.DOWN in ports or State.SUSPECT in ports:
        return Condition.DEGRADED
    return Condition.HELD if held else Condition.FREE


def _causes(topology: Topology, agent: Agent | None) -> Mapping[int, str]:
    codes = {one.device: one.code for one in (() if agent is None else reversed(agent.troubles))}
    named = ((nic.rail, codes.get(nic.name)) for nic in topology.nics)
    return {rail: code for rail, code in named if rail is not None and code}

"""The whole map at one moment, made of what watches know; what did not change is not made anew."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, NamedTuple

from podrail.audit import outcome
from podrail.audit.outcome import Ours
from podrail.evidence.atlas import Atlas
from podrail.railmap import machine, tenant
from podrail.railmap.facts import Agent, Node, Pod
from podrail.railmap.machine import Machine, Surroundings
from podrail.railmap.tenant import Tenant
from podrail.topology import Topology

_DIGITS: Final = re.compile(r"([0-9]+)")


@dataclass(frozen=True, slots=True)
class Facts:
    """What watches know, by name or namespace/name; spaces has the fabric of a namespace."""

    nodes: Mapping[str, Node]
    pods: Mapping[str, Pod]
    agents: Mapping[str, Agent] = field(default_factory=dict)
    spaces: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Scene:
    """The map. Machines are by block and leaf, then by name; jobs have their bound pods."""

    at: float
    machines: Mapping[str, Machine]
    tenants: Mapping[str, Tenant]
    jobs: Mapping[str, tuple[Tenant, ...]]
    waiting: tuple[Pod, ...]
    """The injected pods that have no node yet, by key."""
    own: tuple[Pod, ...]
    """The pods of podrail's own programs, by key."""


EMPTY: Final = Scene(0.0, {}, {}, {}, (), ())


class _Tenancy(NamedTuple):
    """What a tenant was made of."""

    pod: Pod
    agent: Agent | None
    fabric: str
    made: Tenant


class _Building(NamedTuple):
    """What a machine was made of."""

    node: Node
    agent: Agent | None
    voice: machine.Voice
    tenants: tuple[Tenant, ...]
    made: Machine


class Drafter:
    """Draws one scene after another. Not thread-safe: its owner locks."""

    def __init__(self, shapes: Mapping[str, Topology], stale_seconds: float) -> None:
        self._atlas = Atlas(shapes)
        self._stale = stale_seconds
        self._ours: Ours | None = None
        self._tenants: dict[str, _Tenancy] = {}
        self._machines: dict[str, _Building] = {}
        self._nodes: Mapping[str, Node] = {}
        self._names: tuple[str, ...] = ()
        """The nodes that were there last, and their names in order."""

    def draw(self, facts: Facts, ours: Ours, now: float) -> Scene:
        """The scene at a time, in seconds since the epoch."""
        if ours != self._ours:
            self._ours, self._tenants, self._machines = ours, {}, {}
        self._tenants = {
            key: self._tenancy(key, pod, facts, ours) for key, pod in facts.pods.items() if pod.node
        }
        tenants = {key: one.made for key, one in self._tenants.items()}
        there = _by_node(tenants.values())
        around = Surroundings(self._atlas, ours.gpus)
        self._machines = {
            name: self._building(node, facts.agents.get(name), there.get(name, ()), around, now)
            for name, node in facts.nodes.items()
        }
        if facts.nodes != self._nodes:
            self._nodes = facts.nodes
            self._names = tuple(sorted(facts.nodes, key=lambda name: _order(facts.nodes[name])))
        return Scene(
            at=now,
            machines={name: self._machines[name].made for name in self._names},
            tenants=tenants,
            jobs=_jobs(tenants.values()),
            waiting=tuple(_sorted(one for one in facts.pods.values() if one.document is not None)),
            own=tuple(_sorted(one for one in facts.pods.values() if one.component)),
        )

    def _tenancy(self, key: str, pod: Pod, facts: Facts, ours: Ours) -> _Tenancy:
        agent, fabric = facts.agents.get(pod.node), facts.spaces.get(key.partition("/")[0], "")
        before = self._tenants.get(key)
        if before and before.pod is pod and before.agent is agent and before.fabric == fabric:
            return before
        sight = None if agent is None else agent.sight
        subject = pod.subject
        report = None if subject is None else outcome.judge(subject, sight, ours, fabric)
        return _Tenancy(pod, agent, fabric, tenant.of(pod, sight, report))

    def _building(
        self,
        node: Node,
        agent: Agent | None,
        there: tuple[Tenant, ...],
        around: Surroundings,
        now: float,
    ) -> _Building:
        heard = machine.voice(agent, now, self._stale)
        before = self._machines.get(node.name)
        if (
            before
            and (before.node is node and before.agent is agent and before.voice is heard)
            and before.tenants == there
        ):
            return before
        made = machine.of(node, agent, heard, there, around)
        return _Building(node, agent, heard, there, made)


@lru_cache(maxsize=65_536)
def natural(text: str) -> tuple[tuple[int, str], ...]:
    """The key by which a person would sort names with numbers in them."""
    return tuple((int(one), "") if one.isdecimal() else (-1, one) for one in _DIGITS.split(text))


def _order(one: Node) -> tuple[object, ...]:
    place = one.place
    # Where a node is not known, it comes last.
    return (*((not name, natural(name)) for name in place.names[:4]), natural(one.name))


def _sorted(pods: Iterable[Pod]) -> list[Pod]:
    return sorted(pods, key=lambda pod: natural(pod.key))


def _by_node(tenants: Iterable[Tenant]) -> Mapping[str, tuple[Tenant, ...]]:
    found: dict[str, list[Tenant]] = defaultdict(list)
    for one in tenants:
        found[one.pod.node].append(one)
    return {name: tuple(some) for name, some in found.items()}


def _jobs(tenants: Iterable[Tenant]) -> Mapping[str, tuple[Tenant, ...]]:
    found: dict[str, list[Tenant]] = defaultdict(list)
    for one in tenants:
        if one.pod.job is not None:
            found[one.pod.job.key].append(one)
    return {key: tuple(sorted(found[key], key=_rank)) for key in sorted(found, key=natural)}


def _rank(one: Tenant) -> tuple[object, ...]:
    index = None if one.pod.job is None else one.pod.job.index
    return (index is None, index or 0, natural(one.pod.key))

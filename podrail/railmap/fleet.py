"""The fleet: nodes and their rails by block and leaf, a page at a time, and what they come to."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby
from typing import Final

from podrail.railmap import paging
from podrail.railmap.machine import Condition, Machine, Rail, Use, Voice
from podrail.railmap.paging import Paging
from podrail.railmap.scene import Scene

UNKNOWN: Final = "-"
"""How a query names the block or leaf that is not known."""


class Show(StrEnum):
    """Which nodes are asked for."""

    ALL = "all"
    FREE = "free"
    FRAGMENTED = "fragmented"
    FULL = "full"
    DOWN = "down"
    DEGRADED = "degraded"
    SILENT = "silent"


@dataclass(frozen=True, slots=True)
class Query:
    """What is asked for: nodes of a block, of a leaf, with a part of a name, of a kind."""

    block: str = ""
    leaf: str = ""
    name: str = ""
    show: Show = Show.ALL
    page: int = 1


@dataclass(frozen=True, slots=True)
class Line:
    """A node; rails has those that it has, by their numbers."""

    name: str
    use: Use
    gpus: int
    free: int
    rails: tuple[Rail, ...]
    agent: Voice
    evidence: str
    cordoned: bool


@dataclass(frozen=True, slots=True)
class Group:
    """The nodes of a leaf that are on the page."""

    block: str
    leaf: str
    nodes: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Sum:
    """What some nodes come to."""

    nodes: int
    use: Mapping[str, int]
    rails: Mapping[str, int]
    silent: int


@dataclass(frozen=True, slots=True)
class Block:
    """A block and its leaves; the name is empty where no label tells it."""

    name: str
    leaves: int
    sum: Sum


@dataclass(frozen=True, slots=True)
class Fleet:
    """The view. numbers has every rail of the cluster's nodes."""

    query: Query
    sum: Sum
    blocks: tuple[Block, ...]
    numbers: tuple[int, ...]
    paging: Paging
    groups: tuple[Group, ...]


@dataclass(frozen=True, slots=True)
class Overview:
    """What does not depend on the question, made once a scene."""

    sum: Sum
    blocks: tuple[Block, ...]
    numbers: tuple[int, ...]


_SHOWN: Final[Mapping[Show, Callable[[Machine], bool]]] = {
    Show.FREE: lambda one: one.use is Use.FREE,
    Show.FRAGMENTED: lambda one: one.use is Use.FRAGMENTED,
    Show.FULL: lambda one: one.use is Use.FULL,
    Show.DOWN: lambda one: one.count(Condition.DOWN) > 0,
    Show.DEGRADED: lambda one: one.count(Condition.DEGRADED) > 0,
    Show.SILENT: lambda one: one.voice is Voice.SILENT,
}


def overview(scene: Scene) -> Overview:
    """The sums of all nodes that have GPUs or rails; others are no part of the fleet."""
    blocks: dict[str, list[Machine]] = defaultdict(list)
    for one in _members(scene):
        blocks[one.node.place.block].append(one)
    return Overview(
        sum=_sum(_members(scene)),
        blocks=tuple(
            Block(name, len({one.node.place.leaf for one in some}), _sum(some))
            for name, some in blocks.items()
        ),
        numbers=tuple(sorted({rail.number for one in _members(scene) for rail in one.rails})),
    )


def of(scene: Scene, whole: Overview, query: Query) -> Fleet:
    """The page of the fleet that is asked for."""
    found = [one for one in _members(scene) if _asked(one, query)]
    page, part = paging.cut(found, query.page)
    groups = tuple(
        Group(*where, tuple(_line(one) for one in some)) for where, some in groupby(part, _where)
    )
    return Fleet(query, whole.sum, whole.blocks, whole.numbers, page, groups)


def _members(scene: Scene) -> Iterable[Machine]:
    return (one for one in scene.machines.values() if one.gpus or one.rails)


def _asked(one: Machine, query: Query) -> bool:
    place = one.node.place
    return (
        query.block in {"", place.block or UNKNOWN}
        and query.leaf in {"", place.leaf or UNKNOWN}
        and query.name in one.node.name
        and (query.show is Show.ALL or _SHOWN[query.show](one))
    )


def _where(one: Machine) -> tuple[str, str]:
    return one.node.place.block, one.node.place.leaf


def _line(one: Machine) -> Line:
    return Line(
        name=one.node.name,
        use=one.use,
        gpus=one.gpus,
        free=one.free,
        rails=one.rails,
        agent=one.voice,
        evidence=one.evidence.value,
        cordoned=one.node.cordoned,
    )


def _sum(machines: Iterable[Machine]) -> Sum:
    use: Counter[str] = Counter()
    rails: Counter[str] = Counter()
    silent = 0
    for one in machines:
        use[one.use.value] += 1
        rails.update(rail.condition.value for rail in one.rails)
        silent += one.voice is Voice.SILENT
    return Sum(
        nodes=use.total(),
        use={one.value: use[one.value] for one in Use},
        rails={one.value: rails[one.value] for one in Condition},
        silent=silent,
    )

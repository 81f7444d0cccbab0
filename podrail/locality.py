"""Where a node is, as its labels tell, and how close two nodes are.

Levels lie within each other. What is not known is neutral: it never makes a node far, nor near.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from types import MappingProxyType
from typing import Final

from podrail.landmarks import SHIPPED, Family, Landmarks

Labels = Mapping[str, str]


class Level(IntEnum):
    """The levels of a cluster, from wide to close."""

    ZONE = 0
    FABRIC = 1
    """One RDMA network: an island, a core layer, a placement group."""
    BLOCK = 2
    """The leaves below one spine."""
    LEAF = 3
    """The nodes whose rails end at the same leaf switches."""
    DOMAIN = 4
    """The nodes on one NVLink."""


SAME: Final[Mapping[Level, float]] = MappingProxyType(
    {
        Level.DOMAIN: 1.0,
        Level.LEAF: 0.9,
        Level.BLOCK: 0.7,
        Level.FABRIC: 0.4,
        Level.ZONE: 0.2,
    }
)
"""How close two nodes are whose closest common level is this one; without any it is 0."""
NEUTRAL: Final = 0.5
APART: Final[Mapping[Level, float]] = MappingProxyType(
    {level: SAME[Level(level - 1)] if level else 0.0 for level in Level}
)
"""The closest that two nodes can be which differ at this level: far only in different zones."""


@dataclass(frozen=True, slots=True)
class Place:
    """A node's place: a name for each level, empty where it is not known.

    A leaf's name holds its block's and fabric's, since racks are called 1 in every hall.
    """

    zone: str = ""
    fabric: str = ""
    block: str = ""
    leaf: str = ""
    domain: str = ""
    family: str = field(default="", compare=False)
    """Whose keys named the leaf or the block."""

    @property
    def names(self) -> tuple[str, str, str, str, str]:
        """The names by level."""
        return (self.zone, self.fabric, self.block, self.leaf, self.domain)


NOWHERE: Final = Place()


def of(labels: Labels, landmarks: Landmarks = SHIPPED) -> Place:
    """The place that a node's labels name.

    Of several families the one that names the closest levels counts, the first of equals. A
    fabric that it does not name is the first other family's that does.
    """
    named = [(family, _named(labels, family, landmarks)) for family in landmarks.families]
    family, (leaf, block, fabric) = max(
        named,
        key=lambda one: tuple(map(bool, one[1])),
        default=(Family(""), ("", "", "")),
    )
    return Place(
        zone=_first(labels, landmarks.zone, landmarks),
        fabric=fabric or next((names[2] for _, names in named if names[2]), ""),
        block=_within(fabric, block),
        leaf=_within(fabric, block, leaf),
        domain=_first(labels, landmarks.domain, landmarks),
        family=family.name if leaf or block else "",
    )


def closeness(one: Place, other: Place) -> float:
    """How close two places are, from 0 to 1: NEUTRAL, kept within what is known for sure.

    They are at least as close as the closest level that they share, and at most as close as the
    level around the widest one at which they differ. Where labels contradict, the first counts.
    """
    least, most = 0.0, SAME[Level.DOMAIN]
    for level, here, there in zip(Level, one.names, other.names, strict=True):
        if not here or not there:
            continue
        if here == there:
            least = SAME[level]
        elif most == SAME[Level.DOMAIN]:
            most = APART[level]
    return max(least, min(NEUTRAL, most))


def _named(labels: Labels, family: Family, landmarks: Landmarks) -> tuple[str, str, str]:
    """The names of leaf, block and fabric that a family's keys give."""
    if family.ladder:
        rungs = [text for key in family.ladder if (text := _text(labels, key, landmarks))]
        leaf, block, fabric = (*rungs, "", "", "")[:3]
        return leaf, block, fabric
    return (
        _first(labels, family.leaf, landmarks),
        _first(labels, family.block, landmarks),
        _first(labels, family.fabric, landmarks),
    )


def _first(labels: Labels, keys: tuple[str, ...], landmarks: Landmarks) -> str:
    return next((text for key in keys if (text := _text(labels, key, landmarks))), "")


def _text(labels: Labels, key: str, landmarks: Landmarks) -> str:
    text = labels.get(key, "")
    return "" if text.lower() in landmarks.unknown else text


def _within(*names: str) -> str:
    """The name of the last with those around it; empty if the last has none."""
    return "/".join(filter(None, names)) if names[-1] else ""

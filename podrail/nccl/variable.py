"""What is known of one environment variable: since when it is read, how, and who may set it."""

import re
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import ip_network
from typing import Final

_PLAIN: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,18})")
_NAME: Final = re.compile(r"[A-Za-z0-9_.:-]+")
MOST: Final = 2**63 - 1


class Group(StrEnum):
    """The section of NCCL's manual (docs/userguide/source/env.rst, 2.30.7)."""

    SYSTEM = "system"
    DEBUGGING = "debugging"
    """Said there not to be for production: may be slow, crash or hang."""
    NONE = "none"
    """In the sources only, or not NCCL's."""


class Who(StrEnum):
    """Who may have it written into pods."""

    ALWAYS = "always"
    """Any profile, wherever the pod has none of its own."""
    PLATFORM = "platform"
    """The profile of a fabric whose administrator knows the value."""
    OPT_IN = "opt-in"
    """An administrator's workaround, never a shipped default."""
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number in a range."""

    low: int
    high: int = MOST

    def __str__(self) -> str:
        """The values that mean something."""
        return f"a whole number from {self.low}" + (f" to {self.high}" if self.high < MOST else "")

    def fits(self, value: str) -> bool:
        """True for a plain decimal number of the range; NCCL takes 010 for 8."""
        return bool(_PLAIN.fullmatch(value)) and self.low <= int(value) <= self.high


@dataclass(frozen=True, slots=True)
class Words:
    """One of some words, whose case does not matter if they fold."""

    allowed: tuple[str, ...]
    fold: bool = False

    def __str__(self) -> str:
        """The values that mean something."""
        return f"one of {', '.join(self.allowed)}"

    def fits(self, value: str) -> bool:
        """True for one of the words."""
        return (value.upper() if self.fold else value) in self.allowed


@dataclass(frozen=True, slots=True)
class Names:
    """A list of names: NCCL's with ^, = and prefixes, or of whole names only."""

    most: int
    prefixes: bool = True

    def __str__(self) -> str:
        """The values that mean something."""
        if self.prefixes:
            return f"1 to {self.most} names joined by commas without blanks, after ^ and then ="
        return f"1 to {self.most} whole names joined by commas without blanks, ^ or ="

    def fits(self, value: str) -> bool:
        """True for a list of which NCCL understands every name."""
        bare = value.removeprefix("^").removeprefix("=") if self.prefixes else value
        parts = bare.split(",")
        return len(parts) <= self.most and all(map(_NAME.fullmatch, parts))


@dataclass(frozen=True, slots=True)
class Range:
    """A range of addresses."""

    def __str__(self) -> str:
        """The values that mean something."""
        return "a range of addresses such as 10.0.0.0/8"

    def fits(self, value: str) -> bool:
        """True for an address, a slash and the length of a prefix in digits."""
        try:
            ip_network(value, strict=False)
        except ValueError:
            return False
        return value.partition("/")[2].isdecimal()


@dataclass(frozen=True, slots=True)
class Text:
    """A value that cannot be checked without the machine it is for."""

    what: str

    def __str__(self) -> str:
        """The values that mean something."""
        return self.what

    def fits(self, value: str) -> bool:  # noqa: ARG002 - the other grammars look at it
        """True, since nothing is known."""
        return True


Grammar = Whole | Words | Names | Range | Text


@dataclass(frozen=True, slots=True)
class Variable:
    """One variable; the effect is that of a bad value, as a clause."""

    name: str
    since: str
    grammar: Grammar
    group: Group
    who: Who
    effect: str


Row = tuple[str, str, Grammar, Who, str]
"""A variable in a table of one group: name, first release, grammar, who, effect.

Of NCCL's releases 2.3.5 is the oldest with sources, so it stands for that one or an earlier one.
"""

PATH: Final = Text("a path")
FREE: Final = Text("a text")
GONE: Final = Text("nothing: no release since 2.5 reads it")
CIDR: Final = Range()
SWITCH: Final = Whole(0, 1)
LEVEL: Final = Words(("LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS"))
"""Distances that a limit may name (src/graph/topo.cc, topoPathTypeStr up to PATH_SYS, 2.30.7)."""

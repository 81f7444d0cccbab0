"""What other health systems say of a node's rails: annotations of the Node that run out.

`podrail.dev/health.<system>` holds a JSON list of
`{"rail": 3 | "device": "mlx5_3", "state": "suspect"|"down", "until": RFC 3339, "why": "..."}`.
Each system has a key of its own, so that none overwrites another. A mark without an end is refused:
what nobody renews must not outlive its reason.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from podrail.errors import Problem
from podrail.names import HEALTH_PREFIX
from podrail.reading import Reader
from podrail.topology import Nic, State

MOST_MARKS: Final = 64
MOST_RAIL: Final = 127
LONGEST_SECONDS: Final = 24 * 3600
"""A mark holds for a day at most, whatever its end."""


class Say(StrEnum):
    """What a system may say of a rail."""

    SUSPECT = "suspect"
    DOWN = "down"


@dataclass(frozen=True, slots=True)
class Mark:
    """What a system says of a rail or a device; until is in seconds since the epoch."""

    system: str
    rail: int | None
    device: str
    state: State
    until: float
    why: str

    def concerns(self, nic: Nic) -> bool:
        """Whether the mark is about the NIC."""
        if self.rail is not None:
            return nic.rail == self.rail
        return self.device in {nic.device, nic.netdev, nic.pci}

    def holds(self, now: float) -> bool:
        """Whether the mark has not run out."""
        return now < self.until <= now + LONGEST_SECONDS


def read(annotations: Mapping[str, str]) -> tuple[tuple[Mark, ...], tuple[Problem, ...]]:
    """The marks, run out or not, and what is wrong with those that are left out."""
    problems: list[Problem] = []
    found: list[Mark] = []
    for key in sorted(annotations):
        if key.startswith(HEALTH_PREFIX):
            found += _of(key, annotations[key], problems)
    return tuple(found), tuple(problems)


def holding(found: Iterable[Mark], now: float) -> tuple[Mark, ...]:
    """Those that have not run out; now is in seconds since the epoch."""
    return tuple(one for one in found if one.holds(now))


def _of(key: str, text: str, problems: list[Problem]) -> list[Mark]:
    try:
        listed = json.loads(text)
    except (ValueError, RecursionError):
        problems.append(Problem(key, "expected a JSON list"))
        return []
    own: list[Problem] = []
    parts = Reader.of({"marks": listed}, key, own).parts("marks", MOST_MARKS)
    marks = []
    for part in parts:
        before = len(own)
        mark = _mark(part, key.removeprefix(HEALTH_PREFIX))
        if len(own) == before:
            marks.append(mark)
    problems += own
    return marks


def _mark(part: Reader, system: str) -> Mark:
    rail = None if part.raw("rail") is None else part.integer("rail", 0, 0, MOST_RAIL)
    device = part.text("device", limit=64)
    if (rail is None) == (not device):
        part.wrong("rail", "expected either rail or device")
    for key in ("state", "until"):
        part.required(key)
    state = State.DOWN if part.choice("state", Say.SUSPECT) is Say.DOWN else State.SUSPECT
    mark = Mark(system, rail, device, state, _time(part), part.text("why", limit=256))
    part.close()
    return mark


def _time(part: Reader) -> float:
    text = part.text("until", limit=40)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        part.wrong("until", f"expected a time as in 2026-11-30T10:00:00Z, got {text!r}")
        return 0.0
    return moment.timestamp()

"""What has been said of a pod already: read from the annotation that says it.

The annotation is all that the controller remembers, so that one that starts anew says nothing
twice. Of its text a digest is kept: the text itself would take most of the memory.
"""

import hashlib
import json
from dataclasses import dataclass
from typing import Final

from podrail import names
from podrail.audit import unique
from podrail.reading import Reader

MOST_TIMES: Final = 2**31 - 1
"""What an Event's count holds."""
MOST_OUTCOMES: Final = 8
_OUTCOME: Final = 64
_TIME: Final = 40


@dataclass(frozen=True, slots=True)
class Times:
    """How often an outcome was told by an event, and when for the first time (RFC 3339)."""

    outcome: str
    count: int
    first: str


@dataclass(frozen=True, slots=True)
class Told:
    """The last report: its number, its outcome, the events so far, the digest of its text."""

    number: int = 0
    outcome: str = ""
    times: tuple[Times, ...] = ()
    digest: bytes = b""

    def again(self, outcome: str, now: str) -> "Times":
        """The times of an outcome once it is told once more."""
        before = next((one for one in self.times if one.outcome == outcome), None)
        if before is None:
            return Times(outcome, 1, now)
        return Times(outcome, min(before.count + 1, MOST_TIMES), before.first)


NOTHING: Final = Told()


def read(text: str | None) -> Told:
    """What an annotation says; nothing if it is not ours, or of another version."""
    try:
        top = Reader.of(json.loads(text or ""), names.OBSERVED)
    except (ValueError, RecursionError):
        return NOTHING
    found = Told(
        number=top.integer("n", 0, 0, MOST_TIMES),
        outcome=unique.one(top.text("outcome", limit=_OUTCOME)),
        times=tuple(_times(one) for one in top.parts("told", MOST_OUTCOMES)),
        digest=digest(text or ""),
    )
    return found if top.raw("v") == names.FORMAT_VERSION and not top.problems else NOTHING


def digest(text: str) -> bytes:
    """What tells a text from any other."""
    return hashlib.blake2b(text.encode(errors="replace"), digest_size=8).digest()


def _times(part: Reader) -> Times:
    return Times(
        unique.one(part.text("outcome", limit=_OUTCOME)),
        part.integer("count", 1, 1, MOST_TIMES),
        part.text("first", limit=_TIME),
    )

"""The two markers that podrail leaves on a pod (design §11): what was injected, where it was put.

Compact JSON with sorted keys, at most names.MARKER_BYTES; a marker that would be longer loses its
reasons' messages first, then the reasons. A marker is an account, never a security boundary.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from podrail import names
from podrail.reading import Reader


class Outcome(StrEnum):
    """What admission did."""

    INJECTED = "injected"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Reason:
    """One thing that a reader should know: a fixed code, the field it is about, a sentence."""

    code: str
    path: str
    message: str


@dataclass(frozen=True, slots=True)
class Attached:
    """A network of ours: its position in the annotation, its NAD, interface and rail."""

    index: int
    name: str
    interface: str
    rail: int | None


_NONE: Final[Mapping[str, int]] = MappingProxyType({})


class Injected(NamedTuple):
    """The admission marker. A named tuple: each rule makes a new one, and that has to be cheap."""

    profile: str
    generation: int
    outcome: Outcome = Outcome.INJECTED
    reason: str = ""
    container: str = ""
    rails: tuple[int, ...] = ()
    networks: tuple[Attached, ...] = ()
    resources: Mapping[str, int] = _NONE
    env: tuple[str, ...] = ()
    late: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    reasons: tuple[Reason, ...] = ()

    @property
    def injected(self) -> bool:
        """True if the pod got its rails."""
        return self.outcome is Outcome.INJECTED

    def text(self) -> str:
        """The annotation's value."""
        text = compact(self.document())
        if len(text.encode()) > names.MARKER_BYTES:
            short = tuple(Reason(reason.code, reason.path, "") for reason in self.reasons[:8])
            text = compact(self._replace(reasons=short).document())
        if len(text.encode()) > names.MARKER_BYTES:
            text = compact(self._replace(reasons=(), kept=()).document())
        return text

    def document(self) -> dict[str, Any]:
        """The marker as a document of format version 1."""
        return {
            "v": names.FORMAT_VERSION,
            "outcome": self.outcome.value,
            "reason": self.reason,
            "profile": self.profile,
            "generation": self.generation,
            "container": self.container,
            "rails": self.rails,
            "networks": [
                {"index": net.index, "name": net.name, "interface": net.interface, "rail": net.rail}
                for net in self.networks
            ],
            "resources": dict(self.resources),
            "env": self.env,
            "late": self.late,
            "kept": self.kept,
            "reasons": [
                {"code": reason.code, "path": reason.path, "message": reason.message}
                for reason in self.reasons
            ],
        }


def compact(document: Mapping[str, Any]) -> str:
    """JSON without blanks, keys sorted."""
    return json.dumps(document, separators=(",", ":"), sort_keys=True)


def injected(text: str | None) -> Injected | None:
    """The admission marker in an annotation's value; None if there is none that can be read."""
    return None if text is None else _injected(text)


@lru_cache(maxsize=1024)
def _injected(text: str) -> Injected | None:
    """The same; the pods of a template have equal markers."""
    try:
        top = Reader.of(json.loads(text), names.INJECTED)
    except (ValueError, RecursionError):
        return None
    marker = Injected(
        profile=top.text("profile", limit=63),
        generation=top.integer("generation", 1, 0, 2**53),
        outcome=top.choice("outcome", Outcome.SKIPPED),
        reason=top.text("reason"),
        container=top.text("container"),
        rails=tuple(rail for rail in top.items("rails", 64) if type(rail) is int),
        networks=tuple(_attached(part) for part in top.parts("networks", 64)),
        resources={
            key: value for key, value in top.part("resources").fields.items() if type(value) is int
        },
        env=top.texts("env", 64),
        late=top.texts("late", 64),
        kept=top.texts("kept", 64),
        reasons=tuple(_reason(part) for part in top.parts("reasons", 64)),
    )
    return marker if top.raw("v") == names.FORMAT_VERSION and not top.problems else None


def placed_rails(text: str | None) -> tuple[int, ...]:
    """The rails in a placement marker; none if it cannot be read."""
    try:
        top = Reader.of(json.loads(text or "{}"), names.PLACEMENT)
    except (ValueError, RecursionError):
        return ()
    return tuple(rail for rail in top.items("rails", 64) if type(rail) is int)


def _attached(part: Reader) -> Attached:
    rail = None if part.raw("rail") is None else part.integer("rail", 0, 0, 1023)
    return Attached(
        part.integer("index", 0, 0, 1023), part.text("name"), part.text("interface"), rail
    )


def _reason(part: Reader) -> Reason:
    return Reason(part.text("code"), part.text("path"), part.text("message", limit=4096))

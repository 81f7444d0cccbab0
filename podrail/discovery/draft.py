"""A drafted FabricProfile: its lines, and what a person has to answer."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from podrail import profile
from podrail.discovery.line import Line

LISTS: Final = frozenset({"networks", "resources", "settings"})
"""The fields of the spec of which each element has a line of its own."""
_ORDER: Final = (
    *("description", "attachment", "dialect", "gpuResources", "rails", "networks", "resources"),
    *("requestedBy", "claim", "partial", "confFile", "settings", "extras"),
)


@dataclass(frozen=True, slots=True)
class Draft:
    """A profile for the nodes of one kind."""

    name: str
    machines: str
    """The nodes that it is for, in words."""
    lines: tuple[Line, ...]
    questions: tuple[str, ...] = ()
    """What is open about no single line."""

    @property
    def ordered(self) -> tuple[Line, ...]:
        """The lines in the order of a profile's fields."""
        return tuple(sorted(self.lines, key=lambda line: _ORDER.index(line.part)))

    def document(self) -> dict[str, Any]:
        """The FabricProfile document."""
        spec: dict[str, Any] = {}
        for line in self.ordered:
            if line.part in LISTS:
                spec.setdefault(line.part, []).append(line.value)
                continue
            _, _, inner = line.field.partition(".")
            if inner:
                spec.setdefault(line.part, {})[inner] = line.value
            else:
                spec[line.part] = line.value
        return {
            "apiVersion": profile.API_VERSION,
            "kind": profile.KIND,
            "metadata": {"name": self.name},
            "spec": spec,
        }


@dataclass(frozen=True, slots=True)
class Source:
    """A kind of object that was looked at: how many there are, or why they were not seen."""

    kind: str
    count: int
    unseen: str = ""


@dataclass(frozen=True, slots=True)
class Discovery:
    """The drafts, the sources, and what of the cluster no draft accounts for."""

    drafts: tuple[Draft, ...]
    sources: tuple[Source, ...]
    remarks: tuple[str, ...]

    def document(self) -> Mapping[str, Any]:
        """What `-o json` prints."""
        return {
            "drafts": [_told(one) for one in self.drafts],
            "sources": [
                {"kind": one.kind, "count": one.count, "unseen": one.unseen or None}
                for one in self.sources
            ],
            "remarks": list(self.remarks),
        }


def _told(draft: Draft) -> dict[str, Any]:
    return {
        "profile": draft.document(),
        "machines": draft.machines,
        "lines": [
            {
                "field": line.field,
                "value": line.value,
                "confidence": line.confidence,
                "because": line.because,
                "question": line.question or None,
            }
            for line in draft.ordered
        ],
        "questions": list(draft.questions),
    }

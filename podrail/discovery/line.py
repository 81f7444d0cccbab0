"""One line of a drafted profile: a field or an element, how sure it is, why, and what is open."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from podrail.fabric import Attachment, Partial
from podrail.topology import Confidence

_PARTIAL: Final[Mapping[Partial, str]] = {
    Partial.ALL_RAILS: "devices are not counted out: every pod reaches all rails",
    Partial.SAME_NUMA: "each rail has a resource of its own, so rails can be chosen",
    Partial.PROPORTIONAL: "one pool: the device plugin chooses, podrail counts",
}


@dataclass(frozen=True, slots=True)
class Line:
    """A field below spec, such as rails.count, or an element of a list field, with its value."""

    field: str
    value: Any
    confidence: Confidence
    because: str
    question: str = ""
    """What a person has to look at or answer; empty for nothing."""

    @property
    def part(self) -> str:
        """The field of the spec itself that the line is in."""
        return self.field.partition(".")[0]


def attachment(value: Attachment, confidence: Confidence, because: str, question: str = "") -> Line:
    """How pods get to the devices."""
    return Line("attachment", value.value, confidence, because, question)


def partial(value: Partial) -> Line:
    """What a pod with a part of the GPUs gets; it follows from how devices are handed out."""
    return Line("partial", value.value, Confidence.MEDIUM, _PARTIAL[value])


def rails(
    count: int, because: str, confidence: Confidence = Confidence.HIGH, question: str = ""
) -> Line:
    """How many rails a node has."""
    return Line("rails.count", count, confidence, because, question)


def resource(value: Mapping[str, Any], because: str, question: str = "") -> Line:
    """A resource that pods surely ask for."""
    return Line("resources", value, Confidence.HIGH, because, question)


def counted(name: str, per: str, value: int | str) -> dict[str, Any]:
    """A resource with its count, as a profile has it."""
    return {"name": name, "count": {"per": per, "value": value}}

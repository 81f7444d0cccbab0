"""The conditions of a FabricProfile: can it be read, are its networks there, its resources too.

Ready is false only where a pod would not start or would lack its rails; what merely ought to be
better stands in its message.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from podrail import profile
from podrail.errors import MalformedError
from podrail.marker import Reason
from podrail.multus import lint
from podrail.multus.nad import Isolation, Nad
from podrail.profiles import resource

NETWORKS: Final = frozenset({"NadMissing", "NadUnreachable", "NadMalformed", "ResourceMismatch"})
"""The codes of multus.lint that make NetworksResolved false."""
RESOURCES: Final = frozenset({"ResourceNotAdvertised"})
_DECISIVE: Final = NETWORKS | RESOURCES | {"NobodyPlaces"}
MOST_MESSAGE: Final = 32_768
"""What meta/v1 Condition allows."""


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition, before it has a time."""

    type: str
    status: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Scenery:
    """What is around the profiles: definitions by namespace/name, Node documents, isolation."""

    nads: Mapping[str, Nad]
    nodes: tuple[Mapping[str, Any], ...]
    isolation: Isolation
    placed: bool = True
    """Whether a scheduler asks the extender."""


def of(document: Mapping[str, Any], scenery: Scenery) -> tuple[Condition, ...]:
    """The conditions of a FabricProfile document."""
    try:
        found = profile.read(resource(document))
    except MalformedError as error:
        message = "; ".join(str(problem) for problem in error.problems)
        unknown = ("Unknown", "Malformed", "the profile cannot be read")
        return (
            _condition("Ready", "False", "Malformed", message),
            Condition("NetworksResolved", *unknown),
            Condition("ResourcesAdvertised", *unknown),
        )
    around = (scenery.nads, scenery.nodes, scenery.isolation)
    reasons = lint.check(found, *around, placed=scenery.placed)
    networks = _part("NetworksResolved", "Resolved", reasons, NETWORKS)
    resources = _part("ResourcesAdvertised", "Advertised", reasons, RESOURCES)
    return (_ready(reasons), networks, resources)


def status(
    document: Mapping[str, Any], conditions: Iterable[Condition], now: str
) -> dict[str, Any] | None:
    """The status that the document should have; None if it has it.

    now is the time of those conditions whose status changes, as RFC 3339.
    """
    generation = document["metadata"]["generation"]
    before = document.get("status") or {}
    known = {one["type"]: one for one in before.get("conditions") or ()}
    wanted = [_stamped(one, known.get(one.type), generation, now) for one in conditions]
    same = all(known.get(one["type"]) == one for one in wanted)
    if same and before.get("observedGeneration") == generation:
        return None
    return {"observedGeneration": generation, "conditions": wanted}


def _stamped(
    condition: Condition, before: Mapping[str, Any] | None, generation: int, now: str
) -> dict[str, Any]:
    kept = before is not None and before["status"] == condition.status
    return {
        "type": condition.type,
        "status": condition.status,
        "reason": condition.reason,
        "message": condition.message,
        "observedGeneration": generation,
        "lastTransitionTime": before["lastTransitionTime"] if kept and before else now,
    }


def _ready(reasons: Iterable[Reason]) -> Condition:
    """Every reason in one message; those that decide come first."""
    found = sorted(reasons, key=lambda one: one.code not in _DECISIVE)
    if not found:
        return Condition("Ready", "True", "Sound", "")
    decides = found[0].code in _DECISIVE
    reason = found[0].code if decides else "Warnings"
    return _condition("Ready", "False" if decides else "True", reason, _told(found))


def _part(kind: str, good: str, reasons: Iterable[Reason], codes: frozenset[str]) -> Condition:
    found = [one for one in reasons if one.code in codes]
    if not found:
        return Condition(kind, "True", good, "")
    return _condition(kind, "False", found[0].code, _told(found))


def _told(reasons: Iterable[Reason]) -> str:
    return "; ".join(f"{one.path}: {one.code}: {one.message}" for one in reasons)


def _condition(kind: str, state: str, reason: str, message: str) -> Condition:
    return Condition(kind, state, reason, message[:MOST_MESSAGE])

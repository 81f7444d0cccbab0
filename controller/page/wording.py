"""The words, tones and addresses that several views share."""

from collections.abc import Mapping, Sequence
from typing import Final

from controller.page.sheet import BAD, FAIR, GOOD, PLAIN, Cell
from podrail.audit import record
from podrail.audit.outcome import Outcome
from podrail.railmap.machine import Condition, Use, Voice
from podrail.railmap.paging import Paging
from podrail.topology import Tier
from podrail_io import links

LETTERS: Final[Mapping[Condition, str]] = {
    Condition.FREE: "f",
    Condition.HELD: "H",
    Condition.DEGRADED: "!",
    Condition.DOWN: "X",
}
"""What stands in a rail's box: colour alone tells nobody anything."""
TIERS: Final[Mapping[str, str]] = {
    Tier.PIX: "near",
    Tier.PXB: "near",
    Tier.GROUP: "near",
    Tier.PHB: "middle",
    Tier.NODE: "middle",
    Tier.SYS: "far",
}
_VOICES: Final[Mapping[Voice, str]] = {Voice.FRESH: PLAIN, Voice.NEVER: PLAIN}
_USES: Final[Mapping[Use, str]] = {Use.FREE: "free", Use.FULL: "held", Use.FRAGMENTED: "degraded"}
_OUTCOMES: Final[Mapping[str, str]] = {
    Outcome.ALIGNED: GOOD,
    Outcome.DEGRADED: BAD,
    Outcome.NOT_INJECTED: BAD,
    Outcome.UNSCORED: FAIR,
}


def use(value: Use) -> Cell:
    """How much of a node is taken."""
    return Cell(value.value, _USES.get(value, PLAIN))


def voice(value: Voice) -> Cell:
    """Whether its agent is heard."""
    return Cell(value.value, _VOICES.get(value, FAIR))


def tier(value: str) -> Cell:
    """A distance; empty is unknown."""
    return Cell(value or "?", TIERS.get(value, "unknown"))


def outcome(value: str) -> Cell:
    """An outcome of the controller's reports; empty is none."""
    return Cell(value or "not judged", _OUTCOMES.get(value, PLAIN))


def numbers(some: Sequence[int]) -> str:
    """Ascending numbers in short."""
    return record.ranges(some) or "none known"


def share(value: float | None) -> str:
    """A share in percent."""
    return "not known" if value is None else f"{value:.0%}"


def place(name: str, missing: str) -> str:
    """A place's name, or what is said where no label tells it."""
    return name or missing


def to_node(name: str) -> Cell:
    """A node, linked."""
    return Cell(name, link=f"nodes/{links.step(name)}")


def to_job(key: str) -> Cell:
    """A job, linked; nothing if there is none."""
    return Cell(key, link=f"jobs/{links.step(key, slashes=True)}") if key else Cell("none")


def to_waiting(key: str) -> Cell:
    """A pod that waits, linked."""
    return Cell(key, link=f"pending/{links.step(key, slashes=True)}")


def address(view: str, **query: str | int) -> str:
    """The address of a view, without what is not asked for."""
    return links.asked(view, query)


def turns(paging: Paging, view: str, **query: str | int) -> tuple[Cell, ...]:
    """Links to the pages around this one."""
    found = []
    if paging.page > 1:
        found.append(Cell("Previous page", link=address(view, **query, page=paging.page - 1)))
    if paging.page < paging.pages:
        found.append(Cell("Next page", link=address(view, **query, page=paging.page + 1)))
    return tuple(found)


def paged(paging: Paging) -> Cell:
    """Which page this is."""
    return Cell(f"{paging.page} of {paging.pages}")

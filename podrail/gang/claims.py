"""Soft claims: the places that jobs have begun to fill, and how many nodes each still needs there.

Made when a pod is bound, and read by the score alone: a claimed node is worth less to later jobs,
never forbidden to them. A claim ends with its job, when the job is whole, or by itself.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from podrail.locality import Level, Place

Unit = tuple[Level, str]
"""A place at one level, by the name that Place gives it."""
Claimed = tuple[Mapping[str, int], ...]
"""By level: how many nodes of each place are claimed."""
UNCLAIMED: Final[Claimed] = tuple({} for _ in Level)


@dataclass(frozen=True, slots=True)
class Claim:
    """How many nodes a job needs besides those it has, and until when that holds."""

    nodes: int
    until: float


def units(place: Place) -> tuple[Unit, ...]:
    """The units around a place, as far as they are known."""
    return tuple((level, name) for level, name in zip(Level, place.names, strict=True) if name)


class Claims:
    """The claims of all jobs: each on the units around its latest pod. Its owner locks."""

    def __init__(self) -> None:
        self._claims: dict[Unit, dict[str, Claim]] = {}
        self._units: dict[str, tuple[Unit, ...]] = {}

    def __len__(self) -> int:
        """How many jobs have one."""
        return len(self._units)

    def make(self, job: str, place: Place, nodes: int, until: float) -> None:
        """Claim the units around the job's latest pod for the nodes that it still needs.

        They take the place of the job's earlier ones; one that it goes on with keeps its rank. A
        job that needs no more has none.
        """
        wanted = units(place) if nodes > 0 else ()
        self._drop(job, [unit for unit in self._units.get(job, ()) if unit not in wanted])
        for unit in wanted:
            self._claims.setdefault(unit, {})[job] = Claim(nodes, until)
        if wanted:
            self._units[job] = wanted
        else:
            self._units.pop(job, None)

    def release(self, job: str) -> None:
        """Forget the claims of a job that is gone."""
        self._drop(job, self._units.pop(job, ()))

    def expire(self, now: float) -> None:
        """Forget the claims whose time is over."""
        for job, (first, *_) in list(self._units.items()):
            if self._claims[first][job].until <= now:
                self.release(job)

    def others(self, job: str, now: float) -> Claimed:
        """What other jobs have claimed, in so far as they came first.

        Of two jobs that begin one block at once the later yields, and not both.
        """
        found: tuple[dict[str, int], ...] = tuple({} for _ in Level)
        for (level, name), claims in self._claims.items():
            found[level][name] = _before(job, claims, now)
        return found

    def _drop(self, job: str, gone: Iterable[Unit]) -> None:
        for unit in gone:
            del self._claims[unit][job]
            if not self._claims[unit]:
                del self._claims[unit]


def _before(job: str, claims: Mapping[str, Claim], now: float) -> int:
    """What is claimed before a job; a mapping keeps the order in which claims were first made."""
    total = 0
    for other, claim in claims.items():
        if other == job:
            break
        if claim.until > now:
            total += claim.nodes
    return total

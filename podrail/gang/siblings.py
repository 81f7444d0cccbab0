"""What is known of the bound pods of each job, as counts: kept per bind, read per look-up.

No reading walks over pods: what a score costs does not grow with the job. A pod counts from its
bind; one that the watch never shows bound stops counting by itself. Times are given.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, TypeVar

from podrail.locality import APART, NEUTRAL, SAME, Level, Place

Key = TypeVar("Key")
REACH: Final = 4
"""Indexes further apart are no neighbours."""
_CLOSE: Final = tuple((int(at), SAME[at]) for at in (Level.DOMAIN, Level.LEAF, Level.BLOCK))
"""The levels that are closer than neutral, and how close."""
_FAR: Final = tuple(
    (int(at), min(NEUTRAL, APART[at])) for at in (Level.ZONE, Level.FABRIC, Level.BLOCK)
)
"""The levels at which those are far that differ, and how close they still are."""


@dataclass(frozen=True, slots=True)
class Member:
    """A bound pod: its node, what kind of node that is, the rails it uses, its index in the job.

    Empty, 0 and None are unknown.
    """

    node: str
    place: Place
    rails: tuple[int, ...] = ()
    product: str = ""
    gbps: int = 0
    index: int | None = None


class Crew:
    """The bound pods of one job. Its owner locks to write; readers only look up, without a lock."""

    __slots__ = (
        "_indexes",
        "_kinds",
        "_known",
        "_neighbours",
        "_nodes",
        "_places",
        "_rails",
        "pods",
    )

    def __init__(self) -> None:
        self.pods = 0
        self._nodes: Counter[str] = Counter()
        self._places: tuple[Counter[str], ...] = tuple(Counter() for _ in Level)
        self._known = [0] * len(Level)
        self._rails: Counter[int] = Counter()
        self._kinds: Counter[tuple[str, str | int]] = Counter()
        self._indexes: Counter[int] = Counter()
        self._neighbours: Counter[tuple[int, str]] = Counter()

    def change(self, member: Member, by: int) -> None:
        """Count a member in (1) or out (-1)."""
        self.pods += by
        _add(self._nodes, member.node, by)
        for level, name in zip(Level, member.place.names, strict=True):
            if name:
                _add(self._places[level], name, by)
                self._known[level] += by
        for rail in member.rails:
            _add(self._rails, rail, by)
        _add(self._kinds, ("product", member.product), by)
        _add(self._kinds, ("gbps", member.gbps), by)
        if member.index is not None and member.place.leaf:
            _add(self._indexes, member.index, by)
            _add(self._neighbours, (member.index, member.place.leaf), by)

    @property
    def nodes(self) -> Mapping[str, int]:
        """How many of the pods each node has."""
        return MappingProxyType(self._nodes)

    def at(self, level: Level) -> Mapping[str, int]:
        """How many of the pods each place of a level has, by the name that Place gives it."""
        return MappingProxyType(self._places[level])

    @property
    def rails(self) -> Mapping[int, int]:
        """How many of the pods use each rail."""
        return MappingProxyType(self._rails)

    @property
    def products(self) -> frozenset[str]:
        """The GPU products that the pods run on, as far as they are known."""
        return frozenset(str(name) for kind, name in self._kinds if kind == "product" and name)

    @property
    def speeds(self) -> frozenset[int]:
        """The speeds of the NICs that the pods use, in Gbit/s, as far as they are known."""
        return frozenset(int(gbps) for kind, gbps in self._kinds if kind == "gbps" and gbps)

    def closeness(self, place: Place) -> float:
        """How close a place is to the pods on the average, by locality's table; neutral to none.

        Exact where the levels lie within each other and are known of all nodes or of none.
        """
        pods = self.pods
        if not pods:
            return NEUTRAL
        names, total, counted = place.names, 0.0, 0
        for level, close in _CLOSE:
            here = self._places[level][names[level]] if names[level] else 0
            if here > counted:
                total += close * (here - counted)
                counted = here
        rest, apart = max(pods - counted, 0), 0
        for level, close in _FAR:
            if not names[level]:
                continue
            elsewhere = self._known[level] - self._places[level][names[level]]
            more = min(max(elsewhere - apart, 0), rest)
            total += close * more
            apart, rest = apart + more, rest - more
        return (total + NEUTRAL * rest) / pods

    def neighbours(self, index: int | None, leaf: str) -> float:
        """The share of the pods with neighbouring indexes that are on a leaf, nearer ones more.

        Neutral if there are none, or if index or leaf is not known.
        """
        if index is None or not leaf:
            return NEUTRAL
        here = everywhere = 0.0
        for other in range(index - REACH, index + REACH + 1):
            weight = 1 / (1 + abs(other - index))
            here += weight * self._neighbours[other, leaf]
            everywhere += weight * self._indexes[other]
        return here / everywhere if everywhere else NEUTRAL

    def common(self, rails: Iterable[int]) -> float:
        """The share of the pods that use a rail, averaged over the rails; neutral to nothing."""
        pods, shares = self.pods, [self._rails[rail] for rail in rails]
        return sum(shares) / (len(shares) * pods) if shares and pods else NEUTRAL

    def alike(self, product: str, gbps: int) -> bool:
        """True unless a pod runs on a GPU product or at a NIC speed that is known to differ."""
        return self._alike("product", product) and self._alike("gbps", gbps)

    def _alike(self, what: str, value: str | int) -> bool:
        unknown = self._kinds[what, type(value)()]
        return not value or self._kinds[what, value] + unknown == self.pods


NOBODY: Final = Crew()
"""The crew of a job without a bound pod."""


@dataclass(frozen=True, slots=True)
class _Bound:
    """A pod that counts; until is None once the watch has shown it bound."""

    job: str
    member: Member
    until: float | None


class Siblings:
    """The crews of all jobs, by the jobs' keys. Not thread-safe for writing: its owner locks."""

    def __init__(self) -> None:
        self._bound: dict[str, _Bound] = {}
        self._assumed: dict[str, float] = {}
        self._crews: dict[str, Crew] = {}

    def __len__(self) -> int:
        """How many pods it knows."""
        return len(self._bound)

    @property
    def jobs(self) -> Mapping[str, Crew]:
        """The crews by job."""
        return MappingProxyType(self._crews)

    def crew(self, job: str) -> Crew:
        """The bound pods of a job."""
        return self._crews.get(job, NOBODY)

    def hold(self, uid: str, job: str, member: Member, until: float) -> None:
        """Count a pod that is about to be bound; one seen bound keeps what it has."""
        known = self._bound.get(uid)
        if known is None or known.until is not None:
            self._put(uid, _Bound(job, member, until))
            self._assumed[uid] = until

    def seen(self, uid: str, job: str, member: Member) -> None:
        """Count what the watch shows of a bound pod, in place of any hold."""
        self._put(uid, _Bound(job, member, None))

    def release(self, uid: str) -> None:
        """Forget a pod that has ended or is gone."""
        gone = self._bound.pop(uid, None)
        self._assumed.pop(uid, None)
        if gone is None:
            return
        crew = self._crews[gone.job]
        crew.change(gone.member, -1)
        if not crew.pods:
            del self._crews[gone.job]

    def abandon(self, uid: str) -> None:
        """Forget a pod that could not be bound; one seen bound keeps what it has."""
        if uid in self._assumed:
            self.release(uid)

    def expire(self, now: float) -> None:
        """Forget the pods that were never seen bound in time."""
        for uid in [uid for uid, until in self._assumed.items() if until <= now]:
            self.release(uid)

    def _put(self, uid: str, bound: _Bound) -> None:
        self.release(uid)
        self._bound[uid] = bound
        self._crews.setdefault(bound.job, Crew()).change(bound.member, 1)


def _add(counts: Counter[Key], key: Key, by: int) -> None:
    """Count, and leave no zero behind."""
    counts[key] += by
    if not counts[key]:
        del counts[key]

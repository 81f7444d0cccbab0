"""Which of several equally good partitions go-gpuallocator meets first, over all orders of GPUs.

Partitions come in the lexicographic order of the places at which their GPUs are named, and the sets
of a partition in the order of their first GPUs. So the first partition is found by naming one GPU
after the other and letting each set take the earliest ones that a best partition allows. Sets of
GPUs and sets of partitions are bit masks; chances are counted in orders, so that they stay whole.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import factorial
from typing import Final, TypeVar

MOST_STEPS: Final = 5000
"""8 GPUs take up to 2,600; what takes more is not followed to its end."""

_Key = TypeVar("_Key")
Orders = dict[int, int]
"""How many orders of the GPUs not named yet lead to each set."""


class TooManyOrdersError(Exception):
    """There are more orders of naming than can be followed."""


@dataclass(frozen=True, slots=True)
class Partition:
    """One of the partitions worth most, and those of its sets that may be taken."""

    sets: tuple[int, ...]
    best: frozenset[int]


@dataclass(frozen=True, slots=True)
class Naming:
    """How far the GPUs have been named, and which partitions can still be the first."""

    partitions: int
    unnamed: int
    waiting: tuple[int, ...] = ()
    """Named, but in no set so far."""
    current: int = 0
    done: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class _Table:
    """In which partitions things are so; Naming.partitions indexes the sequence."""

    partitions: Sequence[Partition]
    together: Mapping[tuple[int, int], int]
    """Two GPUs are in one set."""
    holding: Mapping[int, int]
    """A set is one of the partition's."""
    taking: Mapping[int, int]
    """A set may be taken."""
    leading: Mapping[int, int]
    """The set of a GPU may be taken."""
    alike: Mapping[frozenset[int], int]
    """These are the sets that may be taken."""
    known: dict[Naming, Orders] = field(default_factory=dict)


def chances(partitions: Sequence[Partition], free: int) -> dict[int, Fraction]:
    """How likely it is for each set to be the one taken, if every order of the GPUs is as likely.

    Raises:
        TooManyOrdersError: if that takes more than MOST_STEPS.
    """
    table = _tabulated(partitions)
    found = _followed(table, Naming((1 << len(partitions)) - 1, free))
    orders = factorial(free.bit_count())
    return {one: Fraction(count, orders) for one, count in found.items()}


def bits(mask: int) -> list[int]:
    """The masks of a set's single members, ascending."""
    return [1 << at for at in range(mask.bit_length()) if mask >> at & 1]


def _tabulated(partitions: Sequence[Partition]) -> _Table:
    together: dict[tuple[int, int], int] = {}
    holding: dict[int, int] = {}
    taking: dict[int, int] = {}
    leading: dict[int, int] = {}
    alike: dict[frozenset[int], int] = {}
    for at, partition in enumerate(partitions):
        _mark(alike, [partition.best], 1 << at)
        _mark(holding, partition.sets, 1 << at)
        _mark(taking, partition.best, 1 << at)
        for one in partition.best:
            _mark(leading, bits(one), 1 << at)
        for one in partition.sets:
            _mark(together, [(a, b) for a in bits(one) for b in bits(one)], 1 << at)
    return _Table(partitions, together, holding, taking, leading, alike)


def _mark(found: dict[_Key, int], keys: Iterable[_Key], partition: int) -> None:
    for key in keys:
        found[key] = found.get(key, 0) | partition


def _followed(table: _Table, naming: Naming) -> Orders:
    """Which set is taken, in how many orders of the GPUs still unnamed."""
    found = table.known.get(naming) or _settled(table, naming)
    if found is None:
        if len(table.known) >= MOST_STEPS:
            raise TooManyOrdersError
        found = {}
        after = _narrowed(table, naming)
        ways = after.unnamed.bit_count()
        # Every number of ways is smaller than the one before, so the division leaves no rest.
        share = factorial(naming.unnamed.bit_count()) // ways
        for gpu in bits(after.unnamed):
            for one, orders in _followed(table, _named(table, after, gpu)).items():
                found[one] = found.get(one, 0) + orders * (share // factorial(ways - 1))
    table.known[naming] = found
    return found


def _settled(table: _Table, naming: Naming) -> Orders | None:
    """The set that is taken whatever comes, if that is clear by now."""
    orders = factorial(naming.unnamed.bit_count())
    for one in naming.done:
        if not naming.partitions & ~table.taking.get(one, 0):
            return {one: orders}
    first = (naming.partitions & -naming.partitions).bit_length() - 1
    best = table.partitions[first].best
    if naming.partitions & ~table.alike[best]:
        return None
    for gpu in (naming.current, *naming.waiting):
        for one in best:
            if gpu & one:
                return {one: orders}
    left = {one: (one & naming.unnamed).bit_count() for one in best}
    return {one: orders * count // sum(left.values()) for one, count in left.items()}


def _narrowed(table: _Table, naming: Naming) -> Naming:
    """If the set now filling is the one taken, only GPUs that can still go into it matter."""
    some = naming.current & -naming.current
    if naming.partitions & ~table.leading.get(some, 0):
        return naming
    if any(naming.partitions & table.taking.get(one, 0) for one in naming.done):
        return naming
    wider = [one for one in bits(naming.unnamed) if naming.partitions & _with(table, some, one)]
    return replace(naming, unnamed=sum(wider), waiting=())


def _with(table: _Table, some: int, gpu: int) -> int:
    return table.together.get((some, gpu), 0)


def _named(table: _Table, naming: Naming, gpu: int) -> Naming:
    """After one more GPU: each set takes the earliest ones that a partition allows."""
    partitions, current, done = naming.partitions, naming.current, naming.done
    waiting = naming.waiting
    fresh: tuple[int, ...] = (gpu,)
    while fresh:
        refused: list[int] = []
        for one in fresh:
            fitting = partitions
            if current:
                fitting &= _with(table, current & -current, one)
            if fitting:
                partitions, current = fitting, current | one
            else:
                refused.append(one)
        waiting, fresh = (*waiting, *refused), ()
        if not partitions & ~table.holding.get(current, 0):
            done, current = (*done, current), 0
            waiting, fresh = (), waiting
    return Naming(partitions, naming.unnamed & ~gpu, waiting, current, done)

"""Chances: which devices come out when the kubelet or a plugin chooses blindly.

Go's map order is not specified; here every order is equally likely. Chances are exact fractions, at
most a stated number of them; more are thinned evenly, and the draw then says that it is not exact.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from operator import add, sub
from typing import Final

from podrail.kubelet.node import Counts, Plugin, Stock

ONE: Final = Fraction(1)


@dataclass(frozen=True, slots=True)
class Draw:
    """What may come out, each with its chance; the chances add up to one."""

    chances: tuple[tuple[Counts, Fraction], ...]
    exact: bool = True

    def shifted(self, by: Counts) -> "Draw":
        """With these devices on top of each outcome."""
        return Draw(
            tuple((plus(counts, by), chance) for counts, chance in self.chances), self.exact
        )


def plus(left: Counts, right: Counts) -> Counts:
    """Card by card."""
    return tuple(map(add, left, right))


def minus(left: Counts, right: Counts) -> Counts:
    """Card by card."""
    return tuple(map(sub, left, right))


def only(counts: Counts, where: Iterable[bool]) -> Counts:
    """The devices of some cards."""
    return tuple(count if here else 0 for count, here in zip(counts, where, strict=True))


def gathered(chances: Iterable[tuple[Counts, Fraction]], *, exact: bool = True) -> Draw:
    """One entry for each outcome, in order."""
    found: dict[Counts, Fraction] = {}
    for counts, chance in chances:
        found[counts] = found.get(counts, Fraction()) + chance
    return Draw(tuple(sorted(found.items())), exact)


def thinned(draw: Draw, most: int) -> Draw:
    """At most so many outcomes, equally likely ones taken evenly along their order."""
    if len(draw.chances) <= most:
        return draw
    ends = list(accumulate(chance for _, chance in draw.chances))
    marks = (Fraction(2 * one + 1, 2 * most) for one in range(most))
    at, found = 0, list[tuple[Counts, Fraction]]()
    for mark in marks:
        while ends[at] < mark:
            at += 1
        found.append((draw.chances[at][0], Fraction(1, most)))
    return gathered(found, exact=False)


@lru_cache(maxsize=4096)
def blind(free: Counts, want: int, most: int) -> Draw:
    """Any so many of the free devices, each set of devices as likely as another."""
    total = sum(free)
    if want == total:
        return Draw(((free, ONE),))
    sets = math.comb(total, want)
    if _outcomes(free, want) <= most:
        return gathered((one, Fraction(ways, sets)) for one, ways in _ways(free, want))
    marks = (sets * (2 * one + 1) // (2 * most) for one in range(most))
    return gathered(
        ((_numbered(free, want, mark), Fraction(1, most)) for mark in marks), exact=False
    )


def _outcomes(free: Counts, want: int) -> int:
    """How many different counts there are."""
    found = [1] + [0] * want
    for count in free:
        found = [sum(found[max(0, have - count) : have + 1]) for have in range(want + 1)]
    return found[want]


def _ways(free: Counts, want: int) -> Iterator[tuple[Counts, int]]:
    """Each outcome, and in how many ways devices make it."""
    if not free:
        yield (), 1
        return
    first, rest = free[0], free[1:]
    for taken in range(max(0, want - sum(rest)), min(first, want) + 1):
        for others, ways in _ways(rest, want - taken):
            yield (taken, *others), ways * math.comb(first, taken)


def _numbered(free: Counts, want: int, number: int) -> Counts:
    """The outcome of the set of devices with this number, without counting up to it."""
    found: list[int] = []
    left = sum(free)
    for count in free:
        left -= count
        taken = max(0, want - left)
        while number >= (ways := math.comb(count, taken) * math.comb(left, want - taken)):
            number -= ways
            taken += 1
        # The ways of this card's devices do not change what the others can be.
        number //= math.comb(count, taken)
        want -= taken
        found.append(taken)
    return tuple(found)


_Rank = Callable[[int, int], tuple[int, int]]
RANKS: Final[Mapping[Plugin, _Rank]] = {
    Plugin.DISTRIBUTED: lambda held, picked: (held, picked),
    Plugin.PACKED: lambda held, picked: (-held, picked),
    Plugin.SPREAD: lambda held, picked: (picked, held),
}
"""Which card gives the next replica: the lowest of (held by anyone, picked just now)."""


def replicas(plugin: Plugin, devices: Counts, stock: Stock, want: int) -> Draw:
    """What NVIDIA's plugin prefers among replicas, one after the other.

    Exact while equal cards come up once only: the order in which the plugin's heap gives up equal
    cards later on is its own.
    """
    rank, free = RANKS[plugin], stock.free
    chances, exact = {(0,) * len(free): ONE}, True
    for step in range(want):
        found: dict[Counts, Fraction] = {}
        for taken, chance in chances.items():
            ranks = {
                at: rank(devices[at] - free[at] + taken[at], stock.had[at] + taken[at])
                for at in range(len(free))
                if free[at] > taken[at]
            }
            least = min(ranks.values())
            next_ones = [at for at, one in ranks.items() if one == least]
            exact = exact and (step == 0 or len(next_ones) == 1)
            for at in next_ones:
                more = tuple(count + (here == at) for here, count in enumerate(taken))
                found[more] = found.get(more, Fraction()) + chance / len(next_ones)
        chances = found
    return Draw(tuple(sorted(chances.items())), exact or len(chances) == 1)

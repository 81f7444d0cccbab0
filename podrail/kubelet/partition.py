"""Which GPUs NVIDIA's plugin prefers: go-gpuallocator v0.6.0, besteffort_policy.go.

It looks for the partition of the free GPUs into sets of the wanted size (one may be short) whose
sets are worth most together, and takes that partition's best set. Among equals the first wins, in
the order in which the kubelet names the GPUs. That order comes from Go maps, whose order is not
specified: here each is equally likely. Sets are bit masks.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from typing import Final

from podrail.kubelet import naming
from podrail.kubelet.naming import Partition, TooManyOrdersError, bits

MOST_PARTITIONS: Final = 3000
"""8 GPUs have at most 280; 16 have up to two million: those are answered by their best sets."""
MOST_SETS: Final = 2000

Links = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Preference:
    """The sets that may be preferred with their chances; the empty set means no preference."""

    sets: tuple[tuple[int, Fraction], ...]
    exact: bool = True


@lru_cache(maxsize=8192)
def preferred(links: Links, free: int, required: int, size: int) -> Preference:
    """The sets of this size out of the free GPUs, the required ones among them."""
    if size == 1:
        # Sets of one are worth nothing, so that the first GPU named wins.
        return _equally(bits(free))
    if _partitions(free.bit_count(), size) > MOST_PARTITIONS:
        return _lumped(links, free, required, size)
    found = _best_partitions(links, free, required, size)
    try:
        chances = naming.chances(found, free)
    except TooManyOrdersError:
        return _lumped(links, free, required, size)
    whole = {one: chance for one, chance in chances.items() if one.bit_count() == size}
    # A short set holds a nil device, which the plugin cannot name: no preference comes of it.
    if len(whole) < len(chances):
        whole[0] = 1 - sum(whole.values(), Fraction())
    return Preference(tuple(sorted(whole.items())))


def worth(links: Links, gpus: int) -> int:
    """What the pairs of a set are worth together."""
    places = [one.bit_length() - 1 for one in bits(gpus)]
    return sum([links[one][other] for one, other in combinations(places, 2)])


def _equally(sets: list[int], *, exact: bool = True) -> Preference:
    return Preference(tuple((one, Fraction(1, len(sets))) for one in sets), exact)


def _lumped(links: Links, free: int, required: int, size: int) -> Preference:
    """The sets worth most by themselves, equally likely; none if there are too many to look at."""
    others, more = bits(free & ~required), size - required.bit_count()
    if math.comb(len(others), more) > MOST_SETS:
        return Preference(((0, Fraction(1)),), exact=False)
    sets = [required | sum(some) for some in combinations(others, more)]
    return _equally(sorted(_richest(links, sets)), exact=False)


def _richest(links: Links, sets: list[int]) -> frozenset[int]:
    worths = {one: worth(links, one) for one in sets}
    most = max(worths.values())
    return frozenset(one for one, some in worths.items() if some == most)


def _partitions(gpus: int, size: int) -> int:
    """How many partitions there are."""
    short, whole = gpus % size, gpus // size
    alike = math.prod([math.factorial(size)] * whole) * math.factorial(whole)
    return math.factorial(gpus) // math.factorial(short) // alike


def _best_partitions(links: Links, free: int, required: int, size: int) -> tuple[Partition, ...]:
    found: list[tuple[int, ...]] = []
    most = -1
    worths: dict[int, int] = {}
    for sets in _split(free, size):
        if not any(one.bit_count() == size and not required & ~one for one in sets):
            continue
        for one in sets:
            if one not in worths:
                worths[one] = worth(links, one)
        total = sum([worths[one] for one in sets])
        if total > most:
            most, found = total, []
        if total == most:
            found.append(sets)
    return tuple(
        Partition(sets, _richest(links, [one for one in sets if not required & ~one]))
        for sets in found
    )


def _split(gpus: int, size: int) -> Iterator[tuple[int, ...]]:
    """The partitions into sets of this size, one of them short if it does not come out even."""
    if gpus.bit_count() <= size:
        yield (gpus,) if gpus else ()
        return
    first, *others = bits(gpus)
    short = gpus.bit_count() % size
    for many in {size - 1, short - 1} - {-1}:
        for some in combinations(others, many):
            one = first + sum(some)
            for more in _split(gpus & ~one, size):
                yield (one, *more)

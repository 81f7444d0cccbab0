"""What NVIDIA's device plugin prefers, by its algorithm and by no code of podrail's.

Whole GPUs: go-gpuallocator v0.6.0, best effort. Replicas: k8s-device-plugin, internal/rm/allocate.go.
The kubelet names the devices in the order of a Go set, so that ties fall anyhow.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from deviceplugins.plugin import Prefer

Sets = tuple[tuple[str | None, ...], ...]


def aligned(worth: Mapping[frozenset[str], int]) -> Prefer:
    """The best set of the partition of the available GPUs whose sets are worth most together.

    worth is what each pair of GPUs is worth.
    """

    def of(some: Sequence[str | None]) -> int:
        pairs = combinations((one for one in some if one is not None), 2)
        return sum(worth.get(frozenset(pair), 0) for pair in pairs)

    def prefer(available: Sequence[str], required: Sequence[str], size: int) -> Sequence[str]:
        def holds(some: Sequence[str | None]) -> bool:
            return set(required) <= set(some)

        usable = (
            sets
            for sets in _partitions(available, size)
            if any(holds(some) and None not in some for some in sets)
        )
        best = max(usable, key=lambda sets: sum(map(of, sets)), default=())
        found = max((some for some in best if holds(some)), key=of, default=())
        # A short set is filled up with nothing, which the plugin cannot name.
        return tuple(one for one in found if one is not None) if None not in found else ()

    return prefer


def distributed(devices: Sequence[str]) -> Prefer:
    """Replica by replica the card with the fewest held: the plugin's default for shared GPUs."""
    return _balanced(devices, 1)


def packed(devices: Sequence[str]) -> Prefer:
    """Replica by replica the card with the most held."""
    return _balanced(devices, -1)


def _balanced(devices: Sequence[str], sign: int) -> Prefer:
    total = Counter(map(_card, devices))

    def prefer(available: Sequence[str], required: Sequence[str], size: int) -> Sequence[str]:
        left = [one for one in available if one not in required]
        found = list(required)
        while len(found) < size and left:
            free = Counter(map(_card, left))
            one = min(left, key=lambda one: sign * (total[_card(one)] - free[_card(one)]))
            left.remove(one)
            found.append(one)
        return found if len(found) == size else ()

    return prefer


def _card(replica: str) -> str:
    """The GPU of a replica: GPU-<uuid>::3."""
    return replica.partition("::")[0]


def _partitions(gpus: Sequence[str], size: int) -> Iterator[Sets]:
    """Into sets of a size, in the library's order; nothing fills one of them up, if need be."""
    if not 0 < size <= len(gpus):
        return
    short = -len(gpus) % size
    yield from _split((*gpus, *([None] * short)), size, short)


def _split(gpus: tuple[str | None, ...], size: int, short: int) -> Iterator[Sets]:
    if len(gpus) == size:
        yield (gpus,)
        return
    first, *rest = gpus
    for others in combinations(rest, size - 1):
        if others.count(None) not in {0, short}:
            continue
        left = tuple(one for one in rest if one not in others)
        for more in _split(left, size, short):
            yield ((first, *others), *more)

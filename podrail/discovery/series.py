"""Which rail each of a fabric's networks is, by the numbers in their names.

Numbers that count up from 0 or 1 are rails. Others (ibp24s0) are places on the PCIe bus: their
order is at best a guess. Two numbers that form a grid (r3-p1) are rail and plane.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from podrail.multus.nad import Nad
from podrail.topology import Confidence

_NUMBER: Final = re.compile(r"\d+")
_FEW: Final = 2
"""Fewer numbers than this are no order."""


@dataclass(frozen=True, slots=True)
class Railed:
    """A network with its rail and its plane of that rail."""

    nad: Nad
    rail: int
    plane: int


@dataclass(frozen=True, slots=True)
class Series:
    """Networks that are alike but for numbers in their names: one for each rail, or for a plane.

    A single network has no rails.
    """

    networks: tuple[Railed, ...]
    confidence: Confidence
    because: str
    question: str = ""

    @property
    def single(self) -> Nad | None:
        """The network if it is alone."""
        return self.networks[0].nad if len(self.networks) == 1 else None

    @property
    def rails(self) -> int:
        """How many rails there are."""
        return max((one.rail for one in self.networks), default=-1) + 1

    @property
    def planes(self) -> int:
        """How many networks a rail has."""
        return max((one.plane for one in self.networks), default=0) + 1

    @property
    def resources(self) -> tuple[str, ...]:
        """The resources of which the networks take devices, each once."""
        return tuple(dict.fromkeys(one.nad.resource for one in self.networks if one.nad.resource))

    @property
    def types(self) -> frozenset[str]:
        """The plugins of all networks."""
        return frozenset(kind for one in self.networks for kind in one.nad.config.types)


def sort(nads: Iterable[Nad]) -> tuple[Series, ...]:
    """The series, the one with the most networks first; of a namespace its own.

    Networks whose names have no number in common are one series if each takes devices of its own.
    """
    alike: dict[tuple[str, str], list[Nad]] = defaultdict(list)
    for one in nads:
        alike[one.namespace, _NUMBER.sub("#", one.name)].append(one)
    lone: dict[str, list[Nad]] = defaultdict(list)
    for (namespace, _), found in alike.items():
        if len(found) == 1 and found[0].resource:
            lone[namespace] += found
    together = {
        namespace: found
        for namespace, found in lone.items()
        if len({one.resource for one in found}) == len(found) > 1
    }
    series = [_named(found) for found in together.values()]
    series += [
        _numbered(found)
        for (namespace, _), found in alike.items()
        if not (len(found) == 1 and found[0] in together.get(namespace, ()))
    ]
    return tuple(sorted(series, key=lambda one: -len(one.networks)))


def _named(nads: Sequence[Nad]) -> Series:
    ordered = sorted(nads, key=lambda one: one.name)
    return Series(
        tuple(Railed(nad, rail, 0) for rail, nad in enumerate(ordered)),
        Confidence.LOW,
        f"{len(nads)} networks with a resource each, in the order of their names",
        "Which network is which rail? Their names do not tell.",
    )


def _numbered(nads: Sequence[Nad]) -> Series:
    keyed = {_numbers(one): one for one in nads}
    varying = _varying([*keyed])
    if not varying:
        nad = nads[0]
        return Series((Railed(nad, 0, 0),), Confidence.HIGH, f"the one network {nad.key}")
    if len(varying) == _FEW and _is_grid([*keyed], varying):
        return _planes(keyed, varying)
    return _rails(keyed, varying)


def _rails(keyed: dict[tuple[int, ...], Nad], varying: Sequence[int]) -> Series:
    ordered = sorted(keyed)
    networks = tuple(Railed(keyed[key], rail, 0) for rail, key in enumerate(ordered))
    first, last = ordered[0][varying[0]], ordered[-1][varying[0]]
    if len(varying) == 1 and first <= 1 and last - first == len(ordered) - 1:
        because = f"{len(ordered)} networks counted up from {first} in their names"
        return Series(networks, Confidence.HIGH, because)
    return Series(
        networks,
        Confidence.LOW,
        f"{len(ordered)} networks in the order of the numbers in their names",
        "Is this the order of the rails? The numbers look like places on the PCIe bus, whose order "
        "is not always that of the leaf switches.",
    )


def _planes(keyed: dict[tuple[int, ...], Nad], varying: Sequence[int]) -> Series:
    """The number with more values is the rail, of equals the first."""
    values = [sorted({key[at] for key in keyed}) for at in varying]
    rail = 0 if len(values[0]) >= len(values[1]) else 1
    networks = sorted(
        (
            Railed(
                nad,
                values[rail].index(key[varying[rail]]),
                values[1 - rail].index(key[varying[1 - rail]]),
            )
            for key, nad in keyed.items()
        ),
        key=lambda one: (one.rail, one.plane),
    )
    return Series(
        tuple(networks),
        Confidence.MEDIUM,
        f"{len(values[rail])} rails of {len(values[1 - rail])} planes, by two numbers in the names",
        "Is the number with more values the rail, and the other one the plane?",
    )


def _numbers(nad: Nad) -> tuple[int, ...]:
    return tuple(int(one) for one in _NUMBER.findall(nad.name))


def _varying(keys: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The positions at which the numbers differ."""
    return tuple(at for at in range(len(keys[0])) if len({key[at] for key in keys}) > 1)


def _is_grid(keys: Sequence[tuple[int, ...]], varying: Sequence[int]) -> bool:
    first, second = ({key[at] for key in keys} for at in varying)
    return len(first) * len(second) == len(keys)

"""The worth of a node to a pod: a mean of its parts by weight, and the points it comes to.

A part that does not apply is left out of the mean, so that it neither helps nor harms. All else
equal, a node that is better in one part is worth more.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from podrail.kubelet.model import Refused
from podrail.locality import Place
from podrail.score import outlook
from podrail.score.kin import ANYWHERE, NOBODY, Kin, Near
from podrail.score.need import Need
from podrail.score.outlook import Outlook
from podrail.score.state import State
from podrail.score.weights import OTHER_SPEED, REFUSED, WEIGHTS, Part

BEST: Final = 10
"""extender/v1 MaxExtenderPriority."""
NEUTRAL: Final = 5
_DIGITS: Final = 6


@dataclass(frozen=True, slots=True)
class Score:
    """A node's worth from 0 to 1 with its parts; None if nothing can be said of it.

    refused is True where the pod would have to wait if it had patience left.
    """

    value: float | None
    parts: Mapping[Part, float]
    refused: bool = False


@dataclass(frozen=True, slots=True)
class Base:
    """The parts that do not depend on a node's place, summed by weight."""

    parts: tuple[tuple[Part, float], ...]
    total: float
    weight: int
    factor: float


def score(state: State, need: Need, kin: Kin = NOBODY, near: Near = ANYWHERE) -> Score:
    """What the node is worth to the pod, part by part."""
    found = base(state, need, kin)
    if found is None:
        return Score(None, {})
    parts = dict(found.parts) | dict(_places(near))
    return Score(_value(found, *_placed(near)), parts, refused=found.factor < 1)


@dataclass(frozen=True, slots=True, eq=False)
class Seat:
    """A node's state and its place; compared by identity, so `seat` makes them."""

    state: State | None
    place: Place


@lru_cache(maxsize=262_144)
def seat(state: State | None, place: Place) -> Seat:
    """The one seat for all nodes in the same state and place; None is a node not known."""
    return Seat(state, place)


def values(
    seats: Sequence[Seat], need: Need, kin: Kin, nears: Mapping[Place, Near]
) -> list[float | None]:
    """The worth of each node, in order; None of what is not known.

    nears has the places that the job sees in some way. The time goes with the number of different
    states and places; a seat is only looked up.
    """
    kinds, worths = _kinds(seats, need, kin, nears)
    return list(map(worths.__getitem__, kinds))


def scores(seats: Sequence[Seat], need: Need, kin: Kin, nears: Mapping[Place, Near]) -> list[int]:
    """The points of each node, in order: those of `points` for what `values` says."""
    kinds, worths = _kinds(seats, need, kin, nears)
    pointed = dict(zip(worths, points(list(worths.values())), strict=True))
    return list(map(pointed.__getitem__, kinds))


_Kind = tuple[int, tuple[float, int]]
"""A state's identity, and the sums of a place's parts: hundreds of places have equal ones."""


def _kinds(
    seats: Sequence[Seat], need: Need, kin: Kin, nears: Mapping[Place, Near]
) -> tuple[Sequence[_Kind], Mapping[_Kind, float | None]]:
    """The kind of each seat, and what each kind is worth."""
    states = {id(one.state): one.state for one in seats}
    places = {id(one.place): one.place for one in seats}
    sums = {key: _placed(nears.get(place, ANYWHERE)) for key, place in places.items()}
    kinds = [(id(one.state), sums[id(one.place)]) for one in seats]
    bases = {
        key: None if state is None else base(state, need, kin) for key, state in states.items()
    }
    worths: dict[_Kind, float | None] = {}
    for kind in set(kinds):
        own = bases[kind[0]]
        worths[kind] = None if own is None else _value(own, *kind[1])
    return kinds, worths


def points(values: Sequence[float | None]) -> list[int]:
    """A score from 0 to 10 for each value: the best gets 10, a worse one at most 9.

    None is a node that is not known: in the middle if another is known, else all are equal.
    """
    # Thousands of nodes are of a few machine types.
    different = set(values)
    most = max((one for one in different if one is not None), default=None)
    if most is None:
        return [0] * len(values)
    point = {one: NEUTRAL if one is None else _point(one, most) for one in different}
    return list(map(point.__getitem__, values))


def _point(one: float, most: float) -> int:
    if one >= most:
        return BEST
    return min(BEST - 1, int(BEST * one / most))


def _value(own: Base, total: float, weight: int) -> float | None:
    whole = own.weight + weight
    return own.factor * (own.total + total) / whole if whole else None


def _sums(parts: Iterable[tuple[Part, float]]) -> tuple[float, int]:
    listed = tuple(parts)
    return (
        sum(WEIGHTS[part] * value for part, value in listed),
        sum(WEIGHTS[part] for part, _ in listed),
    )


@lru_cache(maxsize=16_384)
def _placed(near: Near) -> tuple[float, int]:
    """The sums of a place's parts; most places are as near as many others."""
    return _sums(_places(near))


def _places(near: Near) -> tuple[tuple[Part, float], ...]:
    found = (
        (Part.CLOSENESS, near.closeness),
        (Part.NEIGHBOURS, near.neighbours),
        (Part.BLOCK, near.block),
    )
    return tuple((part, value) for part, value in found if value is not None)


@lru_cache(maxsize=32_768)
def base(state: State, need: Need, kin: Kin) -> Base | None:
    """The sums of a state's own parts; None where nothing can be said."""
    if state.sliced:
        return None
    found = outlook.of(state, need, kin)
    if isinstance(found, Refused):
        parts: tuple[tuple[Part, float], ...] = ((Part.ALIGNMENT, 0.0), (Part.REACH, 0.0))
        return Base(parts, *_sums(parts), REFUSED)
    every = (
        *_expected(state, need, found),
        *_rails(state, need, kin, found),
        _likeness(state, kin),
    )
    parts = tuple((part, round(value, _DIGITS)) for part, value in every if value is not None)
    return Base(parts, *_sums(parts), REFUSED if found.conflict else 1.0)


_Parts = tuple[tuple[Part, float | None], ...]


def _expected(state: State, need: Need, found: Outlook) -> _Parts:
    """What there is to say of the pod's own GPUs, and of those that it leaves to others."""
    whole = found.worth is not None and need.gpus >= len(state.topology.gpus)
    return (
        (Part.ALIGNMENT, found.relative),
        (Part.REACH, found.worth),
        (Part.CERTAINTY, found.certainty),
        (Part.PACKING, None if whole else found.kept),
    )


def _rails(state: State, need: Need, kin: Kin, found: Outlook) -> _Parts:
    """What there is to say of the rails: whose else they are, the job's, whether they are up."""
    common = quiet = health = None
    if found.used and kin.rails:
        common = sum(share * kin.share(rail) for rail, share in found.used)
    if found.used and need.fabric is not None and not need.counted:
        quiet = sum(share / (1 + state.uses.get(rail, 0)) for rail, share in found.used)
    rails = state.topology.rails if need.pooled else found.rails
    if need.rails and rails:
        up = sum(state.health.get(rail, 0.0) for rail in rails)
        health = up / max(len(rails), 0 if need.pooled else len(need.rails))
    return ((Part.COMMON, common), (Part.QUIET, quiet), (Part.HEALTH, health))


def _likeness(state: State, kin: Kin) -> tuple[Part, float | None]:
    """One unless the job would be mixed; None if too little is known."""
    told = kin.products and state.products
    if told and not state.products & kin.products:
        return (Part.LIKENESS, 0.0)
    if kin.speeds and state.gbps is not None:
        return (Part.LIKENESS, 1.0 if state.gbps in kin.speeds else OTHER_SPEED)
    return (Part.LIKENESS, 1.0 if told else None)

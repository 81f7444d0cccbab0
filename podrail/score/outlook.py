"""What a pod can expect of a node: the kubelet's outcomes, each with the best pairing there is."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from podrail import alignment, packing
from podrail.kubelet.model import Refused
from podrail.packing import Left
from podrail.score import choice, outcomes
from podrail.score.kin import NOBODY, Kin
from podrail.score.need import Need
from podrail.score.outcomes import Got
from podrail.score.state import State
from podrail.topology import Tier

TOLD_SETS: Final = 8
_DIGITS: Final = 6
"""Rounded, so that two machines of one kind never differ by an error of floating point."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """Each number is from 0 to 1; None where the pod has no rails or GPUs to pair."""

    worth: float | None
    """The share of its rails' bandwidth that the pod's GPUs can expect."""
    relative: float | None
    """The same against the best that this node has for so many GPUs."""
    certainty: float | None
    """One less twice the standard deviation of the worth over the outcomes."""
    kept: float
    """What stays whole of the node."""
    rails: tuple[int, ...]
    """Those chosen, or of the likeliest outcome."""
    used: tuple[tuple[int, float], ...]
    """How likely the pod's GPUs are served by each rail; together 1."""
    tier: Tier | None
    """The worst of the likeliest outcome."""
    gpu_sets: tuple[tuple[tuple[int, ...], float], ...]
    """The likeliest sets of GPUs, at most TOLD_SETS."""
    conflict: bool = False
    """True if others use rails that were to be the pod's own."""


@dataclass(frozen=True, slots=True)
class _Paired:
    """An outcome, the rails that the pod can use with it, those that serve its GPUs, and worth."""

    got: Got
    rails: tuple[int, ...]
    serving: tuple[int, ...]
    worth: float
    tier: Tier | None


@lru_cache(maxsize=16_384)
def of(state: State, need: Need, kin: Kin = NOBODY) -> Outlook | Refused:
    """What the pod can expect in this state; refused if the kubelet is sure to refuse it."""
    chosen = choice.rails(state, need, state.uses, kin)
    return given(state, need, chosen.rails, conflict=chosen.conflict)


@lru_cache(maxsize=16_384)
def given(
    state: State, need: Need, rails: tuple[int, ...], *, conflict: bool = False
) -> Outlook | Refused:
    """What the pod can expect with these rails, unless a pool gives it others."""
    lot = outcomes.of(state, need)
    if isinstance(lot, Refused):
        return lot
    paired = [_paired(state, need, got, rails) for got in lot.got]
    likeliest = max(paired, key=lambda one: one.got.chance)
    worth = certainty = relative = None
    if any(one.serving for one in paired):
        # A pod that the kubelet refuses gets nothing.
        worth = math.fsum(one.got.chance * one.worth for one in paired)
        ideal = alignment.ideal(state.topology, len(likeliest.got.gpus))
        relative = worth / ideal if ideal else None
        certainty = _certainty(paired, worth, lot.refused)
    return Outlook(
        worth=_rounded(worth),
        relative=_rounded(relative),
        certainty=_rounded(certainty),
        kept=round(math.fsum(one.got.chance * _kept(state, need, one) for one in paired), _DIGITS),
        rails=likeliest.rails if need.pooled else rails,
        used=_used(paired),
        tier=likeliest.tier,
        gpu_sets=_gpu_sets(lot.got),
        conflict=conflict,
    )


def _rounded(value: float | None) -> float | None:
    return None if value is None else min(1.0, max(0.0, round(value, _DIGITS)))


def _paired(state: State, need: Need, got: Got, rails: tuple[int, ...]) -> _Paired:
    """The outcome with its best pairing, which without GPUs or rails is worth nothing."""
    if need.pooled and got.nics:
        nics = (state.topology.nics[at].rail for at in got.nics)
        rails = tuple(sorted({rail for rail in nics if rail is not None}))
    usable = tuple(rail for rail in rails if rail in state.rails)
    if not usable or not got.gpus:
        return _Paired(got, rails, (), 0.0, None)
    best = alignment.best(state.topology, got.gpus, usable)
    return _Paired(got, rails, best.rails, best.worth, best.tier)


def _certainty(paired: Sequence[_Paired], worth: float, refused: float) -> float:
    spread = math.fsum(one.got.chance * (one.worth - worth) ** 2 for one in paired)
    return 1.0 - 2.0 * math.sqrt(spread + refused * worth**2)


def _kept(state: State, need: Need, one: _Paired) -> float:
    free = frozenset(one.got.free)
    before = after = None
    if need.fixed:
        before = frozenset(_free_rails(state, need))
        after = before - set(one.rails)
    left = Left(free - set(one.got.gpus), after)
    worth = one.worth if one.serving else packing.FAR
    return packing.kept(state.topology, Left(free, before), left, worth)


def _free_rails(state: State, need: Need) -> Iterator[int]:
    """The rails of which a device is free, as far as the pod's own resources tell."""
    free = dict(state.free)
    resources = () if need.fabric is None else need.fabric.resources
    known = {one.rail: free[one.name] for one in resources if one.name in free}
    for rail in state.rails:
        if rail in need.rails or known.get(rail, 1) > 0:
            yield rail


def _used(paired: Iterable[_Paired]) -> tuple[tuple[int, float], ...]:
    found: dict[int, float] = {}
    for one in paired:
        for rail in one.serving:
            found[rail] = found.get(rail, 0.0) + one.got.chance / len(one.serving)
    whole = math.fsum(found.values())
    return tuple((rail, round(share / whole, _DIGITS)) for rail, share in sorted(found.items()))


def _gpu_sets(got: Iterable[Got]) -> tuple[tuple[tuple[int, ...], float], ...]:
    found: dict[tuple[int, ...], float] = {}
    for one in got:
        found[one.gpus] = found.get(one.gpus, 0.0) + one.chance
    ranked = sorted(found.items(), key=lambda item: (-item[1], item[0]))
    return tuple((gpus, round(chance, _DIGITS)) for gpus, chance in ranked if gpus)[:TOLD_SETS]

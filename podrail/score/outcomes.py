"""What a pod may get on a node: the kubelet model over every node that a state can be.

A whole node is handed out as it is. Without a topology policy the kubelet's GPUs and NICs have
nothing to do with each other, so they are drawn apart, which takes a hundredth of the time.
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate
from typing import Final

from podrail.kubelet import draw, model
from podrail.kubelet.model import Lasting, Refused
from podrail.kubelet.node import Node, Policy, Request
from podrail.score import machine
from podrail.score.machine import Possible
from podrail.score.need import Need
from podrail.score.state import State

MOST: Final = 96
"""Outcomes whose pairings are looked at; more are thinned evenly."""


@dataclass(frozen=True, slots=True)
class Got:
    """What a pod gets of the GPUs that are free, how likely; NICs by position, one per device."""

    free: tuple[int, ...]
    gpus: tuple[int, ...]
    nics: tuple[int, ...]
    chance: float


@dataclass(frozen=True, slots=True)
class Lot:
    """All that a pod may get; the chances and the refusal's add up to one."""

    got: tuple[Got, ...]
    refused: float


@lru_cache(maxsize=16_384)
def of(state: State, need: Need) -> Lot | Refused:
    """What the pod may get in this state; refused if the kubelet is sure to refuse it.

    That there are too few devices free is for kube-scheduler to say, which counts them.
    """
    found: dict[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]], float] = {}
    refusals: list[Refused] = []
    refused = 0.0
    nodes = machine.possible(state, need)
    for one in nodes:
        lot = _lot(one, need)
        if isinstance(lot, Refused):
            refusals.append(lot)
            refused += 1 / len(nodes)
            continue
        refused += lot.refused / len(nodes)
        for got in lot.got:
            key = (got.free, got.gpus, got.nics)
            found[key] = found.get(key, 0.0) + got.chance / len(nodes)
    if not found:
        temporary = (one for one in refusals if one.lasting is Lasting.TEMPORARY)
        return next(temporary, refusals[0])
    return Lot(_thinned(tuple(Got(*key, chance) for key, chance in found.items())), refused)


def _lot(possible: Possible, need: Need) -> Lot | Refused:
    """What the kubelet makes of the pod on one of the nodes that the state can be."""
    node = possible.node
    if node.machine.kubelet.policy is Policy.NONE:
        return _apart(possible, need)
    found = model.outcomes(node, need.containers)
    if isinstance(found, Refused):
        return found
    got = (Got(possible.gpus, one.gpus, one.nics, float(one.chance)) for one in found.outcomes)
    return Lot(tuple(got), float(found.refused))


def _apart(possible: Possible, need: Need) -> Lot | Refused:
    """GPUs and NICs of a kubelet without a topology policy."""
    gpus = model.outcomes(*_only_gpus(possible.node, need))
    if isinstance(gpus, Refused):
        return gpus
    nics = _nics(possible.node, need) if need.pooled else (((), 1.0),)
    got = (
        Got(possible.gpus, one.gpus, some, float(one.chance) * chance)
        for one in gpus.outcomes
        for some, chance in nics
    )
    return Lot(tuple(got), 0.0)


def _only_gpus(node: Node, need: Need) -> tuple[Node, Request]:
    machine_ = node.machine
    kept = [at for at, resource in enumerate(machine_.resources) if resource.gpu]
    resources = tuple(machine_.resources[at] for at in kept)
    known = {resource.name for resource in resources}
    containers = (
        replace(one, wants=tuple(want for want in one.wants if want[0] in known))
        for one in need.containers
    )
    return (
        Node(replace(machine_, resources=resources), tuple(node.free[at] for at in kept)),
        tuple(containers),
    )


def _nics(node: Node, need: Need) -> tuple[tuple[tuple[int, ...], float], ...]:
    """The NICs that the pools may give, all of a pod's containers together."""
    found: list[tuple[tuple[int, ...], float]] = [((), 1.0)]
    wants = machine.wants(need)
    for resource, free in zip(node.machine.resources, node.free, strict=True):
        if not resource.gpu:
            chances = draw.blind(free, wants[resource.name], max(1, MOST // 2 // len(found)))
            found = [
                ((*had, *resource.numbers(counts)), share * float(chance))
                for had, share in found
                for counts, chance in chances.chances
            ]
    return tuple(found)


def _thinned(got: tuple[Got, ...]) -> tuple[Got, ...]:
    """At most so many outcomes, taken evenly by their chances."""
    if len(got) <= MOST:
        return got
    whole = sum(one.chance for one in got)
    ends = list(accumulate(one.chance for one in got))
    found: dict[int, int] = {}
    at = 0
    for mark in range(MOST):
        while ends[at] * 2 * MOST < whole * (2 * mark + 1) and at < len(got) - 1:
            at += 1
        found[at] = found.get(at, 0) + 1
    return tuple(replace(got[at], chance=whole * many / MOST) for at, many in found.items())

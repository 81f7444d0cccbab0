"""What the kubelet does with a pod on a node: refuse it, or hand out which cards how likely.

Follows Kubernetes 1.36.3: container by container, each with its affinity, its devices taken before
the next one's affinity is looked for (scope pod: one affinity for all). CPU and memory managers are
left out: they give hints for Guaranteed pods with whole CPUs only, and those can only narrow.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import prod
from typing import Final

from podrail.kubelet import allocation, draw, hints
from podrail.kubelet.allocation import MOST_OUTCOMES
from podrail.kubelet.draw import Draw
from podrail.kubelet.hints import Affinity, Hints
from podrail.kubelet.node import Container, Counts, Kind, Node, Policy, Request, Scope, Stock


class Code(StrEnum):
    """Why a kubelet refuses a pod; each but the first is its TopologyAffinityError."""

    TOO_FEW_DEVICES = "TooFewDevices"
    NUMA_TOO_SMALL = "NumaTooSmall"
    NUMA_FRAGMENTED = "NumaFragmented"
    NUMA_DISAGREE = "NumaDisagree"


MESSAGES: Final = {
    Code.TOO_FEW_DEVICES: "fewer devices are free than the pod asks for",
    Code.NUMA_TOO_SMALL: "single-numa-node: no NUMA node has as many devices as the pod asks for",
    Code.NUMA_FRAGMENTED: "the free devices lie on more NUMA nodes than the pod would need",
    Code.NUMA_DISAGREE: "the pod's resources cannot all come from the same NUMA nodes",
}
"""Fixed, because kube-scheduler compares reasons."""


class Lasting(StrEnum):
    """How long a refusal holds: whatever is freed, or until devices are."""

    PERMANENT = "permanent"
    TEMPORARY = "temporary"


@dataclass(frozen=True, slots=True)
class Refused:
    """The kubelet is certain to refuse the pod."""

    code: Code
    lasting: Lasting

    @property
    def message(self) -> str:
        """The code's sentence; it never varies."""
        return MESSAGES[self.code]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The GPUs and NICs of a pod by number, one entry for each device, and how likely they are."""

    gpus: tuple[int, ...]
    nics: tuple[int, ...]
    chance: Fraction


@dataclass(frozen=True, slots=True)
class Outcomes:
    """What the pod may get; the chances and that of a refusal add up to one.

    Not exact: outcomes were thinned to MOST_OUTCOMES, or an order had to be guessed.
    """

    outcomes: tuple[Outcome, ...]
    exact: bool
    refused: Fraction = Fraction()
    """How likely it is that an earlier container's devices leave a later one without."""


@dataclass(frozen=True, slots=True)
class _State:
    """On the way through a pod's containers, for each resource: free, left by init, handed out."""

    free: tuple[Counts, ...]
    reusable: tuple[Counts, ...]
    got: tuple[Counts, ...]


@lru_cache(maxsize=16384)
def outcomes(node: Node, request: Request) -> Refused | Outcomes:
    """What the kubelet does with a pod on a node; the request is not empty of known resources.

    Refused if it is certain to refuse it: permanently if it also would with every device free.
    """
    found = _walk(node, request)
    if not isinstance(found, Code):
        return found
    whole = node.machine.everything()
    never = node == whole or isinstance(_walk(whole, request), Code)
    return Refused(found, Lasting.PERMANENT if never else Lasting.TEMPORARY)


def _start(node: Node) -> _State:
    none = tuple((0,) * len(counts) for counts in node.free)
    return _State(node.free, none, none)


def _walk(node: Node, request: Request) -> Outcomes | Code:
    states: dict[_State, Fraction] = {_start(node): draw.ONE}
    exact, refused, why = True, Fraction(), Code.TOO_FEW_DEVICES
    for container in request:
        found: dict[_State, Fraction] = {}
        for state, chance in states.items():
            step = _step(node, request, state, (container, max(1, MOST_OUTCOMES // len(states))))
            if isinstance(step, Code):
                refused, why = refused + chance, step
                continue
            exact = exact and step.exact
            for after, share in step.states:
                found[after] = found.get(after, Fraction()) + chance * share
        states = found
        if not states:
            return why
    return Outcomes(_told(node, states), exact, refused)


@dataclass(frozen=True, slots=True)
class _Step:
    states: tuple[tuple[_State, Fraction], ...]
    exact: bool


def _step(node: Node, request: Request, state: _State, turn: tuple[Container, int]) -> _Step | Code:
    """What one container's turn makes of a state, in at most so many outcomes."""
    container, most = turn
    wants = _wants(node, container)
    found = _aligned(node, request, state, container)
    if isinstance(found, Code):
        return found
    if any(sum(state.free[at]) + sum(state.reusable[at]) < want for at, want in wants):
        return Code.TOO_FEW_DEVICES
    draws: list[Draw] = []
    # GPUs first, so that it is the NICs' outcomes that are thinned.
    wants.sort(key=lambda one: not node.machine.resources[one[0]].gpu)
    for at, want in wants:
        left = max(1, most // prod(len(one.chances) for one in draws))
        draws.append(draw.thinned(_drawn(node, state, (at, want), found.mask), left))
    states = []
    for some in product(*(one.chances for one in draws)):
        got = {at: counts for (at, _), (counts, _) in zip(wants, some, strict=True)}
        chance = prod((chance for _, chance in some), start=draw.ONE)
        states.append((_after(state, container, got), chance))
    return _Step(tuple(states), all(one.exact for one in draws))


def _drawn(node: Node, state: _State, want: tuple[int, int], mask: int | None) -> Draw:
    """The devices that a container gets of a resource, those that init containers left first."""
    at, count = want
    reusable = state.reusable[at]
    if count <= sum(reusable):
        return draw.blind(reusable, count, MOST_OUTCOMES)
    stock = Stock(state.free[at], reusable)
    return allocation.fresh(node.machine.resources[at], stock, count, mask).shifted(reusable)


def _after(state: _State, container: Container, got: Mapping[int, Counts]) -> _State:
    """The state once the container has its devices; init containers leave them to others."""
    free, reusable, given = list(state.free), list(state.reusable), list(state.got)
    for at, counts in got.items():
        # Left ones come first: either they suffice, or every one of them is taken.
        again = counts if sum(counts) <= sum(reusable[at]) else reusable[at]
        fresh = draw.minus(counts, again)
        free[at] = draw.minus(free[at], fresh)
        if container.kind is Kind.INIT:
            reusable[at] = draw.plus(reusable[at], fresh)
            continue
        reusable[at] = draw.minus(reusable[at], again)
        given[at] = draw.plus(given[at], counts)
    return _State(tuple(free), tuple(reusable), tuple(given))


def _told(node: Node, states: Mapping[_State, Fraction]) -> tuple[Outcome, ...]:
    """The outcomes in order; what a pod sees is cards, not devices."""
    found: dict[tuple[tuple[int, ...], tuple[int, ...]], Fraction] = {}
    for state, chance in states.items():
        gpus, nics = list[int](), list[int]()
        for resource, counts in zip(node.machine.resources, state.got, strict=True):
            if any(counts):
                (gpus if resource.gpu else nics).extend(resource.numbers(counts))
        key = (tuple(sorted(gpus)), tuple(sorted(nics)))
        found[key] = found.get(key, Fraction()) + chance
    return tuple(Outcome(gpus, nics, chance) for (gpus, nics), chance in sorted(found.items()))


def _aligned(node: Node, request: Request, state: _State, container: Container) -> Affinity | Code:
    """The container's affinity, or why the policy refuses it."""
    kubelet = node.machine.kubelet
    whole_pod = kubelet.scope is Scope.POD
    wants = _summed(node, request) if whole_pod else _wants(node, container)
    then = _start(node) if whole_pod else state
    found = [
        hints.of(node.machine, at, Stock(then.free[at], then.reusable[at]), want)
        for at, want in wants
    ]
    affinity = hints.merge(node.machine, found)
    if hints.admits(kubelet.policy, affinity):
        return affinity
    return _why(kubelet.policy, [one for one in found if one is not None])


def _why(policy: Policy, found: Sequence[Hints]) -> Code:
    """Which of the reasons there is for hints that have no preferred one in common."""
    if not all(one.masks for one in found):
        return Code.TOO_FEW_DEVICES
    if policy is Policy.SINGLE_NUMA_NODE and any(one.narrowest > 1 for one in found):
        return Code.NUMA_TOO_SMALL
    if not all(one.preferred for one in found):
        return Code.NUMA_FRAGMENTED
    return Code.NUMA_DISAGREE


def _wants(node: Node, container: Container) -> list[tuple[int, int]]:
    """Positions of resources, and how many devices of each."""
    places = {resource.name: at for at, resource in enumerate(node.machine.resources)}
    return [(places[name], want) for name, want in container.wants if name in places]


def _summed(node: Node, request: Request) -> list[tuple[int, int]]:
    """What the pod's containers need at once (k8s.io/component-helpers v0.36.3, PodLimits)."""
    beside: dict[int, int] = {}
    peak: dict[int, int] = {}
    for container in request:
        for at, want in _wants(node, container):
            before = beside.get(at, 0)
            peak[at] = max(peak.get(at, 0), before + want)
            if container.kind is not Kind.INIT:
                beside[at] = before + want
    return sorted(peak.items())

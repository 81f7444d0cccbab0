"""Which rails a pod gets whose rails are chosen at the bind.

Rails that others use come last: where a pod takes some of a node's rails they are to be its own.
Then those that line up with the GPUs that the kubelet will hand out, those that the job has on its
other nodes, those that fewest use, of few NUMA nodes, admission's own, and the lowest.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations, islice
from typing import Final

from podrail import alignment
from podrail.fabric import Profile
from podrail.score import outcomes
from podrail.score.kin import NOBODY, Kin
from podrail.score.need import Need
from podrail.score.outcomes import Got, Lot
from podrail.score.state import State

MOST_CHOICES: Final = 2000
"""Sets of rails compared at a bind; 4 of 8 are 70. Of more, the most promising ones."""
MOST_PAIRED: Final = 70
"""Of those, the sets that are paired with the GPUs that may come."""
MOST_GPU_SETS: Final = 12


@dataclass(frozen=True, slots=True)
class Rails:
    """The rails of a pod, and whether others use some of them that were to be its own."""

    rails: tuple[int, ...]
    conflict: bool


@lru_cache(maxsize=256)
def movable(fabric: Profile) -> Mapping[str, int]:
    """The rail that each network stands for; none at all if one network stands for several."""
    found: dict[str, int] = {}
    for network in fabric.networks:
        if (
            network.rail is not None
            and found.setdefault(network.name, network.rail) != network.rail
        ):
            return {}
    return found


def there(state: State | None, need: Need) -> tuple[int, ...]:
    """The rails that can be chosen and used on the node; an unknown node has them all."""
    if not need.late or need.fabric is None:
        return ()
    rails = set(movable(need.fabric).values())
    return tuple(sorted(rails if state is None else rails & set(state.rails)))


def exclusive(state: State | None, need: Need) -> bool:
    """True if the pod's rails are to be its own: one that gets every rail shares by its profile."""
    return 0 < len(need.rails) < len(there(state, need))


def rails(state: State | None, need: Need, used: Mapping[int, int], kin: Kin = NOBODY) -> Rails:
    """The rails that the pod gets; admission's if they were counted, or if no other is free."""
    stay, here = need.rails, there(state, need)
    wanted = min(len(stay), len(here))
    if not wanted:
        return Rails(stay, conflict=False)
    alone = exclusive(state, need)
    if alone and all(used.get(rail) for rail in here) and set(stay) <= set(here):
        return Rails(stay, conflict=True)
    chosen = _Desk(state, need, used, kin).best(here, wanted)
    return Rails(chosen, alone and any(used.get(rail) for rail in chosen))


@dataclass(frozen=True)
class _Desk:
    """What sets of rails are compared by."""

    state: State | None
    need: Need
    used: Mapping[int, int]
    kin: Kin

    def best(self, here: tuple[int, ...], wanted: int) -> tuple[int, ...]:
        """The best set of so many of the rails here; ascending."""
        promising = sorted(here, key=lambda rail: (*self._promise((rail,)), rail))
        sets = [
            tuple(sorted(some)) for some in islice(combinations(promising, wanted), MOST_CHOICES)
        ]
        fewest = min(self._shared(some) for some in sets)
        sets = [some for some in sets if self._shared(some) == fewest]
        sets.sort(key=lambda some: (*self._promise(some), some))
        return min(sets[:MOST_PAIRED], key=lambda some: (-self._paired(some), *self._rest(some)))

    def _shared(self, some: tuple[int, ...]) -> int:
        """How many of them others use, if they are to be the pod's own."""
        return sum(1 for rail in some if self.used.get(rail)) if self._alone else 0

    @cached_property
    def _alone(self) -> bool:
        return exclusive(self.state, self.need)

    def _promise(self, some: tuple[int, ...]) -> tuple[float | tuple[int, ...], ...]:
        """A quick guess at the rank of a set, since pairing each of thousands would take long."""
        near = sum(self._near.get(rail, 0.0) for rail in some)
        return (self._shared(some), -near, *self._rest(some)[:-1])

    def _rest(self, some: tuple[int, ...]) -> tuple[float | tuple[int, ...], ...]:
        return (
            -round(sum(self.kin.share(rail) for rail in some), 6),
            sum(self.used.get(rail, 0) for rail in some),
            len({self._group[rail] for rail in some}),
            len(set(some).difference(self.need.rails)),
            some,
        )

    def _paired(self, some: tuple[int, ...]) -> float:
        """What the pairing with the GPUs that may come is worth."""
        if self.state is None:
            return 0.0
        topology = self.state.topology
        pairs = (one.chance * alignment.best(topology, one.gpus, some).worth for one in self._got)
        return round(math.fsum(pairs), 6)

    @cached_property
    def _got(self) -> tuple[Got, ...]:
        """The likeliest sets of GPUs."""
        lot = None if self.state is None else outcomes.of(self.state, self.need)
        got = [one for one in lot.got if one.gpus] if isinstance(lot, Lot) else []
        return tuple(sorted(got, key=lambda one: -one.chance)[:MOST_GPU_SETS])

    @cached_property
    def _near(self) -> Mapping[int, float]:
        """What each rail is worth to the GPUs that may come, each by itself."""
        worth = {} if self.state is None else self.state.topology.worth
        return {
            rail: round(
                math.fsum(one.chance * row[gpu] for one in self._got for gpu in one.gpus), 6
            )
            for rail, row in worth.items()
        }

    @cached_property
    def _group(self) -> Mapping[int, tuple[bool, int]]:
        """The NUMA node of each rail, else its group in the profile."""
        groups = () if self.need.fabric is None else self.need.fabric.rails.numa_groups
        found = {rail: (False, at) for at, group in enumerate(groups) for rail in group}
        for rail in () if self.state is None else self.state.rails:
            numa = None if self.state is None else self.state.topology.numa_of(rail)
            if numa is not None:
                found[rail] = (True, numa)
        return found

"""Which block the rest of a job should fill, then which leaf in it, then which NVLink domain.

Free nodes are counted over the names that kube-scheduler asks about: its own view. A job goes on
where it has begun; else it takes the smallest place that can host its rest, so that large ones stay
whole; a job too large for any place fills the largest first, and so the fewest.
"""

import zlib
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from podrail.gang.claims import Claimed
from podrail.gang.job import Job
from podrail.gang.siblings import Crew
from podrail.locality import NEUTRAL, NOWHERE, Level, Place

BEST: Final = 1.0
SECOND: Final = 0.75
"""The most that a place which is not the best can be worth."""
TOO_SMALL: Final = 0.4
"""The most that a place which cannot host the rest can be worth where another can."""
INSIDE: Final = 0.2
"""What the choice inside a place is worth: less than that between places ever is."""
LOOKED_INTO: Final = 4
"""The best places of a level, whose insides are compared: a pod hardly ever goes to another."""
_WIDE: Final = (Level.ZONE, Level.FABRIC)
_Spot = tuple[Sequence[str], int]
"""A place's names, and how many free nodes it has."""


@dataclass(frozen=True, slots=True)
class Seeker:
    """A pod that seeks a node: its job, its bound siblings, and what other jobs have claimed."""

    job: Job
    crew: Crew
    claimed: Claimed
    per_node: int = 1
    """How many of the job's pods a node can take."""
    proposed: Place = NOWHERE
    """What was best for the pod of the job whose bind is under way: it does not count yet."""

    @property
    def rest(self) -> int | None:
        """How many nodes the job still needs, one at least; None if its size is not known."""
        found = rest(self.job, self.crew, self.per_node)
        return None if found is None else max(found, 1)


def rest(job: Job, crew: Crew, per_node: int = 1) -> int | None:
    """How many nodes a job still needs besides those of its crew; None if that is not known."""
    size = job.expected
    return None if size is None else -(-max(size - crew.pods, 0) // max(per_node, 1))


def free(places: Sequence[Place]) -> Mapping[Place, int]:
    """How many of the free nodes are at each place; fast where nodes share their Place objects."""
    each = {id(place): place for place in places}
    found: Counter[Place] = Counter()
    for key, nodes in Counter(map(id, places)).items():
        found[each[key]] += nodes
    return found


def grade(there: Mapping[Place, int], seeker: Seeker) -> Mapping[Place, float]:
    """How well each place suits the rest of the job, from 0 to 1; the best one gets 1.

    there has the number of free nodes of each place. The block decides, then the leaf inside it,
    then the domain inside that; zone and fabric come first for a job that has begun somewhere, or
    that no block can host. All are neutral if nothing is known of any.
    """
    spots = [(place.names, nodes) for place, nodes in there.items()]
    known = [{names[level] for names, _ in spots} for level in Level]
    if not any(map(any, known)):
        return dict.fromkeys(there, NEUTRAL)
    levels = [level for level in Level if len(known[level]) > 1]
    if not seeker.crew.pods and (seeker.rest is None or _hosted(spots, seeker)):
        levels = [level for level in levels if level not in _WIDE]
    return dict(zip(there, _inside(spots, seeker, levels), strict=True))


def _hosted(spots: Sequence[_Spot], seeker: Seeker) -> bool:
    """True if a block can host the rest of the job."""
    sums: Counter[str] = Counter()
    for names, nodes in spots:
        sums[names[Level.BLOCK]] += nodes
    del sums[""]
    room = _room(sums, seeker, Level.BLOCK)
    return max(room.values(), default=0) >= (seeker.rest or 0)


def _inside(spots: Sequence[_Spot], seeker: Seeker, levels: Sequence[Level]) -> list[float]:
    """The worth of each spot by these levels: each level decides between equals of the last."""
    if not levels or len(spots) == 1:
        return [BEST] * len(spots)
    level, closer = levels[0], levels[1:]
    groups: defaultdict[str, list[int]] = defaultdict(list)
    for at, (names, _) in enumerate(spots):
        groups[names[level]].append(at)
    sums = {name: sum(spots[at][1] for at in group) for name, group in groups.items()}
    worth, found = fit(sums, seeker, level), [BEST] * len(spots)
    looked_into = set(sorted(worth, key=worth.__getitem__)[-LOOKED_INTO:])
    for name, group in groups.items():
        some = [spots[at] for at in group]
        inner = _inside(some, seeker, closer if name in looked_into else ())
        for at, one in zip(group, inner, strict=True):
            found[at] = worth[name] * (BEST - INSIDE + INSIDE * one)
    return found


def fit(there: Mapping[str, int], seeker: Seeker, level: Level) -> dict[str, float]:
    """How well the places of one level suit the rest of the job: the best gets 1, others less.

    there has the number of free nodes by the place's name. The empty name, which is that of the
    unknown, is neutral beside others, and on its own the best.
    """
    known = {name: nodes for name, nodes in there.items() if name}
    if len(there) == 1 or not known:
        return dict.fromkeys(there, BEST)
    room, wanted = _room(known, seeker, level), seeker.rest
    most = max(room.values())
    found = {name: _worth(nodes, wanted, most) for name, nodes in room.items()}
    found[_best(room, seeker, level)] = BEST
    return dict.fromkeys(there, NEUTRAL) | found


def _best(room: Mapping[str, int], seeker: Seeker, level: Level) -> str:
    """Where the job has begun, where most of it runs; else the fittest place, else by chance.

    It has also begun where it is about to: the place is short of a node already, and would no
    longer be the fittest.
    """
    own, wanted = seeker.crew.at(level), seeker.rest
    begun = {name: own[name] for name, nodes in room.items() if nodes and name in own}
    about = seeker.proposed.names[level]
    if not begun and room.get(about):
        begun = {about: 0}
    most = max(begun.values(), default=0)
    names = [name for name, pods in begun.items() if pods == most] or list(room)
    orders = [_order(room[name], wanted) for name in names]
    first = min(orders)
    equal = [name for name, order in zip(names, orders, strict=True) if order == first]
    # A chance that is the same for all pods of a job, whoever asks.
    return min(equal, key=lambda name: (zlib.crc32(f"{seeker.job.key} {name}".encode()), name))


def _room(there: Mapping[str, int], seeker: Seeker, level: Level) -> dict[str, int]:
    """The free nodes that no other job has claimed.

    Where at least half of the job runs, claims count for nothing: it is at home there, and a pod
    that replaces another comes back. Nor do they in a fabric where it has begun, since its pods
    may not reach each other from another one.
    """
    own, size = seeker.crew.at(level), seeker.job.size or seeker.crew.pods
    claimed, found = seeker.claimed[level], dict(there)
    for name in claimed.keys() & there.keys():
        here = own.get(name, 0)
        if not here or (level not in _WIDE and 2 * here < size):
            found[name] = max(there[name] - claimed[name], 0)
    return found


def _order(room: int, wanted: int | None) -> tuple[bool, int]:
    """Whichever is least comes first: the smallest that hosts the rest, else the largest."""
    if wanted is not None and room >= wanted:
        return (False, room)
    return (True, -room)


def _worth(room: int, wanted: int | None, most: int) -> float:
    """The share of the place that the rest fills, or the share of the rest that fits."""
    if wanted is None or most < wanted:
        return SECOND * room / max(most, 1)
    return SECOND * wanted / room if room >= wanted else TOO_SMALL * room / wanted

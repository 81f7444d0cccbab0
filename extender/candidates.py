"""The nodes of one question as they are at one moment, counted by state and place.

Thousands of nodes are in few states and at some hundred places: what is asked about a node is
worked out once for each of these, and a node's name is only looked up.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from operator import attrgetter
from typing import Final

from podrail.locality import NOWHERE, Place
from podrail.score import value
from podrail.score.state import State
from podrail.score.value import Seat

UNKNOWN: Final = value.seat(None, NOWHERE)
"""The seat of every node that no watch has shown."""


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """The seat of each name, in order; good for these names until the moment is another."""

    names: Sequence[str]
    moment: int
    seats: Sequence[Seat]
    counts: Mapping[Seat, int]
    """The different seats, and how many of the nodes have each."""
    states: Sequence[State]
    """The different states; there is none of a node of which nothing is known."""

    @classmethod
    def of(cls, names: Sequence[str], moment: int, seats: Mapping[str, Seat]) -> "Candidates":
        """The candidates of these names; seats has those of all nodes."""
        found = list(map(seats.get, names, repeat(UNKNOWN)))
        counts = Counter(found)
        different = {id(state): state for state in map(attrgetter("state"), counts)}
        states = [state for state in different.values() if state is not None]
        return cls(names, moment, found, counts, states)

    @property
    def most_gpus(self) -> int:
        """The GPUs of the largest machine type among them; 0 if none is known."""
        return max((len(state.topology.gpus) for state in self.states), default=0)

    def there(self) -> Mapping[Place, int]:
        """The nodes at each place; by identity first, since places are compared by all names."""
        places: dict[int, Place] = {}
        found: defaultdict[int, int] = defaultdict(int)
        for seat, nodes in self.counts.items():
            place = seat.place
            places[id(place)] = place
            found[id(place)] += nodes
        return {places[key]: nodes for key, nodes in found.items()}

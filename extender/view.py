"""The cluster as a job sees it: how near each place is, and what the pods are like that it has."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Final

from podrail.gang import ties
from podrail.gang.blocks import BEST, Seeker
from podrail.locality import NOWHERE, Place
from podrail.score.kin import Kin, Near

BINDING_SECONDS: Final = 2.0
"""A bind that takes longer has failed: the httpTimeout of our scheduler's configuration."""


@dataclass(frozen=True, slots=True)
class View:
    """A job's kin, and the places that it sees in some way; it follows from asked alone."""

    asked: Hashable
    kin: Kin
    nears: Mapping[Place, Near]
    there: Mapping[Place, int]
    """The free nodes of each place."""
    pods: int
    """How many of the job were bound."""
    until: float
    """When a pod that was placed by it is bound, or never will be."""

    @classmethod
    def of(cls, asked: Hashable, seeker: Seeker, there: Mapping[Place, int], now: float) -> "View":
        """The view of a pod that seeks a node."""
        nears, pods = ties.nears(there, seeker), seeker.crew.pods
        return cls(asked, ties.kin(seeker.crew), nears, there, pods, now + BINDING_SECONDS)

    def proposed(self, there: Mapping[Place, int], pods: int, now: float) -> Place:
        """The best place, if a node of it went and no pod of the job was bound since.

        That is a sibling whose bind is under way: kube-scheduler has counted it, and we not yet.
        """
        if pods != self.pods or now >= self.until:
            return NOWHERE
        best = (place for place, near in self.nears.items() if near.block == BEST)
        return next((one for one in best if there.get(one, 0) < self.there[one]), NOWHERE)

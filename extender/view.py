"""The cluster as a job sees it: how near each place is, and what the pods are like that it has."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass

from podrail import ties
from podrail.blocks import Seeker
from podrail.locality import Place
from podrail.score.kin import Kin, Near


@dataclass(frozen=True, slots=True)
class View:
    """A job's kin, and the places that it sees in some way; it follows from asked alone."""

    asked: Hashable
    kin: Kin
    nears: Mapping[Place, Near]

    @classmethod
    def of(cls, asked: Hashable, seeker: Seeker, there: Mapping[Place, int]) -> "View":
        """The view of a pod that seeks a node, with the free nodes of each place."""
        return cls(asked, ties.kin(seeker.crew), ties.nears(there, seeker))

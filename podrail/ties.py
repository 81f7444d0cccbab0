"""What ties a pod to nodes: its job's bound pods, and the places that the rest of the job fits.

The one way from counts (siblings, blocks, claims) to what a score takes from them.
"""

from collections.abc import Mapping

from podrail import blocks
from podrail.blocks import Seeker
from podrail.locality import Place
from podrail.score import kin as kins
from podrail.score.kin import NOBODY, Kin, Near
from podrail.siblings import Crew


def kin(crew: Crew) -> Kin:
    """The rails, GPU products and NIC speeds of a job's bound pods."""
    return kins.of(crew.rails, crew.products, crew.speeds) if crew.pods else NOBODY


def nears(there: Mapping[Place, int], seeker: Seeker) -> Mapping[Place, Near]:
    """How the job sees each place; there has how many free nodes each one has.

    Where no node says where it is there is nothing to say.
    """
    if not any(any(place.names) for place in there):
        return {}
    return {
        place: near(place, seeker, grade) for place, grade in blocks.grade(there, seeker).items()
    }


def near(place: Place, seeker: Seeker, block: float | None) -> Near:
    """How the job sees one place; block is how well its rest fits there."""
    crew, index = seeker.crew, seeker.job.index
    if not crew.pods:
        return Near(block=block)
    neighbours = None if index is None else crew.neighbours(index, place.leaf)
    return Near(crew.closeness(place), neighbours, block)

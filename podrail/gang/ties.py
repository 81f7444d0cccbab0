"""What ties a pod to nodes: its job's bound pods, and the places that the rest of the job fits.

The one way from counts (siblings, blocks, claims) to what a score takes from them.
"""

from collections.abc import Mapping

from podrail.gang import blocks
from podrail.gang.blocks import Seeker
from podrail.gang.siblings import Crew
from podrail.locality import NOWHERE, Level, Place
from podrail.score import kin as kins
from podrail.score.kin import NOBODY, Kin, Near


def kin(crew: Crew) -> Kin:
    """The rails, GPU products and NIC speeds of a job's bound pods."""
    return kins.of(crew.rails, crew.products, crew.speeds) if crew.pods else NOBODY


def nears(there: Mapping[Place, int], seeker: Seeker) -> Mapping[Place, Near]:
    """How the job sees each place; there has how many free nodes each one has.

    Where no node says where it is there is nothing to say.
    """
    if set(there) == {NOWHERE}:
        return {}
    grades, crew = blocks.grade(there, seeker), seeker.crew
    if not crew.pods:
        return {place: Near(block=grade) for place, grade in grades.items()}
    used = [crew.at(level) for level in Level]
    seen: dict[tuple[str | bool, ...], Near] = {}
    found: dict[Place, Near] = {}
    for place, grade in grades.items():
        # Places without a pod of the job are alike but for their grades.
        names = zip(place.names, used, strict=True)
        key = tuple([name if name in there else bool(name) for name, there in names])
        one = seen.get(key)
        if one is None:
            one = seen[key] = near(place, seeker)
        found[place] = Near(one.closeness, one.neighbours, grade)
    return found


def near(place: Place, seeker: Seeker, block: float | None = None) -> Near:
    """How the job sees one place; block is how well its rest fits there."""
    crew, index = seeker.crew, seeker.job.index
    if not crew.pods:
        return Near(block=block)
    neighbours = None if index is None else crew.neighbours(index, place.leaf)
    return Near(crew.closeness(place), neighbours, block)

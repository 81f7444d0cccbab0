"""The cluster as a job sees it: how near each place is, and what the pods are like that it has."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass

from podrail import blocks
from podrail.blocks import Seeker
from podrail.locality import NOWHERE, Level, Place
from podrail.score import kin
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
        grades = blocks.grade(there, seeker) if set(there) != {NOWHERE} else {}
        return cls(asked, like(seeker), _nears(grades, seeker))


def _nears(grades: Mapping[Place, float], seeker: Seeker) -> Mapping[Place, Near]:
    """Each place as the job's next pod sees it; places without a pod of the job are alike."""
    crew = seeker.crew
    if not crew.pods:
        return {place: Near(block=grade) for place, grade in grades.items()}
    used = [crew.at(level) for level in Level]
    seen: dict[tuple[str | bool, ...], Near] = {}
    found: dict[Place, Near] = {}
    for place, grade in grades.items():
        names = zip(place.names, used, strict=True)
        key = tuple([name if name in there else bool(name) for name, there in names])
        one = seen.get(key)
        if one is None:
            one = seen[key] = near(place, seeker)
        found[place] = Near(one.closeness, one.neighbours, grade)
    return found


def near(place: Place, seeker: Seeker, block: float | None = None) -> Near:
    """A place as the job's next pod sees it; block is how well the rest of the job fits there."""
    crew, index = seeker.crew, seeker.job.index
    if not crew.pods:
        return Near(block=block)
    neighbours = None if index is None else crew.neighbours(index, place.leaf)
    return Near(crew.closeness(place), neighbours, block)


def like(seeker: Seeker) -> Kin:
    """What the job's bound pods use and run on."""
    crew = seeker.crew
    return kin.of(crew.rails, crew.products, crew.speeds)

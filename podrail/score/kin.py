"""What a node's worth takes from the pods of the same job that run already."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Kin:
    """A job's rails by their share, its GPUs' products and its rails' speeds; empty is unknown."""

    rails: tuple[tuple[int, float], ...] = ()
    """Each rail in use, 1 for the one that most pods use."""
    products: frozenset[str] = frozenset()
    speeds: frozenset[int] = frozenset()

    def share(self, rail: int) -> float:
        """How usual the rail is in the job, from 0 to 1."""
        return dict(self.rails).get(rail, 0.0)


NOBODY: Final = Kin()
"""The job of a pod that is the first, or the only one."""


def of(
    rails: Mapping[int, int], products: Collection[str] = (), speeds: Collection[int] = ()
) -> Kin:
    """The kin of pods that use rails so often, on nodes with such GPUs and such NICs."""
    most = max(rails.values(), default=0)
    shares = ((rail, round(many / most, 2)) for rail, many in sorted(rails.items()) if many > 0)
    return Kin(tuple(shares), frozenset(products) - {""}, frozenset(speeds))


@dataclass(frozen=True, slots=True)
class Near:
    """A node's place as the job sees it, each from 0 to 1; None where there is nothing to say.

    closeness is to the job's pods, neighbours to those with the next indexes, block how well the
    rest of the job fits there, also of one that has begun: closeness alone cannot choose the next
    leaf once one is full.
    """

    closeness: float | None = None
    neighbours: float | None = None
    block: float | None = None


ANYWHERE: Final = Near()
"""A place of which nothing is known."""

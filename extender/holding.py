"""What a waiting pod of ours will hold of whichever node it comes to, for its bind or a plan."""

from dataclasses import dataclass

from extender.asking import Desk
from extender.known import Document, Held, Known
from extender.node import Spot
from podrail.fabric import Profile
from podrail.placement import Wish
from podrail.score import choice
from podrail.score.choice import Rails


@dataclass(frozen=True, slots=True)
class Holding:
    """A pod's document, its wish, its fabric if there is such a profile now, and what it takes."""

    document: Document
    wish: Wish
    fabric: Profile | None
    held: Held

    def rails(self, spot: Spot) -> Rails:
        """The rails that it gets on a node."""
        return choice.rails(spot.state, self.wish.need(self.fabric), spot.used, spot.kin)


def of(pod: Known | None, desk: Desk, scheduler: str) -> Holding | None:
    """What a pod will hold; None for one that does not wait, is not ours or another scheduler's.

    An empty scheduler is any.
    """
    if pod is None or pod.document is None:
        return None
    wanted = desk.asked(pod.document)
    given = pod.document["spec"].get("schedulerName")
    if wanted is None or wanted.wish is None or (scheduler and given != scheduler):
        return None
    wish = wanted.wish
    held = Held(pod.held.devices, wish.marker.rails, job=wish.job)
    return Holding(pod.document, wish, wanted.fabric, held)

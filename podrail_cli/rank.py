"""`podrail rank`: the nodes of a cluster for one pod, best first, by the extender's own rules."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from podrail import names
from podrail.evidence.atlas import Found
from podrail.explanation import Candidate, Explanation
from podrail_cli import output


@dataclass(frozen=True, slots=True)
class Ranked:
    """A node and what it is worth to the pod; reason says why it cannot run there."""

    node: str
    shape: str
    score: int
    expected: float | None
    tier: str
    reason: str

    def document(self) -> dict[str, Any]:
        """The node as `-o json` prints it."""
        return {
            "node": self.node,
            "shape": self.shape,
            "score": self.score,
            "expected": self.expected,
            "tier": self.tier,
            "reason": self.reason,
        }


def rank(explained: Explanation) -> list[Ranked]:
    """Every node of the cluster: those that fit by score, then the others by name."""
    misses = sorted(explained.misses, key=lambda one: one.spot.name)
    return [_ranked(one) for one in (*explained.best, *misses)]


def broken(found: Mapping[str, Found]) -> list[str]:
    """What tells of nodes but cannot be read, a line each."""
    return [
        f"{node}: {one.evidence} is not used: {one.why}"
        for node, known in sorted(found.items())
        for one in known.unused
        if one.broken
    ]


def _ranked(one: Candidate) -> Ranked:
    found = one.outlook
    worth = None if found is None else found.worth
    return Ranked(
        node=one.spot.name,
        shape=one.spot.labels.get(names.INSTANCE_TYPE, ""),
        score=one.points,
        expected=None if worth is None else round(worth, 4),
        tier=found.tier.value if found is not None and found.tier is not None else "",
        reason=one.reason,
    )


def table(ranked: Sequence[Ranked]) -> str:
    """The nodes as a table for people."""
    rows = [
        (
            one.node,
            one.shape or "-",
            "-" if one.reason else str(one.score),
            "?" if one.expected is None else f"{one.expected:.0%}",
            one.tier or "?",
            one.reason,
        )
        for one in ranked
    ]
    return output.table(("NODE", "SHAPE", "SCORE", "ALIGNED", "TIER", "WHY NOT"), rows)

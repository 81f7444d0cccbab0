"""A yard of blocks that jobs fill, pod by pod, each pod at the place that the rules grade best."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from podrail.gang import blocks
from podrail.gang.blocks import Seeker
from podrail.gang.claims import Claims
from podrail.gang.job import Job
from podrail.gang.siblings import Member, Siblings
from podrail.locality import Place

FOREVER = 1e9


def place(block: int, node: int = 0, leaf: int = 0) -> Place:
    """The place of a node in a block; with leaves of this many nodes, if any."""
    return Place(block=f"b{block}", leaf=f"b{block}/l{node // leaf}" if leaf else "")


def places(sizes: Iterable[int], leaf: int = 0) -> Counter[Place]:
    """The free nodes of each place in blocks of these sizes."""
    return Counter(
        place(block, node, leaf) for block, size in enumerate(sizes) for node in range(size)
    )


@dataclass
class Yard:
    """Free nodes, what is known of bound pods, and how many blocks each job has pods in."""

    free: Counter[Place]
    siblings: Siblings = field(default_factory=Siblings)
    claims: Claims = field(default_factory=Claims)
    used: dict[str, Counter[str]] = field(default_factory=dict)

    def seeker(self, job: Job) -> Seeker:
        """The job's next pod."""
        return Seeker(job, self.siblings.crew(job.key), self.claims.others(job.key, 0))

    def grades(self, job: Job) -> Mapping[Place, float]:
        """How well each place with a free node suits the job's next pod."""
        return blocks.grade({one: n for one, n in self.free.items() if n}, self.seeker(job))

    def put(self, job: Job, spot: Place) -> str:
        """Bind the job's next pod at a place; its UID comes back."""
        uid = f"uid-{len(self.siblings)}"
        self.free[spot] -= 1
        self.siblings.hold(uid, job.key, Member(f"node-{uid}", spot), FOREVER)
        rest = blocks.rest(job, self.siblings.crew(job.key)) or 0
        self.claims.make(job.key, spot, rest, FOREVER)
        self.used.setdefault(job.key, Counter())[spot.block] += 1
        return uid

    def run(self, pods: Sequence[Job], chance: Random) -> None:
        """Bind pods one after the other, each at one of its best places."""
        for job in pods:
            grades = self.grades(job)
            best = max(grades.values())
            self.put(job, chance.choice([one for one in grades if grades[one] == best]))


def fewest(sizes: Iterable[int], nodes: int) -> int:
    """The fewest blocks that can host a job that is alone."""
    count = 0
    for size in sorted(sizes, reverse=True):
        if nodes <= 0:
            break
        nodes, count = nodes - size, count + 1
    return count

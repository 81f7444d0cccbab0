"""A trace of jobs: when each comes, how many pods of how many GPUs, for how long, on which fabric.

A document `{jobs: [{name, arrival, pods, gpus, seconds, profile, copies, every}]}`; times are whole
seconds. A job is copied `copies` times, one copy every `every` seconds.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from podrail.errors import Problem
from podrail.reading import Reader

MOST_JOBS: Final = 100_000
MOST_PODS: Final = 100_000
MOST_GPUS: Final = 64
MOST_SECONDS: Final = 10**9


@dataclass(frozen=True, slots=True)
class Work:
    """One job; seconds is 0 for one that never ends."""

    name: str
    arrival: int
    pods: int
    gpus: int
    """Of each pod."""
    seconds: int
    profile: str


def read(document: object, profile: str = "") -> tuple[Work, ...]:
    """The jobs of a trace in the order of their arrival; profile is for those that name none.

    Raises:
        MalformedError: with every problem.
    """
    top = Reader.of(document, "")
    top.required("jobs")
    found: list[Work] = []
    for number, part in enumerate(top.parts("jobs", MOST_JOBS)):
        found += _jobs(part, number, profile)
        part.close()
    if len(found) > MOST_JOBS:
        top.wrong("jobs", f"expected at most {MOST_JOBS} jobs with all copies, got {len(found)}")
    seen: set[str] = set()
    for work in found:
        if work.name in seen:
            top.problems.append(Problem("jobs", f"there are two jobs with the name {work.name}"))
        seen.add(work.name)
    top.close()
    top.finish("the trace")
    return tuple(sorted(found, key=lambda one: one.arrival))


def _jobs(part: Reader, number: int, profile: str) -> Iterator[Work]:
    name = part.text("name", f"job-{number}", limit=63)
    arrival = part.integer("arrival", 0, 0, MOST_SECONDS)
    pods = part.integer("pods", 1, 1, MOST_PODS)
    gpus = part.integer("gpus", 8, 1, MOST_GPUS)
    seconds = part.integer("seconds", 0, 0, MOST_SECONDS)
    fabric = part.text("profile", profile, limit=63)
    copies = part.integer("copies", 1, 1, MOST_JOBS)
    every = part.integer("every", 0, 0, MOST_SECONDS)
    if not fabric:
        part.wrong("profile", "is required, here or as --profile")
    for copy in range(copies):
        one = name if copies == 1 else f"{name}-{copy}"
        yield Work(one, arrival + copy * every, pods, gpus, seconds, fabric)

"""What a program and its workers hold: memory, threads, open files; and whether that stays flat."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

MOST_GROWTH: Final = {"rss_mib": 8.0, "threads": 2.0, "files": 8.0}
"""What the median of the last third of a time may have over that of the second; the first warms up."""


@dataclass(frozen=True, slots=True)
class Sample:
    """All processes of a program together."""

    rss_mib: float
    threads: int
    files: int


def sample(pid: int) -> Sample:
    """What is held now."""
    family = _family(pid)
    pages = sum(int(Path(f"/proc/{one}/statm").read_text().split()[1]) for one in family)
    return Sample(
        pages * os.sysconf("SC_PAGE_SIZE") / 2**20,
        sum(len(list(Path(f"/proc/{one}/task").iterdir())) for one in family),
        sum(len(list(Path(f"/proc/{one}/fd").iterdir())) for one in family),
    )


def _family(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(one for child in children for one in _family(int(child)))]


def told(samples: Sequence[Sample]) -> dict[str, Any]:
    """For each gauge the medians of the second and of the last third, and the most that was held."""
    third = len(samples) // 3
    found = {}
    for name in MOST_GROWTH:
        values = [getattr(one, name) for one in samples]
        parts = values[third : 2 * third], values[2 * third :]
        middle, last = (round(median(one), 1) for one in parts)
        found[name] = {"middle": middle, "last": last, "most": round(max(values), 1)}
    return found


def grown(samples: Sequence[Sample]) -> list[str]:
    """Which gauges did not stay flat."""
    return [
        f"{name} grew from {one['middle']} to {one['last']}"
        for name, one in told(samples).items()
        if one["last"] - one["middle"] > MOST_GROWTH[name]
    ]

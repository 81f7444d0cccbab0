"""The table that all_reduce_perf of nccl-tests prints, in its versions since 2019.

    #     size     count  type redop  root   time  algbw   busbw #wrong   time  algbw   busbw #wrong
      33554432   8388608 float   sum    -1  461.2  72.75  136.41      0  460.9  72.80  136.50      0

Older ones have no root, and an error such as 2e-07 in place of the number of wrong values; without
checks it is N/A. mpirun puts [1,0]<stdout>: before each line if it is told to.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_TAG: Final = re.compile(r"^\s*\[\d+,\d+\](?:<std\w+>)?:?")
_RANK: Final = re.compile(r"#\s+Rank\s+(\d+)\s+.*?Pid\s+\d+ on\s+(\S+) device\s+(\d+)")
_WRONG: Final = re.compile(r"#\s*Out of bounds values\s*:\s*(\d+)\s+(\w+)")
_HEAD: Final = ("size", "busbw")
_NUMBER: Final = re.compile(r"\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")


@dataclass(frozen=True, slots=True)
class Row:
    """One message size in bytes, with the better bus bandwidth of both places in GB/s."""

    size: int
    busbw: float


@dataclass(frozen=True, slots=True)
class AllReduce:
    """What one run printed."""

    rows: tuple[Row, ...]
    hosts: tuple[str, ...]
    """The host of each rank, by rank; empty where the list of devices is missing."""
    wrong: int
    """Values that came out wrong: then nothing else counts."""

    @property
    def busbw(self) -> float:
        """The best bus bandwidth of all sizes in GB/s: small messages tell of latency."""
        return max((row.busbw for row in self.rows), default=0.0)


def read(text: str) -> AllReduce | None:
    """The run in a log; None if no table is in it."""
    lines = [_TAG.sub("", line) for line in text.splitlines()]
    rows = tuple(_rows(lines))
    ranks = {int(found[1]): found[2] for line in lines if (found := _RANK.search(line))}
    wrong = sum(int(found[1]) for line in lines if (found := _WRONG.search(line)))
    if not rows:
        return None
    return AllReduce(rows, tuple(ranks[rank] for rank in sorted(ranks)), wrong)


def _rows(lines: list[str]) -> Iterator[Row]:
    """The rows below each head; which columns the bandwidths are is what the head says."""
    at: tuple[int, ...] = ()
    width = 0
    for line in lines:
        words = line.split()
        if line.lstrip().startswith("#"):
            names = line.replace("#wrong", "wrong").lstrip(" #").split()
            if names[:1] == [_HEAD[0]] and _HEAD[1] in names:
                at = tuple(place for place, name in enumerate(names) if name == _HEAD[1])
                width = len(names)
            continue
        if at and len(words) == width and words[0].isdecimal():
            found = [float(words[place]) for place in at if _NUMBER.fullmatch(words[place])]
            if found:
                yield Row(int(words[0]), max(found))

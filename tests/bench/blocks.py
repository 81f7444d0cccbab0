"""Interleaved blocks of requests from the Go client in goload/, and what they say of each target.

Absolute times drift by a third on a shared machine; ratios of blocks that ran side by side do not.
"""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from controlplane.binaries import NotRun

_SOURCE: Final = Path(__file__).parent / "goload"
_LONGEST: Final = 300


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is measured: rounds of blocks, and the share of the usual requests in each."""

    rounds: int
    share: float

    def requests(self, usual: int) -> int:
        """The requests of a block."""
        return max(10, round(usual * self.share))


FULL: Final = Effort(rounds=9, share=1.0)
QUICK: Final = Effort(rounds=3, share=0.12)


@dataclass(frozen=True, slots=True)
class Target:
    """Where requests go: a file with a body a line, the CA to trust (none: plain HTTP), a token."""

    url: str
    bodies: Path
    ca: Path | str = ""
    token: str = ""


@dataclass(frozen=True, slots=True)
class Block:
    """One block of requests to one target; times in milliseconds, rate in requests a second."""

    p50: float
    p99: float
    rate: float
    errors: int
    first: str
    dials: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """The blocks of several targets, side by side."""

    blocks: Mapping[str, Sequence[Block]]
    sent: int
    """The requests to each target, those of the warm-up too."""

    def figures(self, name: str) -> dict[str, Any]:
        """Medians over the blocks of one target, and the sums of its errors and connections."""
        blocks = self.blocks[name]
        failed = [one.first for one in blocks if one.errors]
        return {
            "p50_ms": _median([one.p50 for one in blocks]),
            "p99_ms": _median([one.p99 for one in blocks]),
            "requests_per_second": round(statistics.median(one.rate for one in blocks)),
            "connections": sum(one.dials for one in blocks),
            "errors": sum(one.errors for one in blocks),
            **({"first_error": failed[0]} if failed else {}),
        }

    def all(self) -> dict[str, Any]:
        """The figures of every target."""
        return {name: self.figures(name) for name in self.blocks}

    def ratio(self, name: str, base: str) -> dict[str, float]:
        """The p50 over the base's, block by block: the median and the middle half."""
        return _spread([a.p50 / b.p50 for a, b in self._pairs(name, base)])

    def added(self, name: str, base: str) -> dict[str, float]:
        """The p50 less the base's in milliseconds, block by block: the median, the middle half."""
        return _spread([a.p50 - b.p50 for a, b in self._pairs(name, base)])

    def _pairs(self, name: str, base: str) -> list[tuple[Block, Block]]:
        return list(zip(self.blocks[name], self.blocks[base], strict=True))


def _median(values: Sequence[float]) -> float:
    return round(statistics.median(values), 3)


def _spread(values: Sequence[float]) -> dict[str, float]:
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return {"median": round(middle, 3), "q1": round(low, 3), "q3": round(high, 3)}


@dataclass(frozen=True, slots=True)
class Client:
    """The built Go client."""

    program: Path

    def compare(
        self, targets: Mapping[str, Target], connections: int, requests: int, rounds: int
    ) -> Comparison:
        """Blocks of requests to each target in turn, after one round that does not count."""
        sent = self._run(targets.values(), connections=connections, requests=requests,
                         rounds=rounds, warmups=1)  # fmt: skip
        return Comparison(dict(zip(targets, sent, strict=True)), requests * (rounds + 1))

    def send(self, target: Target, connections: int, requests: int) -> Block:
        """One block without a warm-up."""
        ((sent,),) = self._run(
            [target], connections=connections, requests=requests, rounds=1, warmups=0
        )
        return sent

    def _run(self, targets: Any, **plan: int) -> list[list[Block]]:
        order = {"targets": [asdict(one) for one in targets], **plan}
        ran = subprocess.run(
            [self.program],
            input=json.dumps(order, default=str),
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            timeout=_LONGEST,
        )
        return [[Block(**block) for block in blocks] for blocks in json.loads(ran.stdout)]


def build(folder: Path) -> Client:
    """The client, built into the folder.

    Raises:
        NotRun: there is no Go.
    """
    go = shutil.which("go")
    if go is None:
        raise NotRun("NOT RUN: the Go toolchain is missing, so no kube-apiserver-like client")
    program = folder / "goload"
    subprocess.run([go, "build", "-p=2", "-o", program, "."], cwd=_SOURCE, check=True)
    return Client(program)

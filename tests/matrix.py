"""The tests of the real control plane with each Kubernetes that is pinned, one after the other.

`python tests/matrix.py [version ...] [pytest arguments]`. What needs a kubelet, the image or a
browser is tried with the default version alone, by `make test`.
"""

import dataclasses
import os
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Final

import phases
from controlplane import binaries
from controlplane.binaries import NotRun
from phases import CLUSTER, Tally

ELSEWHERE: Final = f"kubelet, real node, image and page: with {binaries.DEFAULT} only, by make test"


def chosen(arguments: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The versions to try, all of them if none is named, and what is pytest's."""
    named = tuple(word for word in arguments if word in binaries.VERSIONS)
    return named or binaries.VERSIONS, tuple(word for word in arguments if word not in named)


def attempt(version: str, arguments: Sequence[str], environ: Mapping[str, str]) -> Tally:
    """What the tests came to; the programs are built before, where one sees how that goes on."""
    ours = {**environ, "PODRAIL_KUBERNETES": version}
    try:
        binaries.ready(ours)
    except NotRun as missing:
        return Tally(not_run=[str(missing)])
    phase = dataclasses.replace(CLUSTER, title=f"{CLUSTER.title} of Kubernetes {version}")
    return phases.execute(phase, arguments, ours)


def told(version: str, tally: Tally, seconds: float) -> str:
    """One line about a version, and one more for whatever was not run."""
    counts = f"{tally.passed} passed, {tally.failed} failed, {tally.skipped} skipped"
    lines = [f"Kubernetes {version}: {counts} in {seconds:.0f} s", *tally.not_run]
    return "\n  !!! ".join(lines)


def main(arguments: Sequence[str], environ: Mapping[str, str]) -> int:
    """Try all versions, also after one failed; one with which nothing passed counts as failed."""
    versions, rest = chosen(arguments)
    print(f"The matrix: {', '.join(versions)}, about {CLUSTER.seconds} s each", flush=True)
    lines, good = [], True
    for version in versions:
        began = time.monotonic()
        tally = attempt(version, rest, environ)
        lines.append(told(version, tally, time.monotonic() - began))
        good = good and tally.passed > 0 and not tally.failed
    print("", *lines, f"Not tried here: {ELSEWHERE}.", sep="\n")
    return int(not good)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))  # noqa: TID251 - a program reads the environment

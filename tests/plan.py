"""The whole test run: its plan with estimates, its phases, and at the end whatever did not run.

`python tests/plan.py [pytest arguments]`. With CI set, anything that did not run is a failure; with
COVERAGE set, coverage is measured, but not where seconds are.
"""

import os
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Final

import phases
from controlplane import binaries
from controlplane.binaries import NotRun
from phases import Phase, Tally
from realnode import needs

PHASES: Final = (
    Phase(
        "rules, doors and programs: unit and property tests",
        "not go and not cluster and not node and not image and not page",
        360,
    ),
    Phase(
        "the real Multus, the kubelet's packages, Helm and promtool, a Go client",
        "go",
        230,
        measured=False,
        once="builds them first, once: about 25 min",
    ),
    phases.CLUSTER,
    Phase(
        "a real node: kubelet, containerd, Multus and its plugins; the chart installed there",
        "node",
        560,
        measured=False,
        once="builds the image first, once: about 3 min",
    ),
    Phase("the rail map page in Chromium", "page", 90, measured=False),
    Phase(
        "the image: built for two architectures, run by containerd",
        "image",
        330,
        measured=False,
        once="debootstraps a Debian first, once: about 2 min",
    ),
)


def control_plane(environ: Mapping[str, str], names: Sequence[str] = binaries.NAMES) -> str:
    """What programs of Kubernetes cost before the first test that needs them."""
    found = binaries.found(environ, names)
    missing = [name for name in names if name not in found]
    if not missing:
        return "its programs are here"
    minutes = sum(binaries.MINUTES[name] for name in missing)
    return f"builds {', '.join(missing)} {binaries.VERSION} first, once: about {minutes:g} min"


def real_node(environ: Mapping[str, str]) -> str:
    """What the real node costs before its first test, or why it will not be there."""
    try:
        needs.check_here()
    except NotRun as missing:
        return str(missing)
    return control_plane(environ, [binaries.KUBELET])


def plan(environ: Mapping[str, str]) -> None:
    """Print what will be run and how long that takes."""
    notes = {"cluster": control_plane, "node": real_node}
    print("The plan (estimates for 2 cores):")
    for number, phase in enumerate(PHASES, 1):
        told = notes[phase.marks](environ) if phase.marks in notes else phase.once
        print(f"  {number}. {phase.title}: about {phase.seconds} s{told and f'; {told}'}")


def close(tally: Tally, seconds: float, *, strict: bool) -> int:
    """Print how it ended, what did not run last of all; the exit status."""
    print(f"\n{tally.passed} passed, {tally.failed} failed, {tally.skipped} skipped")
    print(f"in {seconds:.0f} s")
    for reason in tally.not_run:
        print(f"!!! {reason}")
    if not tally.not_run:
        print("Everything was run.")
    elif strict:
        print("!!! with CI set this is a failure")
    return int(tally.failed > 0 or (strict and bool(tally.not_run)))


def main(arguments: Sequence[str], environ: Mapping[str, str]) -> int:
    """Run all phases, also after one failed: CI should say everything at once."""
    began = time.monotonic()
    plan(environ)
    total = Tally()
    for phase in PHASES:
        one = phases.execute(phase, arguments, environ)
        total.passed += one.passed
        total.failed += one.failed
        total.skipped += one.skipped
        total.not_run += [reason for reason in one.not_run if reason not in total.not_run]
    return close(total, time.monotonic() - began, strict=bool(environ.get("CI")))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))  # noqa: TID251 - a program reads the environment

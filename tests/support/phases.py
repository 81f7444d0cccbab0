"""Phases of a test run: which tests pytest is told to run, and what came of them.

A phase that broke off counts as failed, and what pytest skipped as NOT RUN is told by its reason.
"""

import shlex
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import run
from typing import Final
from xml.etree import ElementTree as ET

NO_TESTS: Final = 5
NOT_RUN: Final = "NOT RUN: "


@dataclass(frozen=True, slots=True)
class Phase:
    """Tests that need the same things; marks chooses them, seconds is for two cores."""

    title: str
    marks: str
    seconds: int
    measured: bool = True
    once: str = ""
    """What is added the first time on a machine."""


CLUSTER: Final = Phase("the real control plane", "cluster", 1150)


@dataclass(slots=True)
class Tally:
    """What the phases so far came to."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    not_run: list[str] = field(default_factory=list)

    def add(self, report: Path) -> None:
        """Count what pytest reported of one phase."""
        for case in ET.parse(report).iter("testcase"):
            skip = case.find("skipped")
            if case.find("failure") is not None or case.find("error") is not None:
                self.failed += 1
            elif skip is None:
                self.passed += 1
            else:
                self.skipped += 1
                reason = skip.get("message", "")
                if reason.startswith(NOT_RUN) and reason not in self.not_run:
                    self.not_run.append(reason)


def execute(phase: Phase, arguments: Sequence[str], environ: Mapping[str, str]) -> Tally:
    """The tally of one phase; pytest's own output is shown as it comes."""
    measured = ["-m", "coverage", "run", "--parallel-mode"]
    tally = Tally()
    with tempfile.TemporaryDirectory(prefix="podrail-plan-") as folder:
        report = Path(folder) / "report.xml"
        command = [
            sys.executable,
            *(measured if environ.get("COVERAGE") and phase.measured else []),
            *("-m", "pytest", "-m", phase.marks, f"--junitxml={report}", *arguments),
        ]
        print(f"\n== {phase.title}\n$ {shlex.join(command[1:])}", flush=True)
        status = run(command, env=environ, check=False).returncode
        if report.exists():
            tally.add(report)
        # A run that broke off, or whose collection failed, may have reported no failed test.
        if status not in {0, NO_TESTS} and not tally.failed:
            tally.failed = 1
        if status == NO_TESTS and not arguments:
            tally.not_run.append(f"{NOT_RUN}{phase.title}: it holds no test")
    return tally

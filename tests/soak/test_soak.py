"""The soak in short, and that it would see what it looks for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import gauges
import pytest
from gauges import Sample

SECONDS = 9


def test_a_short_soak_is_flat_and_without_a_reset() -> None:
    """Nine seconds of what `make soak` does for fifteen minutes."""
    here = Path(__file__).resolve().parent
    run = subprocess.run(
        [sys.executable, here / "run.py", f"--seconds={SECONDS}"],
        env={**os.environ, "PYTHONPATH": str(here.parent / "support")},  # noqa: TID251 - a child lives in it
        capture_output=True,
        text=True,
        check=False,
    )
    assert 0 == run.returncode, f"{run.stdout}\n{run.stderr}"
    found = json.loads(run.stdout)
    assert {"webhook": 0, "extender": 0} == {name: found[name]["failed"] for name in ("webhook", "extender")}  # fmt: skip
    assert min(found["webhook"]["calls"], found["extender"]["calls"]) > 5 * SECONDS


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        (Sample(57.9, 12, 27), []),
        (Sample(58.1, 10, 20), ["rss_mib grew from 50 to 58.1"]),
        (Sample(50, 13, 20), ["threads grew from 10 to 13"]),
        (Sample(50, 10, 29), ["files grew from 20 to 29"]),
    ],
    ids=["flat", "memory", "threads", "files"],
)
def test_growth_is_seen(last: Sample, expected: list[str]) -> None:
    """Between the second and the last third; what is taken while it warms up does not count."""
    samples = [Sample(1, 1, 1)] * 3 + [Sample(50, 10, 20)] * 3 + [last] * 3
    assert expected == gauges.grown(samples)

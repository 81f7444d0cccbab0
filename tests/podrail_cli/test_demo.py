"""`podrail demo` as a newcomer runs it: what it shows, that it ends, and that it leaves nothing."""

from __future__ import annotations

import json
import signal
import time
import urllib.request
from pathlib import Path
from typing import Any

import commands
import pytest
from commands import Child

from podrail import names


def left(child: Child) -> list[str]:
    """The processes and temporary folders that it has left behind."""
    return [*child.left(), *(str(path) for path in child.folder.glob("podrail-*"))]


def check(told: dict[str, Any]) -> None:
    """Placement by rails is as good as can be, and the default rules' is not."""
    shares = told["alignedPairs"]
    assert shares["default"] < shares["podrail"] == shares["best"] == 1
    assert 8 == len(told["placements"]) == len(told["defaultNodes"])
    assert {"aligned"} == {one["node"].split("-")[0] for one in told["placements"].values()}
    assert {1.0} == {one["expected"] for one in told["placements"].values()}
    before, after = told["pod"]["before"], told["pod"]["after"]
    assert "annotations" not in before["metadata"]
    assert 8 == len(after["metadata"]["annotations"][names.NETWORKS].split(","))


def test_once_ends_by_itself_with_what_it_did(tmp_path: Path) -> None:
    """One JSON document within 30 seconds, and neither a process nor a folder afterwards."""
    began = time.monotonic()
    with commands.running(tmp_path / "demo", "podrail", "demo", "--once", "-o", "json") as child:
        assert 0 == child.wait(30)
        assert time.monotonic() - began < 30
        assert [] == left(child)
    told = json.loads(child.output)
    assert (True, 16, "") == (told["simulated"], told["nodes"], child.errors)
    check(told)


def test_ctrl_c_ends_it_and_leaves_nothing(tmp_path: Path) -> None:
    """It runs until then, says that the cluster is simulated, and how to try one's own pod."""
    with commands.running(tmp_path / "demo", "podrail", "demo") as child:
        child.eventually(lambda: "Ctrl-C ends everything" in child.output, 60)
        assert {"podrail-webhook", "podrail-extender", "podrail-controller"} <= {
            Path(word).name for line in child.left() for word in line.split()
        }
        address = child.output.partition("rail map ")[2].split()[0]
        with urllib.request.urlopen(f"{address}jobs.json", timeout=30) as answer:
            jobs = {one["key"]: one["pods"] for one in json.loads(answer.read())["jobs"]}
        assert {"demo/train-0": 4, "demo/train-1": 4} == jobs
        assert (0, []) == (child.stop(signal.SIGINT), left(child))
    shown = child.output
    assert "simulated" in shown.splitlines()[0]
    assert "podrail inject -f your-pod.yaml --profile sriov-rails" in shown
    shares = {line.partition("%")[0].strip() for line in shown.splitlines() if "%" in line}
    rows = ("kube-scheduler's default rules", "with podrail", "best possible")
    assert [] == [row for row in rows if not any(one.startswith(row) for one in shares)]
    assert shown.endswith("Stopping.\n")


def test_a_second_signal_leaves_nothing_either(tmp_path: Path) -> None:
    """`timeout` sends two, and so do impatient people."""
    with commands.running(tmp_path / "demo", "podrail", "demo") as child:
        child.eventually(lambda: "Ctrl-C ends everything" in child.output, 60)
        child.process.send_signal(signal.SIGINT)
        child.eventually(lambda: "Stopping." in child.output)
        assert (0, []) == (child.stop(signal.SIGINT), left(child))


@pytest.mark.parametrize(
    "number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda one: one.name
)
def test_a_signal_while_it_starts_leaves_nothing(number: signal.Signals, tmp_path: Path) -> None:
    """Also before its first program has told where it listens; a closed terminal is SIGHUP."""
    with commands.running(tmp_path / "demo", "podrail", "demo") as child:
        child.eventually(lambda: any("podrail-webhook" in line for line in child.left()))
        assert (1, []) == (child.stop(number), left(child))
        assert "Traceback" not in child.errors


def test_a_program_that_does_not_start_is_told_with_its_log(tmp_path: Path) -> None:
    """Status 2, the log's end instead of a traceback, and nothing left."""
    with commands.running(
        tmp_path / "demo", "podrail", "demo", PODRAIL_WORKER_CLASS="carrier-pigeon"
    ) as child:
        assert (2, []) == (child.wait(), left(child))
    assert "Error: podrail-webhook did not start:\n" in child.errors
    assert "PODRAIL_WORKER_CLASS: expected one of" in child.errors
    assert "Traceback" not in child.errors

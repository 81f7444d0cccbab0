"""podrail-nodeagent as a process: how it starts, tells of itself, what it costs, and ends."""

from __future__ import annotations

import http.client
import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import agents
import commands
import placing
import pytest
from agents import Stage
from commands import Child
from kubelet_socket import Pod

MOST_MIB = 30
MOST_SHARE = 0.01
REST_SECONDS = 10


def variables(stage: Stage) -> dict[str, str]:
    """What the process is told."""
    return {
        "PODRAIL_LISTEN": "127.0.0.1:0",
        "PODRAIL_SERVER": stage.api.url,
        "PODRAIL_NODE": "n1",
        "PODRAIL_SYS": str(stage.machine.sys),
        "PODRAIL_PROC": str(stage.machine.proc),
        "PODRAIL_POD_RESOURCES": str(stage.folder / "kubelet.sock"),
        "PODRAIL_KUBELET_CONFIG": str(stage.folder / "config.yaml"),
    }


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    """The largest machine of the catalog, with VFs and a full node's pods."""
    with agents.stage(tmp_path, placing.SHAPES["p5.48xlarge"], vfs=3) as found:
        found.kubelet.pods = [Pod(f"p{at}", (agents.gpus(1),)) for at in range(110)]
        yield found


@pytest.fixture
def child(request: pytest.FixtureRequest, stage: Stage, tmp_path: Path) -> Iterator[Child]:
    """An agent on that machine; without coverage where a test weighs it."""
    weighed = request.node.get_closest_marker("weighed") is not None
    run = commands.weighed if weighed else commands.running
    with run(tmp_path / "run", "podrail-nodeagent", **variables(stage)) as running:
        running.eventually(lambda: '"listening"' in running.errors)
        yield running


def call(child: Child, path: str) -> tuple[int, str]:
    """Status and body of one call."""
    lines = [json.loads(line) for line in child.errors.splitlines() if '"listening"' in line]
    with closing(http.client.HTTPConnection(lines[0]["address"], timeout=10)) as connection:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


def worked(child: Child) -> float:
    """CPU seconds that the process has used."""
    fields = Path(f"/proc/{child.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def held(child: Child) -> float:
    """MiB of memory that the process has at most held."""
    lines = Path(f"/proc/{child.process.pid}/status").read_text().splitlines()
    (line,) = [one for one in lines if one.startswith("VmHWM")]
    return int(line.split()[1]) / 1024


def test_it_writes_tells_of_itself_and_ends(stage: Stage, child: Child) -> None:
    """Ready, with metrics; a port that goes down is written in seconds; SIGTERM ends it well."""
    child.eventually(lambda: stage.free is not None)
    assert (200, '{"status": "ok"}') == call(child, "/healthz")
    assert (200, '{"status": "ready"}') == call(child, "/readyz")
    assert 'nic_state{device="mlx5_0",rail="0",state="up"} 1.0' in call(child, "/metrics")[1]
    stage.machine.port(3, state="1: DOWN")
    began = time.monotonic()
    child.eventually(lambda: stage.status["nics"][3]["state"] == "down")
    assert time.monotonic() - began < 5
    assert 0 == child.stop()
    assert [] == child.left()
    assert "Traceback" not in child.errors


@pytest.mark.weighed
def test_it_costs_little_at_rest(stage: Stage, child: Child) -> None:
    """30 MiB and a hundredth of a processor, on the largest machine of the catalog."""
    child.eventually(lambda: stage.free is not None)
    time.sleep(1)
    began, before = time.monotonic(), worked(child)
    time.sleep(REST_SECONDS)
    share = (worked(child) - before) / (time.monotonic() - began)
    print(f"{held(child):.1f} MiB, {share:.2%} of a processor", file=sys.stderr)
    assert held(child) <= MOST_MIB
    assert share <= MOST_SHARE


def test_a_deaf_api_server_keeps_it_from_nothing_but_writing(stage: Stage, child: Child) -> None:
    """It stays alive."""
    stage.api.deaf = True
    assert 200 == call(child, "/healthz")[0]
    assert 0 == child.stop()


def test_without_a_cluster_it_ends_with_a_message(tmp_path: Path) -> None:
    """Exit status 1, no traceback."""
    with commands.running(tmp_path / "run", "podrail-nodeagent") as child:
        assert 1 == child.wait()
    assert "PODRAIL_NODE: is required" in child.errors
    assert "Traceback" not in child.errors

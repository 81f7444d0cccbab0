"""`podrail verify`: what it writes, what it runs, and what it says of the tables."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import builders
import checkout
import measured
import measuring_api
import pytest
import shown
import terminal
import yaml
from measuring_api import MeasuringApi

from podrail.verification.workload import Order
from podrail_cli import measuring
from podrail_cli.measuring import Clock
from podrail_io.kube import Api

LOGS = checkout.ROOT / "tests" / "data" / "verify"
H100 = {"node.kubernetes.io/instance-type": "Standard_ND96isr_H100_v5"}
RUN = ("--run", "--image", "example.invalid/tests")


def good(env: Mapping[str, str]) -> str:
    """The log of a pod all of whose rails are fast."""
    rails = {} if env["RAILS"] == "none" else dict.fromkeys(env["RAILS"].split(), 391.0)
    return measured.log(env["NODE"], env["ROLE"], env["PEER_NODE"], rails, 470.0)


def bad(env: Mapping[str, str]) -> str:
    """Rail 3 of gpu-1 is at a quarter."""
    rails = dict.fromkeys(env["RAILS"].split(), 391.0)
    if "gpu-1" in {env["NODE"], env["PEER_NODE"]}:
        rails["rail3"] = 98.0
    return measured.log(env["NODE"], env["ROLE"], env["PEER_NODE"], rails, 470.0)


@pytest.fixture
def api() -> Iterator[MeasuringApi]:
    """A cluster of three nodes that are well, and one that is cordoned."""
    with measuring_api.serving(good) as server:
        server.nodes = [shown.gpus({}, H100, f"gpu-{at}") for at in range(3)]
        cordoned = shown.gpus({}, H100, "cordoned")
        server.nodes.append({**cordoned, "spec": {"unschedulable": True}})
        server.mpi = (LOGS / "all-reduce-16.log").read_text()
        yield server


def report(*words: str | Path, status: int = 0) -> dict[str, Any]:
    """What -o json prints."""
    result = terminal.run("verify", "sriov-rails", "-o", "json", *words)
    assert status == result.exit_code, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_the_manifests_are_read_by_kubectl_and_people() -> None:
    """A Service, two Jobs for each pair, an MPIJob; the script line by line."""
    words = ("verify", "sriov-rails", "--nodes", "a,b,a", "--image", "x")
    result = terminal.run(*words)
    assert 0 == result.exit_code
    kinds = [one["kind"] for one in yaml.safe_load_all(result.stdout)]
    assert ["Service", "Job", "Job", "MPIJob"] == kinds
    assert "kubectl apply -f FILE -l podrail-verify-round=1" in result.stdout
    assert 'say node "$NODE"' in [line.strip() for line in result.stdout.splitlines()]
    assert "&id" not in result.stdout


def test_what_cannot_be_measured_is_written_above_the_manifests() -> None:
    """A single node has no MPIJob."""
    result = terminal.run("verify", "eks-p5", "--nodes", "a", "--image", "x")
    assert "# Not measured: ib_write_bw does not speak EFA's protocol" in result.stdout
    assert ["Service", "Job"] == [one["kind"] for one in yaml.safe_load_all(result.stdout)]


def test_a_run_in_which_all_is_well(api: MeasuringApi) -> None:
    """Every rail of every pair, against the line rate of the nodes' machine type."""
    found = report(*RUN, "--server", api.url)
    assert {"gbpsPerRail": 400, "rails": 8, "source": "the nodes"} == found["expected"]
    assert (24, {"ok"}) == (len(found["links"]), {one["verdict"] for one in found["links"]})
    assert {f"gpu-{at}": 470.0 for at in range(3)} == found["local"]
    assert (393.02, [], []) == (found["collective"], found["findings"], found["unverified"])
    assert (6, 1, 1) == tuple(len(api.kinds(one)) for one in ("Job", "Service", "MPIJob"))
    (service,) = api.kinds("Service")
    assert ["u1"] == [one["uid"] for one in service["metadata"]["ownerReferences"]]


def test_the_slow_node_and_its_rail_are_named(api: MeasuringApi) -> None:
    """And the exit status says so."""
    api.log = bad
    result = terminal.run("verify", "sriov-rails", *RUN, "--server", api.url)
    assert 1 == result.exit_code
    assert (
        "SLOW: gpu-1: rail rail3 is slow towards every partner (98.0 and 98.0 Gb/s" in result.stdout
    )
    assert "round 1 of 3: 2 pods" in result.stderr
    assert "expected: 400 Gb/s a rail (the nodes)" in result.stdout


def test_no_mpi_operator_is_told_and_no_failure(api: MeasuringApi) -> None:
    """The rails were measured all the same."""
    api.mpi = ""
    (told,) = report(*RUN, "--server", api.url)["unverified"]
    assert "all nodes at once: there is no MPIJob (the MPI operator)" == told


def test_logs_and_pods_that_are_not_there_are_told(api: MeasuringApi) -> None:
    """Nothing was measured then: status 1."""
    api.logless = True
    told = report(*RUN, "--server", api.url, "--nodes", "gpu-0,gpu-1,gone", status=1)["unverified"]
    assert "gone: it takes no pods, or has not all GPUs" in told
    assert any("-0-client: its log cannot be read: 404" in one for one in told)


def test_no_hardware_is_said_plainly(api: MeasuringApi) -> None:
    """Nothing is created."""
    api.nodes = [shown.node("cpu", {}, {})]
    result = terminal.run("verify", "sriov-rails", *RUN, "--server", api.url)
    assert 1 == result.exit_code
    assert "NOTHING WAS VERIFIED" in result.stdout
    assert "no node gives 8 nvidia.com/gpu: there is no hardware to measure" in result.stdout
    assert [] == api.created


def test_a_pod_that_never_starts_is_waited_for_until_the_time_is_up(api: MeasuringApi) -> None:
    """With what the scheduler says of it; no pod at all is told as well."""
    passed: list[float] = []
    clock = Clock(lambda: sum(passed), lambda seconds: passed.append(seconds * 60))
    order = Order(builders.shipped()["sriov-rails"], "x", ("gpu-0",), seconds=60)
    api.phase = "Pending"
    waiting = measuring.run(Api.connect(server=api.url), order, clock, lambda _: None)
    assert ("podrail-verify-0-server: Pending until the time was up; 0/2 nodes",) == waiting.unverified  # fmt: skip
    api.phase = "Running"
    passed.clear()
    (told,) = measuring.run(Api.connect(server=api.url), order, clock, lambda _: None).unverified
    assert "podrail explain pod podrail-verify-0-server-x1 says why" in told
    api.podless = True
    passed.clear()
    (told,) = measuring.run(Api.connect(server=api.url), order, clock, lambda _: None).unverified
    assert "its Job made no pod" in told


def test_logs_of_ones_own_are_judged(tmp_path: Path) -> None:
    """Against a shape, a line rate, or nothing."""
    log = tmp_path / "client.log"
    log.write_text(measured.log("b", "client", "a", {"rail0": 391.0}))
    found = report("--log", log, "--shape", "dgx-h100", "--all-log", LOGS / "all-reduce-16.log")
    assert ("shape dgx-h100", [], 393.02) == (
        found["expected"]["source"],
        found["findings"],
        found["collective"],
    )
    assert 1 == len(report("--log", log, "--gbps", "800", status=1)["findings"])
    alone = report("--log", log)
    assert "all nodes at once: no table of all_reduce_perf was given" in alone["unverified"]
    result = terminal.run("verify", "eks-p5", "--all-log", LOGS / "all-reduce-16.log")
    assert "all nodes at once: all_reduce 393.0 GB/s" in result.stdout
    assert "nothing that was measured is slow" in result.stdout
    assert "not verified: ib_write_bw does not speak EFA's protocol" in result.stdout


def test_a_rail_that_failed_has_no_rate_in_the_table(tmp_path: Path) -> None:
    """A dash."""
    log = tmp_path / "client.log"
    log.write_text(measured.log("b", "client", "a", {"rail0": None}))
    result = terminal.run("verify", "sriov-rails", "--log", log)
    assert 1 == result.exit_code
    assert ["a", "b", "rail0", "-", "-", "failed"] == result.stdout.splitlines()[1].split()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--nodes", "a"], "--image is needed"),
        (["--image", "x"], "--nodes is needed"),
        (["--image", "x", "--nodes", ",".join(f"n{at}" for at in range(65))], "at most 64 nodes"),
        (["--log", "no such"], "No such file"),
        (["--all-log", str(LOGS / "write-bw.log"), "--shape", "cube"], "no such shape; there are"),
        ([*RUN, "--server", "http://127.0.0.1:9"], "GET /api/v1/nodes"),
    ],
)
def test_wrong_input_is_status_2(words: list[str], told: str) -> None:
    """With what was expected."""
    result = terminal.run("verify", "sriov-rails", *words)
    assert (2, True) == (result.exit_code, told in result.stderr), result.output

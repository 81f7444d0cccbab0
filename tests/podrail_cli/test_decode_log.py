"""`podrail decode-log`: NCCL's lines in words."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import terminal

DATA = Path(__file__).resolve().parents[1] / "data" / "nccl"
ALIGNED = """\
NCCL 2.27.3: 2 hosts, 8 ranks
  network:    IB (8 GPUs)
  NICs:       mlx5_0 mlx5_1 mlx5_2 mlx5_3  (2 hosts)
  channels:   16 x IB with GPUDirect RDMA, 8 x GPU to GPU
  rails:      aligned: each GPU keeps to its own NIC; both ends of 8 connections

No warning and no fallback in this log.
"""
FALLBACK = """\
NCCL 2.21.5: 1 host
  network:    Socket (2 GPUs)
  NICs:       eth0  (worker-1)
  channels:   2 x TCP sockets
  rails:      unknown: no connection over RDMA between nodes is in the log

SLOWS NoRdmaDevice (line 4, 2 times): NCCL found no RDMA device with an active port that \
NCCL_IB_HCA allows.
    [rank0]: worker-1:87:110 [0] NCCL INFO NET/IB : No device found.
    what to do: Does the pod have its RDMA resource (podrail explain pod NAME)? Does NCCL_IB_HCA \
name devices of this node? Is the port up (podrail topology --node NAME)?
"""


def test_a_job_that_is_well_is_told_in_a_few_lines() -> None:
    """Status 0."""
    result = terminal.run("decode-log", DATA / "aligned.log")
    assert (0, ALIGNED) == (result.exit_code, result.stdout)


def test_a_fallback_is_told_with_what_to_do() -> None:
    """Status 1; each sign with its first line."""
    result = terminal.run("decode-log", DATA / "fallback.log")
    assert 1 == result.exit_code
    assert result.stdout.startswith(FALLBACK)


def test_json_has_the_same_in_fields() -> None:
    """From standard input, too; what is not UTF-8 is no reason to stop."""
    text = (DATA / "fallback.log").read_text()
    result = terminal.run("decode-log", "-", "-o", "json", given=text)
    found = json.loads(result.stdout)
    assert [
        "well", "versions", "hosts", "ranks", "networks", "nics", "transports", "rails", "signs",
    ] == list(found)  # fmt: skip
    assert (False, "unknown", "NoRdmaDevice") == (
        found["well"],
        found["rails"]["verdict"],
        found["signs"][0]["code"],
    )


def test_a_log_cut_within_a_character_is_read(tmp_path: Path) -> None:
    """And one that says only that something is wrong."""
    path = tmp_path / "a.log"
    path.write_bytes(b"\xff\xfe a:1:2 [0] NCCL WARN Bootstrap : no socket interface found\n")
    result = terminal.run("decode-log", path)
    assert result.stdout.startswith("NCCL (version not told): 1 host\n")


@pytest.mark.parametrize(
    ("name", "told"),
    [("none.log", "No such file or directory"), ("other.log", "no line of NCCL's; set NCCL_DEBUG")],
)
def test_what_is_no_log_of_nccls_is_wrong_input(name: str, told: str, tmp_path: Path) -> None:
    """Status 2."""
    (tmp_path / "other.log").write_text("step 1\n")
    result = terminal.run("decode-log", tmp_path / name)
    assert (2, "") == (result.exit_code, result.stdout)
    assert told in result.stderr

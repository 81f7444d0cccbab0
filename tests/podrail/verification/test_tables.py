"""The tables of nccl-tests and perftest, in their public formats."""

from __future__ import annotations

import checkout
import pytest

from podrail.verification import allreduce, perftest

LOGS = checkout.ROOT / "tests" / "data" / "verify"


def test_all_reduce_of_today() -> None:
    """The better place of each size counts, and the best size of all."""
    found = allreduce.read((LOGS / "all-reduce-16.log").read_text())
    assert found is not None
    assert (393.02, 0) == (found.busbw, found.wrong)
    assert [1073741824, 2147483648, 8589934592] == [row.size for row in found.rows]
    assert ("gpu-1", "gpu-1", "gpu-2", "gpu-2") == found.hosts


def test_all_reduce_of_old_by_mpirun() -> None:
    """Without root, with errors in place of counts, with mpirun's tags; wrong values are told."""
    found = allreduce.read((LOGS / "all-reduce-old.log").read_text())
    assert found is not None
    assert (10.83, 2, ("old1", "old2")) == (found.busbw, found.wrong, found.hosts)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "NCCL failure: unhandled system error",
        "  1024 256 float sum -1 1 1 1 0 1 1 1 0",
        "# size busbw\n1024 nan",
        "# size busbw\n1024 1 2",
        "# size count\n1024 2",
    ],
    ids=["empty", "failed", "no head", "no number", "other width", "no bandwidth"],
)
def test_what_is_no_table_of_all_reduce(text: str) -> None:
    """A row without a head could be anything."""
    assert None is allreduce.read(text)


def test_a_run_that_lasts_a_time_has_no_peak() -> None:
    """The average counts."""
    found = perftest.read((LOGS / "write-bw.log").read_text())
    assert perftest.Written(65536, 391.21, "mlx5_3", "Ethernet") == found


def test_megabytes_are_of_two_to_the_twentieth() -> None:
    """The largest message counts: 23841.86 MB/s are 200 Gb/s."""
    found = perftest.read((LOGS / "write-bw-megabytes.log").read_text())
    assert found is not None
    assert (65536, 200.0, "IB") == (found.size, round(found.gbps, 1), found.link)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", None),
        (" 65536 5000 0.00 391.21 0.7", None),
        ("#bytes #iterations BW peak[Gb/sec] BW average[Gb/sec]\n 65536 5000 0.00 -3.1 0.7", 0.0),
        ("#bytes #iterations BW peak[Gb/sec] BW average[Gb/sec]\n 65536 5000 0.00 x 0.7", 0.0),
        ("#bytes #iterations BW peak[Gb/sec] BW average[Gb/sec]\n 65536 5000\n a b c d", None),
        ("#bytes #iterations BW peak[Gb/sec] BW average[Gb/sec]\n 8 1 0 9 0\n 2 1 0 3 0", 9.0),
    ],
    ids=["empty", "no head", "negative", "no number", "broken off", "smaller last"],
)
def test_what_is_no_table_of_ib_write_bw(text: str, expected: float | None) -> None:
    """Negative averages have been printed (perftest issue 82)."""
    found = perftest.read(text)
    assert expected == (found.gbps if found else None)

"""Who is slow: measured against the line rate, against peers, and named."""

from __future__ import annotations

import checkout
import measured
import pytest

from podrail.verification import allreduce, record, verdict
from podrail.verification.verdict import Expected

LOGS = checkout.ROOT / "tests" / "data" / "verify"
H100 = Expected(400, 8, "shape dgx-h100")
GOOD = 391.0


def ring(slow: dict[tuple[str, str], float | None], rate: float = GOOD) -> list[record.Record]:
    """Three nodes, each measured against two; some links at another rate."""
    ends = [("a", "b"), ("b", "c"), ("c", "a")]
    return [
        one
        for server, client in ends
        for one in measured.pair(server, client, {"rail0": slow.get((server, client), rate)})
    ]


def test_all_is_well() -> None:
    """Each link once, none slow; what did not run is told."""
    report = verdict.judge(ring({}), None, H100)
    assert () == report.findings
    assert ["ok"] * 3 == [one.word for one in report.links]
    assert 360.0 == report.links[0].floor


def test_the_node_that_all_slow_links_have_in_common_is_named() -> None:
    """Its partners are fine among themselves."""
    report = verdict.judge(ring({("a", "b"): 180.0, ("b", "c"): 200.0}), None, H100)
    (finding,) = report.findings
    assert finding.startswith(
        "b: rail rail0 is slow towards every partner (180.0 and 200.0 Gb/s, exp"
    )


def test_a_single_slow_link_names_the_pair() -> None:
    """Both nodes are fine elsewhere: it is the way between them."""
    (finding,) = verdict.judge(ring({("a", "b"): 180.0}), None, H100).findings
    assert finding.startswith("a and b: rail rail0 between them is slow")


def test_two_nodes_alone_cannot_be_told_apart() -> None:
    """The pair is named, and the rail."""
    records = measured.pair("a", "b", {"rail0": GOOD, "rail3": 25.0})
    (finding,) = verdict.judge(records, None, H100).findings
    assert finding.startswith("a and b: rail rail3 between them is slow (25.0 Gb/s")


def test_a_link_without_connection_is_failed() -> None:
    """With the script's reason."""
    report = verdict.judge(measured.pair("a", "b", {"rail1": None}), None, H100)
    assert ("a and b: rail rail1 between them is failed (no connection)",) == report.findings
    assert not report.measured


def test_without_a_line_rate_peers_tell() -> None:
    """At least three of them, and it is said."""
    report = verdict.judge(ring({("a", "b"): 180.0}) + measured.pair("c", "d", {"rail0": GOOD}), None, Expected())  # fmt: skip
    assert 1 == len(report.findings)
    assert any("compared with peers" in one for one in report.unverified)
    few = verdict.judge(measured.pair("a", "b", {"rail0": 3.0}), None, Expected())
    assert (["measured"], ()) == ([one.word for one in few.links], few.findings)
    assert any("compared with nothing" in one for one in few.unverified)


def test_a_node_behind_the_others_inside_is_named() -> None:
    """Its GPUs among themselves, by the median of the others."""
    records = [
        *measured.pair("a", "b", {"rail0": GOOD}, local=470.0),
        *measured.pair("c", "d", {"rail0": GOOD}, local=468.0),
        record.read(measured.log("e", "server", "", {}, local=120.0)),
    ]
    (finding,) = verdict.judge(records, None, H100).findings
    assert finding.startswith("e: its own GPUs reach 120.0 GB/s")


def test_all_nodes_at_once_against_all_rails() -> None:
    """Eight rails of 400 Gb/s bound it at 400 GB/s."""
    run = allreduce.read((LOGS / "all-reduce-16.log").read_text())
    assert () == verdict.judge((), run, H100).findings
    (finding,) = verdict.judge((), run, Expected(800, 8)).findings
    assert "393.0 GB/s, 80% of the rails' 800.0 GB/s would be 640.0" in finding


def test_wrong_values_are_the_worst_finding() -> None:
    """Whatever the bandwidth."""
    run = allreduce.read((LOGS / "all-reduce-old.log").read_text())
    assert ("all nodes: 2 values of all_reduce came out wrong",) == verdict.judge((), run, Expected()).findings  # fmt: skip
    log = measured.log("a", "server", "", {}, local=470.0).replace(
        "@podrail done", "# Out of bounds values : 3 FAILED\n@podrail done"
    )
    (finding,) = verdict.judge([record.read(log)], None, H100).findings
    assert "a: 3 values of all_reduce came out wrong" == finding


@pytest.mark.parametrize(
    ("log", "told"),
    [
        ("@podrail node a\n@podrail missing ib_write_bw\n@podrail done", "a: no ib_write_bw"),
        ("@podrail node a\n@podrail local 8\n@podrail failed local", "a: all_reduce_perf failed"),
        ("@podrail node a\n@podrail failed rail0 no RDMA device of", "a: no RDMA device of"),
        ("@podrail node a", "a: its log breaks off"),
        ("", "a pod: its log breaks off"),
        ("@podrail", "no rail was measured between two nodes"),
        ("@podrail node", "a pod: its log breaks off"),
    ],
)
def test_what_was_not_measured_is_told(log: str, told: str) -> None:
    """By node."""
    report = verdict.judge([record.read(log)], None, H100)
    assert any(one.startswith(told) for one in report.unverified)
    assert not report.measured


def test_a_rail_without_a_table_has_no_rate() -> None:
    """Something else was printed."""
    found = record.read("@podrail node a\n@podrail rail rail0 mlx5_0 server b\nhm\n@podrail done")
    assert [(None, "ib_write_bw printed no table")] == [(one.gbps, one.why) for one in found.links]


def test_the_clients_word_stands_in_where_the_server_has_none() -> None:
    """And the other way round."""
    records = [
        record.read(measured.log("a", "server", "b", {"rail0": None})),
        record.read(measured.log("b", "client", "a", {"rail0": GOOD})),
    ]
    assert [GOOD] == [one.link.gbps for one in verdict.judge(records, None, H100).links]


def test_json_says_all_of_it() -> None:
    """Null where nothing is known."""
    found = verdict.judge(measured.pair("a", "b", {"rail1": None}), None, Expected()).document()
    assert {"gbpsPerRail": None, "rails": 0, "source": None} == found["expected"]
    (link,) = found["links"]
    assert ("failed", None, "no connection") == (link["verdict"], link["gbps"], link["why"])

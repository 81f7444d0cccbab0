"""What is wrong with a profile's settings of NCCL."""

from __future__ import annotations

import pytest

from podrail import nccl
from podrail.nccl import Carrier

ENV, FILE = Carrier.ENV, Carrier.FILE


@pytest.mark.parametrize(
    ("name", "value", "carrier", "late"),
    [
        ("NCCL_IB_TC", "106", FILE, False),
        ("NCCL_IB_GID_INDEX", "-1", ENV, True),
        ("NCCL_IB_HCA", "^=mlx5_0:1,mlx5_1", ENV, True),
        ("NCCL_NET_GDR_LEVEL", "PXB", FILE, True),
        ("GLOO_SOCKET_IFNAME", "eth0", ENV, False),
        ("NCCL_FUTURE", "whatever it means", FILE, False),
        ("", "", FILE, False),
    ],
    ids=["integer", "late integer", "late list", "level", "not nccl's", "unknown", "no name yet"],
)
def test_a_good_setting_has_no_problem(name: str, value: str, carrier: Carrier, late: bool) -> None:
    """An unknown variable of a known family is taken as it is; a missing name is told elsewhere."""
    assert [] == list(nccl.problems(name, [value], carrier, late=late))


@pytest.mark.parametrize(
    ("name", "value", "carrier", "late", "told"),
    [
        ("LD_PRELOAD", "x", ENV, False, "is none of the families"),
        ("NCCL_PROTO", "LL128", FILE, False, "must never be set"),
        ("UCX_TLS", "rc", FILE, False, "needs carrier env"),
        ("NCCL_NET_PLUGIN", "x", ENV, True, "cannot be late with carrier env"),
        ("NCCL_IB_TC", "true", FILE, False, "a whole number from 0 to 255 (NCCL reads words as 0)"),
        ("NCCL_IB_TC", "256", FILE, False, "a whole number from 0 to 255"),
        ("NCCL_IB_TC", "0106", FILE, False, "a whole number"),
        ("NCCL_IB_HCA", "mlx5_0, mlx5_1", FILE, False, "without blanks"),
        ("NCCL_NET_GDR_LEVEL", "5", FILE, False, "one of LOC, P2C, PHB"),
        ("NCCL_X", "", FILE, False, "expected 1-992 printable characters"),
        ("NCCL_X", "a\nNCCL_PROTO=LL128", FILE, False, "printable"),
        ("NCCL_X", "x" * 993, FILE, False, "expected 1-992"),
    ],
)
def test_a_setting_that_nccl_would_read_otherwise_is_wrong(
    name: str, value: str, carrier: Carrier, late: bool, told: str
) -> None:
    """One sentence, with the variable's name."""
    (problem,) = nccl.problems(name, [value], carrier, late=late)
    assert problem.startswith(name)
    assert told in problem


def test_the_longest_value_fits_into_a_line() -> None:
    """What the message allows is allowed, and with its newline it has 1,000 characters."""
    assert [] == list(nccl.problems("NCCL_X", ["x" * 992], FILE, late=False))
    assert len(nccl.conf([("NCCL_X", "x" * 992)])) == 1000

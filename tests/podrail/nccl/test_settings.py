"""What is wrong with a profile's settings of NCCL."""

from __future__ import annotations

import pytest

from podrail.nccl import settings as nccl
from podrail.nccl.settings import Carrier

ENV, FILE = Carrier.ENV, Carrier.FILE


@pytest.mark.parametrize(
    ("name", "value", "carrier", "late"),
    [
        ("NCCL_IB_TC", "106", FILE, False),
        ("NCCL_IB_GID_INDEX", "-1", ENV, True),
        ("NCCL_IB_HCA", "^=mlx5_0:1,mlx5_1", ENV, True),
        ("NCCL_NET_GDR_LEVEL", "PXB", FILE, True),
        ("GLOO_SOCKET_IFNAME", "eth0", ENV, False),
        ("NCCL_DEBUG", "warn", FILE, False),
        ("NCCL_IB_ADDR_RANGE", "fd02::/16", FILE, False),
        ("OMPI_MCA_btl_tcp_if_include", "eth0", ENV, False),
        ("NCCL_FUTURE", "whatever it means", FILE, False),
        ("", "", FILE, False),
    ],
    ids=str,
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
        (
            "NCCL_IB_TC",
            "true",
            FILE,
            False,
            "a whole number from -1 to 255 (NCCL reads words as 0)",
        ),
        ("NCCL_IB_TC", "256", FILE, False, "a whole number from -1 to 255"),
        ("NCCL_IB_TC", "0106", FILE, False, "a whole number"),
        ("NCCL_IB_HCA", "mlx5_0, mlx5_1", FILE, False, "without blanks"),
        ("NCCL_IB_TC", "9" * 900, FILE, False, "a whole number"),
        ("NCCL_BUFFSIZE", "4194304", FILE, False, "must never be set"),
        ("NCCL_HOSTID", "me", FILE, False, "makes NCCL take them for one machine"),
        ("NCCL_SOCKET_IFNAME", ",".join(["eth0"] * 17), FILE, False, "1 to 16 names"),
        ("NCCL_IB_HCA", "=^mlx5_0", FILE, False, "1 to 32 names"),
        ("GLOO_SOCKET_IFNAME", "^lo", ENV, False, "1 to 32 whole names"),
        ("TP_SOCKET_IFNAME", "eth0,eth1", ENV, False, "1 to 1 whole names"),
        ("NCCL_SOCKET_FAMILY", "inet", FILE, False, "one of AF_INET, AF_INET6"),
        ("NCCL_IB_ADDR_RANGE", "10.0.0.0", FILE, False, "a range of addresses"),
        ("NCCL_IB_ADDR_RANGE", "10.0.0.0/33", FILE, False, "a range of addresses"),
        ("NCCL_NET_GDR_LEVEL", "5", FILE, False, "one of LOC, NVL"),
        ("NCCL_NET_GDR_LEVEL", "pxb", FILE, False, "one of LOC, NVL"),
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


def test_settings_for_debugging_are_remarked() -> None:
    """What NCCL's manual has under Debugging is allowed, and its author is told."""
    names = ["NCCL_IB_TC", "NCCL_IB_QPS_PER_CONNECTION", "NCCL_OF_A_PLUGIN", "UCX_TLS"]
    (remark,) = nccl.remarks(names)
    assert remark.startswith("NCCL_IB_QPS_PER_CONNECTION is for debugging, says NCCL's manual")
    assert remark.endswith(": queue pairs run out")


@pytest.mark.parametrize("name", ["OMPI_MCA_btl_tcp_if_include", "NCCL_IB_HCA"])
def test_names_may_have_small_letters(name: str) -> None:
    """Open MPI's do, after its prefix."""
    assert nccl.NAME.fullmatch(name)
    assert not nccl.NAME.fullmatch(name.lower())

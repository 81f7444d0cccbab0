"""Whether each GPU keeps to a rail of its own."""

from __future__ import annotations

import pytest

from podrail.nccl import paths
from podrail.nccl.paths import Hop, Verdict

NICS = {"a": ("mlx5_0", "mlx5_1"), "b": ("mlx5_0", "mlx5_1")}


def send(rank: int, nic: str, host: str = "a") -> Hop:
    """The sending end of a connection to the rank two further on."""
    return paths.hop(host, (0, rank, rank + 2), "send", f"NET/IB/{nic}/GDRDMA")


def receive(rank: int, nic: str, host: str = "b") -> Hop:
    """The other end."""
    return paths.hop(host, (0, rank, rank + 2), "receive", f"NET/IB/{nic}/GDRDMA")


@pytest.mark.parametrize(
    ("hops", "verdict", "why"),
    [
        ([], Verdict.UNKNOWN, "no connection over RDMA between nodes is in the log"),
        ([send(0, "0"), receive(0, "0")], Verdict.ALIGNED, "both ends of 1 connections"),
        ([send(0, "0"), send(1, "1")], Verdict.ALIGNED, "one end of each connection was seen"),
        (
            [send(0, "0"), receive(0, "1"), send(1, "1"), receive(1, "1")],
            Verdict.CROSSING,
            "1 of 2 connections end on another rail than they begin, such as channel 0 from rank 0",
        ),
        ([send(0, "0"), send(1, "0")], Verdict.SHARED, "ranks 0, 1 on a share mlx5_0 while 1 NICs"),
        ([receive(0, "1"), receive(1, "1")], Verdict.SHARED, "ranks 2, 3 on b share mlx5_1"),
        ([send(0, "0"), send(1, "0(0)")], Verdict.ALIGNED, "each GPU keeps to its own NIC"),
    ],
    ids=["none", "both ends", "one end", "crossing", "shared", "shared at receivers", "PXN"],
)
def test_the_verdict(hops: list[Hop], verdict: Verdict, why: str) -> None:
    """With its reason."""
    found = paths.judge(hops, NICS)
    assert verdict is found.verdict
    assert why in found.why
    assert found.well == (verdict in {Verdict.ALIGNED, Verdict.UNKNOWN})


def test_fewer_nics_than_gpus_have_to_be_shared() -> None:
    """That is the machine's shape, and no fault; as is a NIC that nobody has listed."""
    hops = [send(0, "0"), send(1, "0")]
    assert paths.judge(hops, {"a": ("mlx5_0",)}).well
    assert paths.judge(hops, {}).well
    assert "share 5" in paths.judge([send(0, "5"), send(1, "5")], NICS).why


@pytest.mark.parametrize(
    ("via", "transport"),
    [
        ("P2P/CUMEM/read", "GPU to GPU"),
        ("SHM/direct/direct", "shared memory"),
        ("NET/Socket/0", "TCP sockets"),
        ("NET/IBext_v8/2", "IBext_v8 through host memory"),
        ("NET/IB/2/GDRDMA(PCI)", "IB with GPUDirect RDMA"),
        ("COLLNET", "COLLNET"),
    ],
)
def test_transports_in_words(via: str, transport: str) -> None:
    """As NCCL names them after via."""
    assert transport == paths.hop("a", (0, 0, 1), "", via).transport


def test_tcp_has_no_rails() -> None:
    """Its connections are not judged."""
    tcp = paths.hop("a", (0, 0, 2), "send", "NET/Socket/1")
    assert Verdict.UNKNOWN is paths.judge([tcp], NICS).verdict

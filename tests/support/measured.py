"""Logs of measuring pods, and what is read out of them."""

from __future__ import annotations

from collections.abc import Mapping

from podrail.verification import record
from podrail.verification.record import Record

HEAD = " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]"
NCCL_HEAD = "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong"


def log(
    node: str, role: str, peer: str, rails: Mapping[str, float | None], local: float | None = None
) -> str:
    """The log of a pod; a rail without a rate is one that nobody connected to."""
    lines = ["noise before", f"@podrail node {node}"]
    if local is not None:
        row = f"1073741824 268435456 float sum -1 1 1 {local} 0 1 1 {local} 0"
        lines += ["@podrail local 8", NCCL_HEAD, row]
    for rail, gbps in rails.items():
        lines.append(f"@podrail rail {rail} mlx5_0 {role} {peer}")
        if gbps is None:
            lines.append(f"@podrail failed {rail} no connection")
        else:
            lines += [HEAD, f" 65536 1000 0.00 {gbps} 0.7"]
    return "\n".join([*lines, "@podrail done"])


def pair(
    server: str, client: str, rails: Mapping[str, float | None], local: float | None = None
) -> list[Record]:
    """The records of both pods of a pair."""
    return [
        record.read(log(server, "server", client, rails, local)),
        record.read(log(client, "client", server, rails, local)),
    ]

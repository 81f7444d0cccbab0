"""The connections that NCCL sets up between GPUs, and whether each GPU keeps to a rail of its own.

A NIC is known by its number on its host. On one rail both ends of a connection have the same
number, where hosts list their NICs in one order; with fewer NICs than GPUs some have to share.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

SOCKET: Final = "TCP sockets"
_DIRECT: Final = "with GPUDirect RDMA"
_STAGED: Final = "through host memory"
# NET/IB/3/GDRDMA; the rank in brackets is that of the GPU whose NIC is used (PXN).
_NET: Final = re.compile(r"NET/(.+?)/(\d+)(?:\((\d+)\))?(/.*)?")


class Verdict(StrEnum):
    """Whether GPUs keep to rails."""

    ALIGNED = "aligned"
    CROSSING = "crossing"
    """Some connections end on another rail than they begin."""
    SHARED = "shared"
    """GPUs share a NIC while others are idle."""
    UNKNOWN = "unknown"
    """The log shows no connection between nodes."""


@dataclass(frozen=True, slots=True)
class Hop:
    """One end of a connection: whose log it is in, channel and ranks, and which way it goes."""

    host: str
    ends: tuple[int, int, int]
    """The channel, the rank that sends and the rank that receives."""
    way: str
    """Send or receive; empty for both."""
    transport: str
    nic: int | None = None
    """The number of the NIC on the host; None within a node."""
    proxied: bool = False
    """True if the NIC is another GPU's (PXN)."""

    @property
    def here(self) -> int:
        """The rank on this host."""
        return self.ends[2] if self.way == "receive" else self.ends[1]


@dataclass(frozen=True, slots=True)
class Alignment:
    """The verdict, and why, in a sentence."""

    verdict: Verdict
    why: str

    @property
    def well(self) -> bool:
        """True unless the log shows the contrary."""
        return self.verdict in {Verdict.ALIGNED, Verdict.UNKNOWN}


def hop(host: str, ends: tuple[int, int, int], way: str, via: str) -> Hop:
    """The end of a connection whose line names this transport after the word via."""
    net = _NET.fullmatch(via.strip())
    if net is None:
        kind = via.partition("/")[0].strip()
        return Hop(host, ends, way, {"P2P": "GPU to GPU", "SHM": "shared memory"}.get(kind, kind))
    name, nic, proxy, rest = net.groups()
    if name == "Socket":
        return Hop(host, ends, way, SOCKET, int(nic))
    how = _DIRECT if "GDRDMA" in (rest or "") else _STAGED
    return Hop(host, ends, way, f"{name} {how}", int(nic), proxy is not None)


def judge(hops: Sequence[Hop], nics: Mapping[str, Sequence[str]]) -> Alignment:
    """Whether the connections keep to rails; nics are those that each host offers."""
    over = [one for one in hops if one.nic is not None and one.transport != SOCKET]
    if not over:
        return Alignment(Verdict.UNKNOWN, "no connection over RDMA between nodes is in the log")
    crossing, both = _crossing(over)
    if crossing:
        first = crossing[0]
        return Alignment(
            Verdict.CROSSING,
            f"{len(crossing)} of {both} connections end on another rail than they begin, such as "
            f"channel {first[0]} from rank {first[1]} to rank {first[2]}",
        )
    shared = _shared(over, nics)
    if shared:
        return Alignment(Verdict.SHARED, shared)
    ends = f"both ends of {both} connections" if both else "one end of each connection was seen"
    return Alignment(Verdict.ALIGNED, f"each GPU keeps to its own NIC; {ends}")


def _crossing(over: Iterable[Hop]) -> tuple[list[tuple[int, int, int]], int]:
    """The connections whose ends have NICs of different numbers, and how many have both ends."""
    ends: dict[tuple[int, int, int], dict[str, set[int | None]]] = defaultdict(dict)
    for one in over:
        ends[one.ends].setdefault(one.way, set()).add(one.nic)
    whole = {key: found for key, found in ends.items() if {"send", "receive"} <= found.keys()}
    return [key for key, one in whole.items() if one["send"] != one["receive"]], len(whole)


def _shared(over: Iterable[Hop], nics: Mapping[str, Sequence[str]]) -> str:
    """The first host on which GPUs share a NIC while another is idle, in words; empty if none."""
    users: dict[str, dict[int, set[int]]] = defaultdict(lambda: defaultdict(set))
    for one in over:
        if one.nic is not None and not one.proxied:
            users[one.host][one.nic].add(one.here)
    for host, found in users.items():
        idle = len(nics.get(host, ())) - len(found)
        nic, ranks = max(found.items(), key=lambda item: len(item[1]))
        if len(ranks) > 1 and idle > 0:
            told = ", ".join(map(str, sorted(ranks)))
            name = nics[host][nic] if nic < len(nics[host]) else str(nic)
            return f"ranks {told} on {host} share {name} while {idle} NICs are idle"
    return ""

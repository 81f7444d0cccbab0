"""How a host spreads the packets that its NICs receive over its CPUs: queues, RPS, RFS.

A queue's packets go to the CPU of its interrupt, unless rps_cpus has CPUs; RFS needs rps_flow_cnt
and net.core.rps_sock_flow_entries (Documentation/networking/scaling.rst, Linux 6.12).
"""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from podrail.evidence.noderails import MOST_FLOWS, MOST_QUEUES, Netdev

ENTRIES: Final = "sys/net/core/rps_sock_flow_entries"
"""Below /proc; only the host's network namespace has it."""
_START: Final = "bus/pci/devices/"


class Queue(NamedTuple):
    """The files rps_cpus and rps_flow_cnt of a receive queue; empty if they cannot be read."""

    cpus: str
    flows: str


def netdevs(files: Mapping[str, str], links: Mapping[str, str]) -> tuple[str, ...]:
    """The first interface of each PCI function of a /sys tree, without VFs, which are the pods'."""
    found: dict[str, str] = {}
    for path in sorted(files):
        address, _, rest = path.removeprefix(_START).partition("/net/")
        if rest and f"{_START}{address}/physfn" not in links:
            found.setdefault(address, rest.partition("/")[0])
    return tuple(found.values())


def read(name: str, queues: Iterable[Queue]) -> Netdev | None:
    """How many receive queues an interface has, and how many of them RPS and RFS; None for none."""
    found = tuple(queues)[:MOST_QUEUES]
    if not found:
        return None
    rps = sum(bool(one.cpus.strip("0,\n ")) for one in found)
    return Netdev(name, len(found), rps, sum(bool(_number(one.flows)) for one in found))


def entries(proc: Mapping[str, str]) -> int | None:
    """How many flows the host's sockets are followed by, 0 for RFS off; None if unknown."""
    found = _number(proc.get(ENTRIES, ""))
    return None if found is None else min(found, MOST_FLOWS)


def _number(text: str) -> int | None:
    bare = text.strip()
    return int(bare) if bare.isdecimal() and bare.isascii() else None

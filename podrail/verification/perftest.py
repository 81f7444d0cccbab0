"""The table that ib_write_bw of linux-rdma/perftest prints.

     #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
     65536      1146231          0.00               200.35             0.382138

Without --report_gbits it is MB/sec, of 2^20 bytes each. A run that lasts a time has no peak.
"""

import re
from dataclasses import dataclass
from typing import Final

_AVERAGE: Final = re.compile(r"#bytes.*BW average\[(MB|MiB|Gb)/sec\]")
_FIELD: Final = re.compile(r"(Link type|Device|Mtu|GID index)\s*:\s*(\S+)")
_PLACE: Final = 3
_GBPS: Final = 2**20 * 8 / 1e9
"""Gb/s in an MB/s of perftest."""


@dataclass(frozen=True, slots=True)
class Written:
    """The largest message of one run, and its average bandwidth in Gb/s."""

    size: int
    gbps: float
    device: str = ""
    link: str = ""
    """Ethernet or IB."""


def read(text: str) -> Written | None:
    """The run in a log; None if no table is in it."""
    factor, best = 0.0, None
    said = {found[1]: found[2] for found in _FIELD.finditer(text)}
    for line in text.splitlines():
        head = _AVERAGE.search(line)
        words = line.split()
        if head:
            factor = 1.0 if head[1] == "Gb" else _GBPS
        elif factor and len(words) > _PLACE and words[0].isdecimal():
            gbps = _number(words[_PLACE]) * factor
            if best is None or int(words[0]) >= best.size:
                best = Written(
                    int(words[0]), gbps, said.get("Device", ""), said.get("Link type", "")
                )
    return best


def _number(word: str) -> float:
    try:
        return max(float(word), 0.0)
    except ValueError:
        return 0.0

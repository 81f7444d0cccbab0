"""NCCL's log, read line by line: by which transports and NICs ranks talk, and what went wrong.

Lines as NCCL 2.4 to 2.30 writes them with NCCL_DEBUG=WARN or INFO, whatever a launcher or kubectl
puts before them. What other programs write is passed over, unless it is a known sign.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from podrail.nccl import paths, signs
from podrail.nccl.paths import Alignment, Hop
from podrail.nccl.signs import Sign

MOST_EXAMPLE: Final = 240
_LINE: Final = re.compile(
    r"(?P<host>[^\s:\[\]<>]*):\d+:\d+ \[(?P<device>-?\d+)\] (?:\S+:\d+ )?"
    r"NCCL (?P<level>[A-Z]+) (?P<text>.*)"
)
_VERSION: Final = re.compile(r"NCCL version (\d+\.\d+[.\d]*)")
_USING: Final = re.compile(r"NET/(\w+) : Using (\[0\].*)")
_DEVICE: Final = re.compile(r"\[(\d+)\]\s*([^\s:\[\]{}=]+):(\d+)/(\w+)")
_SOCKET: Final = re.compile(r"\[(\d+)\]([^\s:]+):\S+")
_NETWORK: Final = re.compile(r"(?:Using network|Assigned NET plugin) (.+?)(?: to comm)?$")
_RANK: Final = re.compile(r"comm \S+ rank (\d+) n[rR]anks (\d+) ")
_CHANNEL: Final = re.compile(
    r"Channel (\d+)(?:/\d+)? : (\d+)\[\w+\] -> (\d+)\[\w+\](?: \[(send|receive)\])? via (.+)"
)


@dataclass(frozen=True, slots=True)
class Seen:
    """A sign that was met: how often, where first (lines from 1), and that line."""

    sign: Sign
    count: int
    line: int
    example: str


@dataclass(frozen=True, slots=True)
class Account:
    """What the log tells; empty where it tells nothing."""

    lines: int
    """NCCL's own."""
    versions: tuple[str, ...]
    hosts: tuple[str, ...]
    ranks: int
    """How many ranks the largest communicator has."""
    networks: Mapping[str, int]
    """The network that was chosen, and by how many processes."""
    nics: Mapping[str, tuple[str, ...]]
    """The NICs that each host offers, in NCCL's order; an empty one where the log has a gap."""
    transports: Mapping[str, int]
    """How many connections go by each transport."""
    alignment: Alignment
    signs: tuple[Seen, ...]
    """In the order of the table."""

    @property
    def well(self) -> bool:
        """True if nothing stops or slows the job, as far as the log tells."""
        grave = any(one.sign.gravity is not signs.Gravity.NOTE for one in self.signs)
        return not grave and not self.by_tcp and self.alignment.well

    @property
    def by_tcp(self) -> bool:
        """True if a process talks to other nodes over plain sockets."""
        return "Socket" in self.networks or paths.SOCKET in self.transports


@dataclass(slots=True)
class _Log:
    """What was read so far."""

    lines: int = 0
    versions: dict[str, None] = field(default_factory=dict)
    hosts: dict[str, None] = field(default_factory=dict)
    ranks: int = 0
    networks: dict[str, set[tuple[str, str]]] = field(default_factory=lambda: defaultdict(set))
    nics: dict[str, dict[int, str]] = field(default_factory=lambda: defaultdict(dict))
    hops: list[Hop] = field(default_factory=list)
    signs: dict[Sign, Seen] = field(default_factory=dict)

    def take(self, number: int, line: str) -> None:
        """Read one line."""
        if found := _VERSION.search(line):
            self.versions.setdefault(found[1])
            self.lines += 1
        match = _LINE.search(line)
        if match is not None:
            self.lines += 1
            self.hosts.setdefault(match["host"])
            self._facts(match["host"], match["device"], match["text"])
            if match["text"].startswith("Channel "):
                return  # most lines of a log, and none of them is a sign
        sign = signs.of(line)
        if sign is not None:
            before = self.signs.get(sign, Seen(sign, 0, number, line.strip()[:MOST_EXAMPLE]))
            self.signs[sign] = Seen(sign, before.count + 1, before.line, before.example)

    def _facts(self, host: str, device: str, text: str) -> None:
        if found := _CHANNEL.search(text):
            channel, source, target, way, via = found.groups()
            ends = (int(channel), int(source), int(target))
            self.hops.append(paths.hop(host, ends, way or "", via))
        elif found := _USING.search(text):
            pattern = _SOCKET if found[1] == "Socket" else _DEVICE
            self.nics[host].update({int(at[1]): at[2] for at in pattern.finditer(found[2])})
        elif found := _NETWORK.search(text):
            self.networks[found[1]].add((host, device))
        elif found := _RANK.search(text):
            self.ranks = max(self.ranks, int(found[2]))


def decode(lines: Iterable[str]) -> Account:
    """What the lines of a log tell; logs of several ranks may be one after another or mixed."""
    log = _Log()
    for number, line in enumerate(lines, 1):
        log.take(number, line)
    order = {sign: at for at, sign in enumerate(signs.SIGNS)}
    nics = {
        host: tuple(found.get(at, "") for at in range(max(found) + 1))
        for host, found in log.nics.items()
    }
    return Account(
        lines=log.lines,
        versions=tuple(log.versions),
        hosts=tuple(log.hosts),
        ranks=log.ranks,
        networks={name: len(who) for name, who in log.networks.items()},
        nics=nics,
        transports=dict(Counter(hop.transport for hop in log.hops).most_common()),
        alignment=paths.judge(log.hops, nics),
        signs=tuple(sorted(log.signs.values(), key=lambda one: order[one.sign])),
    )

"""Compares what was measured with what the shape should give, and names who is slow.

Line rates are the catalog's or the nodes' own; how much of them a tool reaches is measured in the
field: ib_write_bw 97 % (391 of 400 Gb/s on RoCE, 97.8 of 100 on EFA), NCCL between 92 and 96 % of
one or two NICs (GB200). Whoever stays below the floors is slow; so is whoever stays behind its
peers, which needs no line rate.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

from podrail.verification.allreduce import AllReduce
from podrail.verification.record import Link, Record

FLOOR: Final = 0.9
"""The share of a rail's line rate that ib_write_bw has to reach."""
COLLECTIVE_FLOOR: Final = 0.8
"""The share of all rails' line rate that the bus bandwidth of all_reduce has to reach."""
BEHIND: Final = 0.9
"""The share of the median of its peers below which something is slow."""
_FEW: Final = 3
"""Fewer measurements than this have no median worth the name."""
_GB: Final = 8


@dataclass(frozen=True, slots=True)
class Expected:
    """What the shape should give: Gb/s of each rail, and how many rails; None is not known."""

    gbps: int | None = None
    rails: int = 0
    source: str = ""

    @property
    def busbw(self) -> float | None:
        """The line rate of all rails in GB/s, which bounds an all_reduce over many nodes."""
        return None if self.gbps is None else self.gbps * self.rails / _GB


@dataclass(frozen=True, slots=True)
class Judged:
    """A link with its floor in Gb/s, if there is one."""

    link: Link
    floor: float | None

    @property
    def slow(self) -> bool:
        """True if it is measured and below the floor."""
        return self.link.gbps is not None and self.floor is not None and self.link.gbps < self.floor

    @property
    def word(self) -> str:
        """In one word."""
        if self.link.gbps is None:
            return "failed"
        return "slow" if self.slow else "ok" if self.floor is not None else "measured"


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that there is to say."""

    expected: Expected
    links: tuple[Judged, ...]
    local: Mapping[str, float]
    """The bus bandwidth inside each node in GB/s."""
    collective: float | None
    """The bus bandwidth over all nodes in GB/s."""
    findings: tuple[str, ...]
    """What is slow or failed, each naming node, pair or rail."""
    unverified: tuple[str, ...]
    """What was not measured, and why."""

    @property
    def measured(self) -> bool:
        """True if anything was."""
        told = [one.link.gbps for one in self.links if one.link.gbps is not None]
        return bool(told or self.local or self.collective is not None)

    def document(self) -> dict[str, Any]:
        """What `-o json` prints."""
        return {
            "expected": {
                "gbpsPerRail": self.expected.gbps,
                "rails": self.expected.rails,
                "source": self.expected.source or None,
            },
            "links": [
                {
                    "server": one.link.server,
                    "client": one.link.client,
                    "rail": one.link.rail,
                    "gbps": one.link.gbps,
                    "floor": one.floor,
                    "verdict": one.word,
                    "why": one.link.why or None,
                }
                for one in self.links
            ],
            "local": dict(self.local),
            "collective": self.collective,
            "findings": list(self.findings),
            "unverified": list(self.unverified),
        }


def judge(
    records: Sequence[Record],
    collective: AllReduce | None,
    expected: Expected,
    unverified: Iterable[str] = (),
) -> Report:
    """The report on what pods recorded, and on the run over all nodes, if there was one."""
    links = _measured(one for record in records for one in record.links)
    judged = tuple(Judged(link, _floor(link, links, expected)) for link in links)
    local = {one.node: one.local.busbw for one in records if one.local is not None}
    found = (*_slow(judged), *_behind(local), *_collective(collective, expected), *_wrong(records))
    told = [*unverified, *_unverified(records, judged, expected)]
    return Report(
        expected,
        judged,
        local,
        None if collective is None else collective.busbw,
        found,
        tuple(dict.fromkeys(told)),
    )


def _measured(links: Iterable[Link]) -> list[Link]:
    """Each link once: of both ends the client's word, unless only the server has one."""
    found: dict[tuple[str, str, str], Link] = {}
    for link in links:
        key = (*link.nodes, link.rail)
        if key not in found or found[key].gbps is None:
            found[key] = link
    return sorted(found.values(), key=lambda link: (*link.nodes, link.rail))


def _floor(link: Link, links: Sequence[Link], expected: Expected) -> float | None:
    if expected.gbps is not None:
        return FLOOR * expected.gbps
    told = [one.gbps for one in links if one.gbps is not None and one is not link]
    return BEHIND * median(told) if len(told) >= _FEW else None


def _slow(judged: Sequence[Judged]) -> Iterator[str]:
    """What is slow or failed, by node where one explains it, else by pair."""
    bad = [one for one in judged if one.word in {"slow", "failed"}]
    of_rail: dict[str, list[Judged]] = defaultdict(list)
    for one in bad:
        of_rail[one.link.rail].append(one)
    for rail, found in of_rail.items():
        mine = [one for one in judged if one.link.rail == rail]
        fine = {node for one in mine if one.word == "ok" for node in one.link.nodes}
        guilty = _guilty(found, fine)
        if guilty:
            yield f"{guilty}: rail {rail} is slow towards every partner ({_told(found)})"
            continue
        for one in found:
            pair = f"{one.link.server} and {one.link.client}"
            yield f"{pair}: rail {rail} between them is {one.word} ({_told([one])})"


def _guilty(found: Sequence[Judged], fine: set[str]) -> str:
    """The one node that all of these have in common while the others are fine elsewhere."""
    shared = set.intersection(*({*one.link.nodes} for one in found)) - fine
    return shared.pop() if len(shared) == 1 else ""


def _told(found: Sequence[Judged]) -> str:
    """The rates of some links, and why others have none."""
    rates = [f"{one.link.gbps:.1f}" for one in found if one.link.gbps is not None]
    floor = next((one.floor for one in found if one.floor is not None), 0.0)
    said = [f"{' and '.join(rates)} Gb/s, expected at least {floor:.1f}"] if rates else []
    return "; ".join(dict.fromkeys([*said, *(one.link.why for one in found if one.link.why)]))


def _behind(local: Mapping[str, float]) -> Iterator[str]:
    """The nodes whose own GPUs are behind those of the others."""
    for node, busbw in local.items():
        others = [one for name, one in local.items() if name != node]
        if len(others) >= _FEW - 1 and busbw < BEHIND * median(others):
            yield (
                f"{node}: its own GPUs reach {busbw:.1f} GB/s among themselves, the other nodes "
                f"{median(others):.1f}"
            )


def _collective(run: AllReduce | None, expected: Expected) -> Iterator[str]:
    if run is None:
        return
    if run.wrong:
        yield f"all nodes: {run.wrong} values of all_reduce came out wrong"
    bound = expected.busbw
    if bound is not None and run.busbw < COLLECTIVE_FLOOR * bound:
        yield (
            f"all nodes: all_reduce reaches {run.busbw:.1f} GB/s, {COLLECTIVE_FLOOR:.0%} of the "
            f"rails' {bound:.1f} GB/s would be {COLLECTIVE_FLOOR * bound:.1f}"
        )


def _wrong(records: Iterable[Record]) -> Iterator[str]:
    for one in records:
        if one.local is not None and one.local.wrong:
            yield f"{one.node}: {one.local.wrong} values of all_reduce came out wrong"


def _unverified(
    records: Sequence[Record], judged: Sequence[Judged], expected: Expected
) -> Iterator[str]:
    for one in records:
        node = one.node or "a pod"
        yield from (f"{node}: {what}" for what in one.missing)
        if not one.complete:
            yield f"{node}: its log breaks off"
    if expected.gbps is None:
        by = "peers" if any(one.floor is not None for one in judged) else "nothing"
        yield f"the line rate of the rails is not known (--gbps): compared with {by}"
    if not judged:
        yield "no rail was measured between two nodes"

"""What the log of a measuring pod says: split at the script's marks, read as the tools' tables."""

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, replace

from podrail.verification import allreduce, perftest
from podrail.verification.allreduce import AllReduce
from podrail.verification.script import MARK

Piece = tuple[list[str], str]
"""The words of a mark, and what was printed after it."""


@dataclass(frozen=True, slots=True)
class Link:
    """One rail between two nodes; None is no measurement, and why says the reason."""

    server: str
    client: str
    rail: str
    gbps: float | None
    why: str = ""

    @property
    def nodes(self) -> tuple[str, str]:
        """Both ends."""
        return self.server, self.client


@dataclass(frozen=True, slots=True)
class Record:
    """What one pod measured; complete is false if its log breaks off."""

    node: str
    local: AllReduce | None
    links: tuple[Link, ...]
    missing: tuple[str, ...]
    """Tools and devices that the pod did not have."""
    complete: bool


def read(log: str) -> Record:
    """The record in a log; empty of all that is not there."""
    pieces = [*_pieces(log)]
    node = next((words[1] for words, _ in pieces if words[:1] == ["node"] and len(words) > 1), "")
    runs = [text for words, text in pieces if words[:1] == ["local"]]
    links = _links(node, pieces)
    return Record(
        node=node,
        local=allreduce.read(runs[0]) if runs else None,
        links=tuple(links.values()),
        missing=tuple(_missing(pieces, links)),
        complete=any(words == ["done"] for words, _ in pieces),
    )


def _links(node: str, pieces: Iterable[Piece]) -> dict[str, Link]:
    """What was measured, by rail; a failure that is told of later is the reason."""
    links: dict[str, Link] = {}
    for words, text in pieces:
        match words:
            case ["rail", rail, _, role, peer]:
                server, client = (node, peer) if role == "server" else (peer, node)
                written = perftest.read(text)
                why = "" if written else "ib_write_bw printed no table"
                gbps = written.gbps if written else None
                links[rail] = Link(server, client, rail, gbps, why)
            case ["failed", rail, *why] if rail in links:
                links[rail] = replace(links[rail], why=" ".join(why))
            case _:
                pass
    return links


def _missing(pieces: Iterable[Piece], links: Container[str]) -> Iterator[str]:
    for words, _ in pieces:
        match words:
            case ["missing", *what]:
                yield f"no {' '.join(what)} in the pod"
            case ["failed", "local"]:
                yield "all_reduce_perf failed"
            case ["failed", rail, *what] if rail not in links:
                yield " ".join(what)
            case _:
                pass


def _pieces(log: str) -> Iterator[Piece]:
    """The words of each mark, and the text up to the next one."""
    words: list[str] = []
    text: list[str] = []
    for line in log.splitlines():
        if line.split()[:1] == [MARK]:
            yield words, "\n".join(text)
            words, text = line.split()[1:], []
        else:
            text.append(line)
    yield words, "\n".join(text)

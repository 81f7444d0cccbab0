"""`podrail decode-log`: what NCCL's log lines mean, and what to do."""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import click

from podrail.nccl import log
from podrail.nccl.log import Account, Seen
from podrail_cli import output
from podrail_cli.given import InputError

MOST_NICS: Final = 16
_EXAMPLES: Final = """\b
Examples:
  kubectl logs -l job-name=train --prefix --tail=-1 | podrail decode-log -
  podrail decode-log rank-0.log -o json

Exit status: 0 nothing wrong is in the log, 1 something is, 2 no log of NCCL's."""


@click.command("decode-log", epilog=_EXAMPLES)
@click.argument("path", metavar="FILE")
@click.option("-o", "--output", "form", type=click.Choice(["text", "json"]), default="text")
def decode_log_command(path: str, form: str) -> None:
    """Say what the lines of an NCCL log mean: transports, NICs, rails, faults; - is standard input.

    Run the job with NCCL_DEBUG=INFO for all of it; WARN shows faults only.
    """
    found = _read(path)
    if not found.lines and not found.signs:
        raise InputError(
            f"{path}: no line of NCCL's; set NCCL_DEBUG=INFO in the job (WARN shows faults only)"
        )
    click.echo(output.as_json(document(found)) if form == "json" else text(found))
    sys.exit(int(not found.well))


def _read(path: str) -> Account:
    """The log in a file, however long it is."""
    if path == "-":
        return log.decode(_lines(sys.stdin.buffer))
    try:
        with Path(path).open("rb") as file:
            return log.decode(_lines(file))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error


def _lines(raw: Iterable[bytes]) -> Iterator[str]:
    # A log may have been cut in the middle of a character.
    return (line.decode(errors="replace") for line in raw)


def document(found: Account) -> dict[str, Any]:
    """The account as `-o json` prints it."""
    return {
        "well": found.well,
        "versions": list(found.versions),
        "hosts": list(found.hosts),
        "ranks": found.ranks,
        "networks": dict(found.networks),
        "nics": {host: list(nics) for host, nics in found.nics.items()},
        "transports": dict(found.transports),
        "rails": {"verdict": found.alignment.verdict, "why": found.alignment.why},
        "signs": [_sign(one) for one in found.signs],
    }


def _sign(one: Seen) -> dict[str, Any]:
    return {
        "code": one.sign.code,
        "gravity": one.sign.gravity,
        "count": one.count,
        "line": one.line,
        "example": one.example,
        "means": one.sign.means,
        "remedy": one.sign.remedy,
    }


def text(found: Account) -> str:
    """The account for people."""
    signs = ["\n".join(_told(one)) for one in found.signs]
    last = "" if signs else "No warning and no fallback in this log."
    return "\n\n".join(filter(None, ["\n".join(_facts(found)), *signs, last]))


def _facts(found: Account) -> Iterator[str]:
    ranks = f", {found.ranks} ranks" if found.ranks else ""
    hosts = f"{len(found.hosts)} host{'s' if len(found.hosts) != 1 else ''}"
    yield f"NCCL {', '.join(found.versions) or '(version not told)'}: {hosts}{ranks}"
    if found.networks:
        chosen = ", ".join(f"{name} ({count} GPUs)" for name, count in found.networks.items())
        yield f"  network:    {chosen}"
    for nics, hosts_of in _alike(found).items():
        yield f"  NICs:       {nics}  ({hosts_of})"
    if found.transports:
        ways = ", ".join(f"{count} x {name}" for name, count in found.transports.items())
        yield f"  channels:   {ways}"
    yield f"  rails:      {found.alignment.verdict}: {found.alignment.why}"


def _alike(found: Account) -> dict[str, str]:
    """The NICs in words, and the hosts that have them."""
    hosts: dict[str, list[str]] = {}
    for host, nics in found.nics.items():
        hosts.setdefault(" ".join(nics[:MOST_NICS]), []).append(host)
    return {
        nics: some[0] if len(some) == 1 else f"{len(some)} hosts" for nics, some in hosts.items()
    }


def _told(one: Seen) -> Iterator[str]:
    times = "" if one.count == 1 else f", {one.count} times"
    yield f"{one.sign.gravity.upper()} {one.sign.code} (line {one.line}{times}): {one.sign.means}"
    yield f"    {one.example}"
    yield f"    what to do: {one.sign.remedy}"

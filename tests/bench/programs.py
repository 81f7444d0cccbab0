"""podrail's programs and their stand-ins as children of one measure, and the memory they hold."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import stand_ins
from blocks import Comparison
from controlplane.installed import script
from controlplane.processes import Child
from stand_ins import Pair


class Programs:
    """Running programs whose logs and certificates lie in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._children: list[Child] = []
        self.tls = folder / "tls"
        subprocess.run(
            [script("podrail-certs"), "create", "--out", self.tls, "--days", "2"],
            check=True,
            capture_output=True,
        )

    @property
    def ca(self) -> Path:
        """What the pair below is to be verified by."""
        return self.tls / "ca.crt"

    @property
    def pair(self) -> Pair:
        """The pair that is served."""
        return Pair(self.tls / "tls.crt", self.tls / "tls.key")

    def webhook(self, environ: Mapping[str, str] | None = None) -> Child:
        """The webhook; without settings for it, it has no API server to watch."""
        pair = self.pair
        settings = {
            "PODRAIL_LISTEN": "127.0.0.1:0",
            "PODRAIL_CERT": str(pair.certfile),
            "PODRAIL_KEY": str(pair.keyfile),
            "PYTHONSAFEPATH": "1",
            **(environ or {}),
        }
        log = self.folder / "webhook.log"
        return self._keep(Child([script("podrail-webhook")], log, settings))

    def stand_in(self, handler: str, threads: int, *, tls: bool) -> Child:
        """One of the stand-ins."""
        log = self.folder / f"{handler}.log"
        return self._keep(stand_ins.start(handler, log, threads, self.pair if tls else None))

    def body(self, name: str, *bodies: bytes) -> Path:
        """A file with the bodies, one a line."""
        path = self.folder / f"{name}.jsonl"
        path.write_bytes(b"\n".join(bodies))
        return path

    def stop(self) -> None:
        """End them all."""
        for child in reversed(self._children):
            child.stop()

    def _keep(self, child: Child) -> Child:
        self._children.append(child)
        return child


@contextmanager
def running(folder: Path) -> Iterator[Programs]:
    """Programs that end with the block."""
    folder.mkdir(parents=True)
    programs = Programs(folder)
    try:
        yield programs
    finally:
        programs.stop()


def memory(child: Child) -> dict[str, Any]:
    """MiB held by a program and its workers: resident of each, now and at its most; shares of all."""
    family = _family(child.process.pid)
    found = [_rollup(pid) for pid in family]
    return {
        "processes": len(found),
        "rss_mib": [round(one["Rss"] / 1024, 1) for one in found],
        "peak_rss_mib": [round(_peak(pid) / 1024, 1) for pid in family],
        "pss_mib": round(sum(one["Pss"] for one in found) / 1024, 1),
    }


class Meter:
    """The processor time of programs from now on, which a busy neighbour does not lengthen."""

    def __init__(self, children: Mapping[str, Child]) -> None:
        self._children = children
        self._before = self._spent()

    def per_request(self, comparison: Comparison) -> dict[str, float]:
        """Milliseconds of each program for one request of the comparison made since."""
        now = self._spent()
        return {
            name: round((now[name] - self._before[name]) * 1000 / comparison.sent, 3)
            for name in self._children
        }

    def _spent(self) -> dict[str, float]:
        return {
            name: sum(_seconds(pid) for pid in _family(child.process.pid))
            for name, child in self._children.items()
        }


def _seconds(pid: int) -> float:
    # The second field is the program's name in brackets, which may hold spaces (proc(5)).
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _family(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(one for child in children for one in _family(int(child)))]


def _rollup(pid: int) -> dict[str, int]:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    return {name: int(rest.split()[0]) for name, _, rest in (line.partition(":") for line in lines)}


def _peak(pid: int) -> int:
    """The most KiB a process has held."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))

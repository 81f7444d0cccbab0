"""The soak: `python tests/soak/run.py --seconds N` calls webhook and extender for so long.

Kept, fresh and silent connections and noise go on at once. One JSON document goes to standard
output; the exit status is 1 if a good call failed or was reset, or if memory, threads or open files
of a program did not stay flat.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import socket
import ssl
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from functools import partial
from itertools import cycle
from pathlib import Path
from random import Random
from typing import Any, Final

import builders
import commands
import gauges
import served
import staging
from noise import Noise

SECONDS: Final = 900
KEPT: Final = 3
"""Connections of each program that are kept for the whole time."""
SILENT: Final = 10
SILENT_SECONDS: Final = 4.0
PAUSE_SECONDS: Final = 0.02
"""Between two calls of a caller: the programs are to live long, not to be full."""
MOST_TOLD: Final = 5


@dataclass(slots=True)
class Target:
    """A program that listens, the documents it is called with by path, and what came of the calls."""

    child: commands.Child
    good: Mapping[str, Any]
    trust: Path | None = None
    port: int = 0
    calls: int = 0
    problems: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.child.eventually(lambda: '"listening"' in self.child.errors)
        lines = [json.loads(one) for one in self.child.errors.splitlines()]
        address = next(one["address"] for one in lines if "address" in one)
        self.port = int(address.rpartition(":")[2])

    def open(self) -> socket.socket:
        """A connection that says nothing, after its handshake if there is one."""
        sock = socket.create_connection(("127.0.0.1", self.port), timeout=10)
        if self.trust is None:
            return sock
        context = ssl.create_default_context(cafile=self.trust)
        return context.wrap_socket(sock, server_hostname="localhost")

    def connect(self) -> http.client.HTTPConnection:
        """A connection for calls."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        connection.sock = self.open()
        connection.auto_open = 0
        return connection

    def call(self, connection: http.client.HTTPConnection, path: str) -> None:
        """One good call; what is wrong with its answer is a problem."""
        self.calls += 1
        try:
            body = json.dumps(self.good[path])
            connection.request("POST", path, body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            answer.read()
        except (OSError, http.client.HTTPException) as error:
            self.problems.append(f"{path}: {error!r}")
            return
        if answer.status != http.client.OK or answer.will_close:
            self.problems.append(f"{path}: {answer.status}, closing: {answer.will_close}")


def kept(target: Target, until: float) -> None:
    """Call over one connection; a new one only after a problem, which has been told by then."""
    paths, problems = cycle(target.good), -1
    connection = target.connect()
    while time.monotonic() < until:
        problems = len(target.problems)
        target.call(connection, next(paths))
        if len(target.problems) > problems:
            connection.close()
            connection = target.connect()
        time.sleep(PAUSE_SECONDS)
    connection.close()


def fresh(target: Target, until: float) -> None:
    """Call over a connection of its own each time."""
    paths = cycle(target.good)
    while time.monotonic() < until:
        with closing(target.connect()) as connection:
            target.call(connection, next(paths))
        time.sleep(PAUSE_SECONDS)


def silent(target: Target, until: float) -> None:
    """Hold connections that say nothing, for some seconds each."""
    while time.monotonic() < until:
        with ExitStack() as held:
            for _ in range(SILENT):
                held.enter_context(target.open())
            time.sleep(min(SILENT_SECONDS, max(until - time.monotonic(), 0)))


def noisy(target: Target, until: float) -> None:
    """Send noise; what comes back is another test's affair."""
    noise = Noise(Random(3), {path: [good] for path, good in target.good.items()})
    while time.monotonic() < until:
        with contextlib.suppress(OSError), target.open() as sock:
            sock.sendall(next(noise.requests(1)))
            sock.settimeout(1)
            sock.recv(65536)
        time.sleep(PAUSE_SECONDS)


def soak(targets: Mapping[str, Target], seconds: float) -> dict[str, Any]:
    """Have them called, and look at them each second; figures and problems of each."""
    until = time.monotonic() + seconds
    samples: dict[str, list[gauges.Sample]] = {name: [] for name in targets}
    callers = [*[kept] * KEPT, fresh, silent, noisy]
    with ThreadPoolExecutor(len(callers) * len(targets)) as pool:
        tasks = [pool.submit(one, target, until) for target in targets.values() for one in callers]
        while time.monotonic() < until:
            for name, target in targets.items():
                samples[name].append(gauges.sample(target.child.process.pid))
            time.sleep(1)
        for task in tasks:
            task.result()
    found = {}
    for name, target in targets.items():
        problems = [*target.problems[:MOST_TOLD], *gauges.grown(samples[name])]
        figures = {"calls": target.calls, **gauges.told(samples[name])}
        found[name] = {**figures, "failed": len(target.problems), "problems": problems}
    return found


@contextlib.contextmanager
def webhook(folder: Path) -> Iterator[Target]:
    """The webhook with TLS and the shipped profiles."""
    authority = served.authority(folder)
    pair = authority.leaf("tls")
    given = {"PODRAIL_CERT": str(pair.certfile), "PODRAIL_KEY": str(pair.keyfile)}
    start = partial(commands.weighed, folder / "webhook", "podrail-webhook")
    good = {"/mutate": json.loads(builders.review(builders.document()))}
    with start(PODRAIL_LISTEN="127.0.0.1:0", **given) as child:
        yield Target(child, good, authority.file)


@contextlib.contextmanager
def extender(folder: Path) -> Iterator[Target]:
    """The extender, whose API server refuses connections the whole time."""
    asked = {"Pod": staging.injected(staging.halves(), gpus=8), "NodeNames": ["a", "b", "c"]}
    bind = {"PodName": "p", "PodNamespace": "n", "PodUID": "u", "Node": "a"}
    with closing(socket.socket()) as refusing:
        refusing.bind(("127.0.0.1", 0))
        server = f"http://127.0.0.1:{refusing.getsockname()[1]}"
        start = partial(commands.weighed, folder / "extender", "podrail-extender")
        with start(PODRAIL_LISTEN="127.0.0.1:0", PODRAIL_SERVER=server) as child:
            yield Target(child, {"/filter": asked, "/prioritize": asked, "/bind": bind})


def main() -> int:
    """Soak and print; the exit status."""
    parser = argparse.ArgumentParser(description="Call webhook and extender for a long time.")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="how long (900)")
    seconds = parser.parse_args().seconds
    with (
        tempfile.TemporaryDirectory(prefix="podrail-soak-") as folder,
        webhook(Path(folder)) as first,
        extender(Path(folder)) as second,
    ):
        found = soak({"webhook": first, "extender": second}, seconds)
    print(json.dumps({"seconds": seconds, **found}, indent=1))
    return int(any(one["problems"] for one in found.values()))


if __name__ == "__main__":
    sys.exit(main())

"""The server under a Go client with kube-apiserver's transport settings (main.go beside this file)."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import served

from podrail_io import serving

if TYPE_CHECKING:
    from collections.abc import Iterator

    from served import Served

pytestmark = pytest.mark.go

SERVERS = [(serving.HARDENED, 64), (serving.THREADS, 4)]
"""Worker classes, and how many threads they have: where few are held, few are enough."""


servers = pytest.mark.parametrize("server", SERVERS, indirect=True, ids=serving.WORKER_CLASSES)


@dataclass(frozen=True, slots=True)
class Client:
    """The Go program, pointed at servers."""

    program: Path

    def start(self, server: Served, command: str, **flags: object) -> subprocess.Popen[str]:
        told = [f"-{name.replace('_', '-')}={value}" for name, value in flags.items()]
        trust = [f"-ca={server.trust}"] if server.trust else []
        return subprocess.Popen(
            [self.program, command, f"-url={server.url}/echo", *trust, *told],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, server: Served, command: str, **flags: object) -> dict[str, Any]:
        """What the command reports."""
        with self.start(server, command, **flags) as process:
            try:
                out, errors = process.communicate(timeout=60)
            finally:
                process.kill()
        assert process.returncode == 0, errors
        return dict(json.loads(out))


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Client:
    go = shutil.which("go")
    if go is None:
        pytest.skip("NOT RUN: the Go toolchain is missing, so no kube-apiserver-like client")
    program = tmp_path_factory.mktemp("transport") / "transport"
    subprocess.run([go, "build", "-p=2", "-o", program, "."], cwd=Path(__file__).parent, check=True)
    return Client(program)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> served.Authority:
    return served.authority(tmp_path_factory.mktemp("ca"))


@pytest.fixture
def server(
    request: pytest.FixtureRequest, authority: served.Authority, tmp_path: Path
) -> Iterator[Served]:
    """A TLS server as the parameter says, else the default one."""
    worker_class, threads = getattr(request, "param", SERVERS[0])
    server = served.served(tmp_path, trust=authority, worker_class=worker_class, threads=threads)
    with server as running:
        yield running


@servers
def test_bursts(client: Client, server: Served) -> None:
    """Four bursts of 20 callers with three calls each: no error, and p99 under a second."""
    report = client.run(server, "burst", bursts=4, calls=20, each=3, deadline="5s", gap="1s")
    assert (240, []) == (report["calls"], report["errors"])
    assert report["p99"] < 1000


def test_bursts_stall_the_stock_worker(
    client: Client, authority: served.Authority, tmp_path: Path
) -> None:
    """The same client times out at gunicorn's own gthread: its spare connections hold the threads."""
    with served.served(tmp_path, trust=authority, threads=4, worker_class="gthread") as stock:
        report = client.run(stock, "burst", bursts=1, calls=20, each=3, deadline="1s")
    assert report["errors"]


@servers
def test_silent_connections(client: Client, server: Served) -> None:
    """Beside 200 connections that finished their handshake and say nothing a call takes under 1 s."""
    report = client.run(server, "silent", silent=200)
    assert (1, []) == (report["calls"], report["errors"])
    assert report["max"] < 1000


@servers
def test_calls_two_seconds_apart(client: Client, server: Served) -> None:
    """At the spacing of gunicorn's default keepalive nothing is reset, on one connection."""
    report = client.run(server, "spaced", calls=3, gap="2s")
    assert (3, [], 1) == (report["calls"], report["errors"], report["dials"])


@servers
def test_certificate_swap(client: Client, server: Served, authority: served.Authority) -> None:
    """A new pair is served within five seconds, and the open connection lives on."""
    assert server.pair
    new = authority.leaf("new")
    seen = client.run(
        server,
        "swap",
        certfile=server.pair.certfile,
        keyfile=server.pair.keyfile,
        new_cert=new.certfile,
        new_key=new.keyfile,
    )
    assert (True, True, []) == (seen["changed"], seen["reused"], seen["report"]["errors"])
    assert seen["after"] < 5000


@servers
def test_stop_with_idle_and_silent_connections(client: Client, server: Served) -> None:
    """SIGTERM ends the process in under five seconds beside 20 idle and 50 silent connections."""
    with client.start(server, "hold", silent=50, kept=20) as holder:
        try:
            assert holder.stdout
            assert holder.stdout.readline() == "held\n"
            assert server.stop() < 5
        finally:
            holder.kill()

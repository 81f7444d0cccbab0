from __future__ import annotations

import contextlib
import json
import re
import resource
import select
import socket
import ssl
import struct
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
import served
import siege

from podrail_io import exchange, serving, worker

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from siege import Siege

CUT_SECONDS = 10.0
HOG_BYTES = 7_000_000


worker_classes = pytest.mark.parametrize("worker_class", serving.WORKER_CLASSES)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> served.Authority:
    return served.authority(tmp_path_factory.mktemp("ca"))


@pytest.fixture(scope="module", params=serving.WORKER_CLASSES)
def plain(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[served.Served]:
    """One thread and no TLS, for what one connection alone can do."""
    folder = tmp_path_factory.mktemp("plain")
    with served.served(folder, threads=1, worker_class=request.param) as server:
        yield server


@dataclass(frozen=True, slots=True)
class Besieged:
    """What came of a siege: each kind of peer, and one that asks for 7 MB and reads none of it."""

    kinds: dict[str, Siege]
    latency_beside_hog: float
    taken_by_hog: int


def _besiege(folder: Path, authority: served.Authority, worker_class: str) -> Besieged:
    """All kinds at once on one server with four threads, each watched until it is cut."""
    with (
        served.served(folder, trust=authority, threads=4, worker_class=worker_class) as server,
        served.served(folder / "hog", threads=1, worker_class=worker_class) as beside,
        siege.hog(beside, HOG_BYTES) as hog,
    ):
        begun = time.monotonic()
        assert beside.call("POST", "/echo", b"{}", timeout=15)[0] == 200
        latency = time.monotonic() - begun
        laid = {kind: siege.lay(server, kind) for kind in siege.KINDS}
        siege.watch(laid.values(), CUT_SECONDS + 1)
        assert server.call("GET", "/healthz")[0] == 200
        assert not [line for line in server.records() if line["level"] == "ERROR"]
        return Besieged(laid, latency, siege.taken(hog))


@pytest.fixture(scope="module")
def sieges(
    authority: served.Authority, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Besieged]:
    """A siege of each worker class, at the same time: each takes eleven seconds."""
    with ThreadPoolExecutor() as pool:
        begun = {
            one: pool.submit(_besiege, tmp_path_factory.mktemp(one), authority, one)
            for one in serving.WORKER_CLASSES
        }
        return {one: siege_.result() for one, siege_ in begun.items()}


@pytest.fixture(params=serving.WORKER_CLASSES)
def besieged(request: pytest.FixtureRequest, sieges: dict[str, Besieged]) -> Besieged:
    """What came of the siege of one worker class."""
    return sieges[request.param]


@pytest.fixture
def many_files() -> Iterator[None]:
    """Room for some thousand connections in this process and its children."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def _exchange(server: served.Served, content: bytes) -> bytes:
    """Everything that comes back until the server closes."""
    with server.open() as sock:
        sock.sendall(content)
        return b"".join(iter(lambda: sock.recv(65536), b""))


@pytest.mark.parametrize("kind", siege.KINDS)
def test_a_fresh_call_is_answered_beside_them(besieged: Besieged, kind: str) -> None:
    """No number of unfinished connections holds anything: a fresh call answers within a second."""
    assert besieged.kinds[kind].latency < 1


@pytest.mark.parametrize("kind", siege.KINDS)
def test_each_is_cut(besieged: Besieged, kind: str) -> None:
    """Every peer that does not finish what it began is cut within ten seconds."""
    of_kind = besieged.kinds[kind]
    seconds = [of_kind.cut.get(sock) for sock in of_kind.opened]
    assert [] == [one for one in seconds if one is None or one > CUT_SECONDS]


def test_stock_gthread_hangs(authority: served.Authority, tmp_path: Path) -> None:
    """The worker of gunicorn itself stops at as many silent connections as it has threads."""
    with contextlib.ExitStack() as stack:
        stock = served.served(tmp_path, trust=authority, worker_class="gthread", threads=4)
        server = stack.enter_context(stock)
        for _ in range(4):
            stack.enter_context(server.handshaken())
        time.sleep(0.3)
        with pytest.raises(TimeoutError):
            server.call("GET", "/healthz", timeout=1)


def test_a_peer_that_reads_nothing_holds_nothing(besieged: Besieged) -> None:
    """An answer that nobody takes delays no other, where there is one thread, and is given up."""
    assert besieged.latency_beside_hog < 1
    assert besieged.taken_by_hog < HOG_BYTES


@pytest.mark.usefixtures("many_files")
def test_overload_is_answered_429(plain: served.Served) -> None:
    """Requests beyond the queue are told to come again in a second; those in it are answered."""
    with contextlib.ExitStack() as stack:
        slow, *ordinary = [
            stack.enter_context(plain.open()) for _ in range(worker.MOST_QUEUED + 11)
        ]
        # Until all of them are accepted.
        assert plain.call("GET", "/healthz")[0] == 200
        slow.sendall(
            siege.HEAD.replace(b"/echo", b"/slow?seconds=2") + b"Content-Length: 0\r\n\r\n"
        )
        time.sleep(0.3)
        for sock in ordinary:
            sock.sendall(siege.HEAD + b"Content-Length: 2\r\n\r\n{}")
        answers = [_status_and_head(sock) for sock in ordinary]
    assert {200: worker.MOST_QUEUED, 429: 10} == {
        status: sum(one == status for one, _ in answers) for status in (200, 429)
    }
    assert all(b"Retry-After: 1\r\n" in head for status, head in answers if status == 429)
    told = plain.call("GET", "/metrics")[1].decode()
    (count,) = re.findall(r'^podrail_http_refusals_total\{status="429"\} (.+)$', told, re.MULTILINE)
    assert float(count) >= 10


def _status_and_head(sock: socket.socket) -> tuple[int, bytes]:
    head = sock.recv(65536)
    return int(head.split()[1]), head


def test_the_bytes_of_unfinished_requests_are_bounded(plain: served.Served) -> None:
    """Large bodies that stall cannot fill the memory: beyond a sum the largest is told to retry."""
    count = worker.MOST_BUFFERED // 7_000_000 + 3
    with contextlib.ExitStack() as stack:
        hoarders = [stack.enter_context(plain.open()) for _ in range(count)]
        for sock in hoarders:
            sock.sendall(siege.HEAD + b"Content-Length: 7000001\r\n\r\n")
            with contextlib.suppress(OSError):
                sock.sendall(b"x" * 7_000_000)
        assert plain.call("POST", "/echo", b"{}")[0] == 200
        gone = _readable(hoarders, 1000)
        assert gone
        assert [429] * len(gone) == [_status_and_head(sock)[0] for sock in gone]


def _readable(sockets: list[socket.socket], milliseconds: int) -> list[socket.socket]:
    """Which of them have something to read, or have ended; select() stops at descriptor 1,024."""
    poll, by_number = select.poll(), {one.fileno(): one for one in sockets}
    for one in sockets:
        poll.register(one, select.POLLIN)
    return [by_number[number] for number, _ in poll.poll(milliseconds)]


@pytest.mark.usefixtures("many_files")
@worker_classes
def test_silence_cannot_take_all_connections(tmp_path: Path, worker_class: str) -> None:
    """At gunicorn's limit of 1,000 connections the oldest silent one makes room for a new one."""
    with contextlib.ExitStack() as stack:
        one = served.served(tmp_path, threads=1, worker_class=worker_class)
        server = stack.enter_context(one)
        silent = [stack.enter_context(server.open()) for _ in range(1010)]
        assert server.call("POST", "/echo", b"{}", timeout=5)[0] == 200
        assert siege.ended(silent[0])
        assert _readable(silent[-900:], 0) == []


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"GET / HTTP/9.9\r\nHost: x\r\n\r\n", 400),
        (b"\x00\xff\r\n\r\n", 400),
        (b"GET /%s HTTP/1.1\r\nHost: x\r\n\r\n" % (b"x" * 5000), 414),
        (b"GET / HTTP/1.1\r\nx: %s\r\n\r\n" % (b"x" * 9000), 431),
        (b"GET / HTTP/1.1\r\nx: %s" % (b"x" * 70_000), 431),
        (b"POST /echo HTTP/1.1\r\nTransfer-Encoding: wild\r\n\r\n", 501),
        (siege.HEAD + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", 411),
    ],
    ids=["version", "binary", "long line", "long header", "endless head", "coding", "chunked"],
)
def test_what_cannot_be_parsed_is_refused_in_json(
    plain: served.Served, content: bytes, status: int
) -> None:
    """Every byte input ends in a status and a small JSON body, and the connection with it."""
    head, _, body = _exchange(plain, content).partition(b"\r\n\r\n")
    assert status == int(head.split()[1])
    assert b"Connection: close" in head
    assert body.startswith(b'{"error": ')


def test_an_early_refusal_reaches_a_peer_that_still_sends(plain: served.Served) -> None:
    """A body over the limit is refused unread, and the peer reads why before any reset."""
    status, body = plain.call("POST", "/echo", b"x" * 20_000_000)
    assert (413, True) == (status, b"larger than" in body)


def test_requests_in_one_segment_are_all_answered(plain: served.Served) -> None:
    """What arrives ahead of its turn is kept for the next request on the connection."""
    one = siege.HEAD + b"Content-Length: 2\r\n\r\n{}"
    last = one.replace(b"Host", b"Connection: close\r\nHost")
    assert _exchange(plain, one + one + last).count(b"200 OK") == 3


def test_a_peer_that_asks_before_it_sends_is_told_to_go_on(plain: served.Served) -> None:
    """Expect: 100-continue is answered at once, and once, and the body then awaited."""
    with plain.open() as sock:
        expects = b"Connection: close\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n"
        sock.sendall(siege.HEAD + expects)
        assert sock.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        sock.sendall(b"{}")
        rest = b"".join(iter(lambda: sock.recv(65536), b""))
    assert (True, 0) == (rest.startswith(b"HTTP/1.1 200 OK"), rest.count(b"100 Continue"))


@worker_classes
def test_resets_at_any_moment_leave_no_trace(
    authority: served.Authority, tmp_path: Path, worker_class: str
) -> None:
    """Peers that reset, before and after the server noticed them, cost no worker and no error."""
    reset = struct.pack("ii", 1, 0)
    with served.served(tmp_path, trust=authority, worker_class=worker_class) as server:
        whole = siege.HEAD + b"Content-Length: 2\r\n\r\n{}"
        for index in range(40):
            for opened in (server.open, server.handshaken, lambda: siege.half_handshake(server)):
                with opened() as sock:
                    if isinstance(sock, ssl.SSLSocket):
                        sock.sendall(whole[: 1 + index * 3])
                    time.sleep(0.001 * (index % 3))
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
        assert server.call("POST", "/echo", b"{}")[0] == 200
        assert {"INFO"} == {line["level"] for line in server.records()}


@worker_classes
def test_stop_with_connections_of_all_kinds(
    authority: served.Authority, tmp_path: Path, worker_class: str
) -> None:
    """SIGTERM ends the process in under five seconds, whatever is open, and finishes a request."""
    with contextlib.ExitStack() as stack:
        one = served.served(tmp_path, trust=authority, worker_class=worker_class)
        server = stack.enter_context(one)
        for _ in range(30):
            stack.enter_context(server.open())
            stack.enter_context(server.handshaken())
            stack.enter_context(siege.KINDS["partial headers"][1](server))
        running = stack.enter_context(contextlib.closing(server.connect()))
        running.request("POST", "/slow?seconds=1", b"", {"Content-Type": "application/json"})
        time.sleep(0.3)
        seconds = server.stop()
        assert seconds < 5
        assert running.getresponse().status == 200
        assert not [line for line in server.records() if line["level"] == "ERROR"]


@pytest.mark.parametrize(
    ("path", "size", "worker_class", "main"),
    [
        ("/where", 2, serving.HARDENED, True),
        ("/where", exchange.LARGE_BYTES + 1, serving.HARDENED, False),
        ("/waiting", 2, serving.HARDENED, False),
        ("/where", 2, serving.THREADS, False),
    ],
    ids=["prompt", "large", "would wait", "threads"],
)
def test_where_a_call_is_answered(
    tmp_path: Path, path: str, size: int, worker_class: str, *, main: bool
) -> None:
    """The main loop answers small calls of declared paths; what may take long has a thread."""
    with served.served(tmp_path, worker_class=worker_class) as server:
        answers = [server.call("POST", path, b"x" * size) for _ in range(2)]
    assert [(200, json.dumps(main).encode())] * 2 == answers


def test_a_call_in_a_thread_delays_no_prompt_one(tmp_path: Path) -> None:
    """Beside handlers that wait, in all the threads there are, the main loop goes on answering."""
    with served.served(tmp_path, "waiting", threads=2) as server, ThreadPoolExecutor() as pool:
        slow = [pool.submit(server.call, "POST", "/slow?seconds=1", b"") for _ in range(2)]
        time.sleep(0.3)
        begun = time.monotonic()
        assert server.call("POST", "/prompt", b"{}")[0] == 200
        assert time.monotonic() - begun < 0.5
        assert [200, 200] == [one.result()[0] for one in slow]


def test_liveness_depends_on_no_thread_and_readiness_does(tmp_path: Path) -> None:
    """While the pool is stuck a replica gets no calls, and is not restarted for it."""
    with served.served(tmp_path, "waiting", threads=2) as server, ThreadPoolExecutor() as pool:
        slow = [pool.submit(server.call, "POST", "/slow?seconds=2", b"") for _ in range(2)]
        time.sleep(0.3)
        begun = time.monotonic()
        assert server.call("GET", "/healthz")[0] == 200
        assert time.monotonic() - begun < 0.5
        assert server.call("GET", "/readyz")[0] == 200
        assert time.monotonic() - begun > 1
        assert [200, 200] == [one.result()[0] for one in slow]

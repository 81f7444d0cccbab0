"""Peers that hold a connection open without finishing anything, and when the server cuts them."""

from __future__ import annotations

import contextlib
import selectors
import socket
import ssl
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from served import Served

HEAD: Final = b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"


@dataclass(slots=True)
class Siege:
    """One kind of peer: its connections, and what came of them."""

    kind: str
    opened: dict[socket.socket, float]
    """When each of its connections had said what it says."""
    latency: float
    """Seconds that a well-behaved call took beside them."""
    cut: dict[socket.socket, float] = field(default_factory=dict)
    """Seconds from there until the server ended the connection."""


def half_handshake(server: Served) -> socket.socket:
    """The first bytes of a ClientHello."""
    outgoing, context = ssl.MemoryBIO(), ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client = context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="x")
    with contextlib.suppress(ssl.SSLWantReadError):
        client.do_handshake()
    sock = server.open()
    sock.sendall(outgoing.read()[:40])
    return sock


def junk(server: Served) -> socket.socket:
    """A plaintext request on the TLS port."""
    sock = server.open()
    sock.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    return sock


def _says(content: bytes) -> Callable[[Served], socket.socket]:
    def peer(server: Served) -> socket.socket:
        sock = server.handshaken()
        sock.sendall(content)
        return sock

    return peer


KINDS: Final[dict[str, tuple[int, Callable[[Served], socket.socket]]]] = {
    "half handshakes": (50, half_handshake),
    "partial headers": (50, _says(HEAD)),
    "stalled bodies": (50, _says(HEAD + b"Content-Length: 1000\r\n\r\n{")),
    "stalled bodies after 100": (
        50,
        _says(HEAD + b"Content-Length: 9\r\nExpect: 100-continue\r\n\r\n"),
    ),
    "stalled chunks": (50, _says(HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\n{")),
    "drips": (50, _says(HEAD)),
    "plaintext junk": (20, junk),
}


def lay(server: Served, kind: str) -> Siege:
    """Open all connections of a kind, then make one ordinary call."""
    count, peer = KINDS[kind]
    opened = {peer(server): time.monotonic() for _ in range(count)}
    begun = time.monotonic()
    status, _ = server.call("POST", "/echo", b"{}", timeout=10)
    assert status == 200
    return Siege(kind, opened, time.monotonic() - begun)


@contextlib.contextmanager
def hog(server: Served, size: int) -> Iterator[socket.socket]:
    """A peer that asks for so many bytes, plainly, and reads none of them."""
    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.connect(("127.0.0.1", server.port))
        sock.sendall(HEAD + b"Content-Length: %d\r\n\r\n" % size + b"x" * size)
        # Until the request has arrived and its answer has filled the buffers.
        time.sleep(1)
        yield sock


def taken(sock: socket.socket) -> int:
    """How many bytes come before the end, or before a second without any."""
    sock.settimeout(1)
    total = 0
    with contextlib.suppress(OSError):
        while data := sock.recv(65536):
            total += len(data)
    return total


def watch(sieges: Iterable[Siege], seconds: float) -> None:
    """Note who is cut until all are or the time is up; the drips go on dripping."""
    of = {sock: siege for siege in sieges for sock in siege.opened}
    with selectors.DefaultSelector() as selector:
        for sock in of:
            selector.register(sock, selectors.EVENT_READ, sock)
        end, next_drip = time.monotonic() + seconds, time.monotonic() + 1
        while selector.get_map() and time.monotonic() < end:
            for key, _ in selector.select(0.1):
                if ended(key.data):
                    selector.unregister(key.data)
                    siege = of[key.data]
                    siege.cut[key.data] = time.monotonic() - siege.opened[key.data]
            if time.monotonic() >= next_drip:
                next_drip += 1
                _drip(sock for sock, siege in of.items() if siege.kind == "drips")
    for sock in of:
        sock.close()


def ended(sock: socket.socket) -> bool:
    """Whether a connection that has something to read has reached its end."""
    try:
        # Below TLS: session tickets and alerts are of no interest, the end is.
        return not socket.socket.recv(sock, 65536)
    except OSError:
        return True


def _drip(sockets: Iterable[socket.socket]) -> None:
    for sock in sockets:
        with contextlib.suppress(OSError):
            sock.sendall(b"X")

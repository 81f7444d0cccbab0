"""One client connection while no thread serves it: handshake, silence, an arriving request.

Nothing here blocks, and nothing is judged: a request is sized up only to know when all of it has
arrived, and gunicorn's parser then reads the same bytes from the start and refuses what it must.
"""

import re
import socket
import ssl
from enum import Enum
from typing import Any, Final

HEAD_BYTES: Final = 64 * 1024
"""The longest head that is waited for; gunicorn's own limits allow 800 KiB."""
BODY_BYTES: Final = 8 * 1024 * 1024
"""A longer body is handed over unread, for the application to refuse."""
READ_BYTES: Final = 64 * 1024
READS: Final = 16
"""How often one connection is read before the others have their turn."""

_LENGTH: Final = re.compile(rb"\r\ncontent-length:[ \t]*(\d{1,18})[ \t]*\r\n", re.IGNORECASE)
_CHUNKED: Final = re.compile(rb"\r\ntransfer-encoding[ \t]*:", re.IGNORECASE)
_EXPECTS: Final = re.compile(rb"\r\nexpect:[ \t]*100-continue[ \t]*\r\n", re.IGNORECASE)
_CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"


class Stage(Enum):
    """What is waited for."""

    SHAKING = "shaking"
    SILENT = "silent"
    ARRIVING = "arriving"
    LINGERING = "lingering"


class HeadTooLongError(Exception):
    """No head ended within HEAD_BYTES."""


class Connection:
    """A connection; sock, client, server and parser bear the names that gunicorn's worker reads."""

    # ThreadWorker.handle would wait for data and shake hands where these say otherwise.
    initialized: Final = True
    data_ready: Final = True
    is_http2: Final = False

    def __init__(self, sock: socket.socket, client: Any, server: Any) -> None:
        sock.setblocking(False)
        self.sock = sock
        self.client = client
        self.server = server
        self.parser: Any = None
        self.stage = Stage.SILENT
        self.deadline = 0.0
        self.whole = True
        """Whether all of the request is in memory: else the rest is left on the socket."""
        self._received = bytearray()
        self._needed: int | None = None

    def init(self) -> None:
        """Nothing: the handshake is over before a thread is given."""

    @property
    def held(self) -> int:
        """The bytes in memory of a request that has not been handed over."""
        return len(self._received)

    def shake(self) -> bool:
        """Go on with the TLS handshake and tell whether it is over; OSError if it failed."""
        try:
            if isinstance(self.sock, ssl.SSLSocket):
                self.sock.do_handshake()
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return False
        return True

    def receive(self) -> bool:
        """Take what has arrived and tell whether the request can be handed over.

        EOFError if the peer has closed, HeadTooLongError, or an OSError.
        """
        for _ in range(READS):
            try:
                data = self.sock.recv(READ_BYTES)
            except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                return False
            if not data:
                raise EOFError
            if self.add(data):
                return True
        return False

    def add(self, data: bytes) -> bool:
        """Add bytes of the request and tell whether it can be handed over."""
        self._received += data
        if self._needed is None:
            self._size_up()
        return self._needed is not None and len(self._received) >= self._needed

    def _size_up(self) -> None:
        end = self._received.find(b"\r\n\r\n", 0, HEAD_BYTES)
        if end < 0:
            if len(self._received) >= HEAD_BYTES:
                raise HeadTooLongError
            return
        head = bytes(self._received[: end + 4])
        length = _LENGTH.search(head)
        body = int(length[1]) if length else 0
        self.whole = body <= BODY_BYTES and not _CHUNKED.search(head)
        self._needed = len(head) + (body if self.whole else 0)
        if len(self._received) < self._needed and _EXPECTS.search(head):
            self.sock.send(_CONTINUE)

    def take(self) -> bytes:
        """The bytes received; the next request starts afresh."""
        taken = bytes(self._received)
        self._received, self._needed = bytearray(), None
        return taken

    def half_close(self) -> None:
        """End our side, below TLS; what the peer still sends is for discard."""
        self.take()
        self.sock.setblocking(False)
        self.sock.shutdown(socket.SHUT_WR)

    def discard(self) -> None:
        """Throw away what has arrived; EOFError if the peer has closed, or an OSError."""
        for _ in range(READS):
            try:
                if not self.sock.recv(READ_BYTES):
                    raise EOFError
            except BlockingIOError:
                return

"""One client connection: handshake, silence, an arriving request, an answer that leaves.

Nothing here blocks, and nothing is judged: a request is sized up only to know when all of it has
arrived, and gunicorn's parser then reads the same head from the start and refuses what it must.
"""

import re
import socket
import ssl
from dataclasses import dataclass
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
    QUEUED = "queued"
    LEAVING = "leaving"
    LINGERING = "lingering"


class HeadTooLongError(Exception):
    """No head ended within HEAD_BYTES."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """A request that can be handed over."""

    head: bytes
    shape: tuple[bytes, bytes]
    """What stands before and after the digits of its length: the same in most heads of a client."""
    length: str
    """Those digits; empty if there are none."""
    body: bytes
    whole: bool
    """Whether all of the body is here: else the rest was left on the socket."""


class Connection:
    """A connection and what is waited for on it."""

    def __init__(self, sock: socket.socket, client: Any, server: Any) -> None:
        sock.setblocking(False)
        self.sock = sock
        self.client = client
        self.server = server
        self.stage = Stage.SILENT
        self.deadline = 0.0
        self.events = 0
        """What the poller looks for; 0 while it does not look."""
        self.judged: Any = ()
        """The last heads that were accepted here, for the reader of the next one."""
        self.keep = True
        """Whether the connection goes on after the answer that leaves."""
        self._received = bytearray()
        self._head = 0
        self._needed: int | None = None
        self._length: re.Match[bytes] | None = None
        self._whole = True
        self._unsent = memoryview(b"")

    @property
    def held(self) -> int:
        """The bytes in memory of requests not handed over and of an answer not taken."""
        return len(self._received) + len(self._unsent)

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
        self._head = end + 4
        head = bytes(self._received[: self._head])
        self._length = _LENGTH.search(head)
        body = int(self._length[1]) if self._length else 0
        self._whole = body <= BODY_BYTES and not _CHUNKED.search(head)
        self._needed = len(head) + (body if self._whole else 0)
        if len(self._received) < self._needed and _EXPECTS.search(head):
            self.sock.send(_CONTINUE)

    def take(self) -> Arrival:
        """The request that add or receive told of; what came after it is the next one's."""
        needed = self._needed or 0
        head = bytes(self._received[: self._head])
        body = bytes(memoryview(self._received)[self._head : needed])
        start, end = self._length.span(1) if self._length else (len(head), len(head))
        shape = (head[:start], head[end:])
        taken = Arrival(head, shape, head[start:end].decode(), body, self._whole)
        self._received = self._received[needed:] if self._whole else bytearray()
        self._needed = None
        return taken

    def send(self, content: bytes) -> bool:
        """Send an answer and tell whether all of it has left; OSError if the peer is gone."""
        self._unsent = memoryview(content)
        return self.flush()

    def flush(self) -> bool:
        """Send more of the answer and tell whether all of it has left; OSError as above."""
        while self._unsent:
            try:
                sent = self.sock.send(self._unsent)
            except (BlockingIOError, ssl.SSLWantWriteError):
                return False
            self._unsent = self._unsent[sent:]
        return True

    def half_close(self) -> None:
        """End our side, below TLS; what the peer still sends is for discard."""
        self._received, self._unsent = bytearray(), memoryview(b"")
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

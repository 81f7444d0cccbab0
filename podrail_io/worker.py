"""A gthread worker that no peer can hold (gunicorn 27.0.1, whose internals it leans on).

The stock worker reads a connection in a pool thread from its first byte on, without a timeout.
Go's client finishes TLS handshakes of spare connections and leaves them silent, so an ordinary
burst of kube-apiserver takes every thread for good. Here the poller shakes hands, waits and
receives; a thread is given only to a request that has arrived, and it writes against a deadline.
"""

import contextlib
import json
import math
import selectors
import socket
import ssl
import time
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from gunicorn import http
from gunicorn.http import errors
from gunicorn.sock import ssl_context
from gunicorn.workers.gthread import ThreadWorker

from podrail_io.connection import Connection, HeadTooLongError, Stage

if TYPE_CHECKING:
    from concurrent.futures import Future

HANDSHAKE_SECONDS: Final = 8.0
"""From accepting to the end of the handshake; Go's client gives up after 10 s."""
REQUEST_SECONDS: Final = 8.0
"""From a request's first byte to its last, and again from there to the end of its answer."""
LINGER_SECONDS: Final = 2.0
"""How long a closed connection is drained, so that the peer reads the answer before a reset."""
SWEEP_SECONDS: Final = 0.25
"""How often deadlines are looked at."""
MOST_QUEUED: Final = 200
"""Requests that may wait for a thread; further ones are answered 429, which client-go retries."""
MOST_BUFFERED: Final = 64 * 1024 * 1024
"""Bytes of requests that have not arrived whole, together; beyond it the largest is cut."""

# Which refusals of gunicorn's parser are not a plain 400.
_STATUSES: Final = (
    (errors.InvalidResponseHeader, HTTPStatus.INTERNAL_SERVER_ERROR),
    (errors.InvalidResponseHeaderName, HTTPStatus.INTERNAL_SERVER_ERROR),
    (errors.LimitRequestLine, HTTPStatus.REQUEST_URI_TOO_LONG),
    (errors.LimitRequestHeaders, HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE),
    (errors.UnsupportedTransferCoding, HTTPStatus.NOT_IMPLEMENTED),
    (errors.ExpectationFailed, HTTPStatus.EXPECTATION_FAILED),
    (errors.ParseException, HTTPStatus.BAD_REQUEST),
    (ssl.SSLError, HTTPStatus.BAD_REQUEST),
)


class HardenedWorker(ThreadWorker):  # type: ignore[misc]  # gunicorn is untyped
    """gthread with all waiting in the poller."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._polled: dict[Connection, None] = {}
        self._busy: dict[Connection, float] = {}
        self._inside = 0
        self._next_sweep = 0.0
        self._last_deadline = math.inf

    def accept(self, listener: socket.socket) -> None:
        """Take a connection and wait for it to speak."""
        try:
            sock, client = listener.accept()
        except OSError:
            # Gone before it was accepted, or no descriptor is free until another connection ends.
            return
        try:
            sock.setblocking(False)
            if self.cfg.is_ssl:
                sock = ssl_context(self.cfg).wrap_socket(
                    sock, server_side=True, do_handshake_on_connect=False
                )
            connection = Connection(sock, client, listener.getsockname())
        except OSError:
            sock.close()
            return
        self.nr_conns += 1
        connection.parser = http.get_parser(self.cfg, sock, client)
        if self.cfg.is_ssl:
            self._park(connection, Stage.SHAKING, HANDSHAKE_SECONDS)
        else:
            self._park(connection, Stage.SILENT, self.cfg.keepalive)
        self._make_room()

    def _make_room(self) -> None:
        """At the limit the oldest silent connection goes: silence must not stop the accepting."""
        if self.nr_conns >= self.worker_connections:
            silent = [one for one in self._polled if one.stage is Stage.SILENT]
            for connection in silent[:1]:
                self._drop(connection)

    def _park(self, connection: Connection, stage: Stage, seconds: float) -> None:
        connection.stage = stage
        connection.deadline = min(time.monotonic() + seconds, self._last_deadline)
        if connection not in self._polled:
            self._polled[connection] = None
            ready = partial(self._ready, connection)
            self.poller.register(connection.sock, selectors.EVENT_READ, ready)

    def _unpark(self, connection: Connection) -> None:
        self._polled.pop(connection, None)
        with contextlib.suppress(OSError, KeyError, ValueError):
            self.poller.unregister(connection.sock)

    def _drop(self, connection: Connection) -> None:
        self._unpark(connection)
        connection.sock.close()
        self.nr_conns -= 1

    def _ready(self, connection: Connection, _socket: object) -> None:
        """Go on with a connection that has something to read."""
        if connection not in self._polled:
            # Dropped by another connection's turn in the same round of events.
            return
        try:
            if connection.stage is Stage.SHAKING:
                if connection.shake():
                    self._park(connection, Stage.SILENT, self.cfg.keepalive)
            elif connection.stage is Stage.LINGERING:
                connection.discard()
            else:
                self._arrive(connection, whole=connection.receive())
        except HeadTooLongError:
            self._refuse(connection, HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        except (OSError, EOFError):
            self._drop(connection)

    def _arrive(self, connection: Connection, *, whole: bool) -> None:
        """Hand a whole request to the pool; wait on for the rest of another."""
        if whole and self._inside >= self.cfg.threads + MOST_QUEUED:
            self._refuse(connection, HTTPStatus.TOO_MANY_REQUESTS)
        elif whole:
            self._unpark(connection)
            connection.parser.unreader.unread(connection.take())
            self._inside += 1
            self.enqueue_req(connection)
        elif connection.held:
            if connection.stage is Stage.SILENT:
                self._park(connection, Stage.ARRIVING, REQUEST_SECONDS)
            self._bound_memory()

    def _bound_memory(self) -> None:
        if sum(one.held for one in self._polled) > MOST_BUFFERED:
            self._drop(max(self._polled, key=lambda one: one.held))

    def handle(self, conn: Connection) -> object:
        """Answer a request in a pool thread, on the clock."""
        self._busy[conn] = time.monotonic() + REQUEST_SECONDS
        try:
            return super().handle(conn)
        finally:
            self._busy.pop(conn, None)

    def handle_request(self, req: Any, conn: Connection) -> object:
        """Answer; a body that was not waited for is never drained, so its connection ends."""
        # A body that is waited for was asked for when its head arrived.
        req._expected_100_continue = False  # noqa: SLF001 - gunicorn would ask once more
        if not conn.whole:
            req.force_close()
        return super().handle_request(req, conn)

    def finish_request(self, conn: Connection, fs: "Future[object]") -> None:
        """On the main loop again: wait for the next request, or close."""
        self._inside -= 1
        if fs.cancelled() or fs.exception() is not None or not fs.result():
            self._linger(conn)
            return
        conn.sock.setblocking(False)
        ahead = conn.parser.unreader.take_buffered()
        self._park(conn, Stage.SILENT, self.cfg.keepalive)
        try:
            self._arrive(conn, whole=conn.add(ahead))
        except (HeadTooLongError, OSError):
            self._drop(conn)

    def _refuse(self, connection: Connection, status: HTTPStatus) -> None:
        # Not waited for: a peer whose window is full does without the reason.
        with contextlib.suppress(OSError):
            connection.sock.send(refusal(status))
        self._linger(connection)

    def _linger(self, connection: Connection) -> None:
        try:
            connection.half_close()
            self._park(connection, Stage.LINGERING, LINGER_SECONDS)
        except (OSError, ValueError):
            self._drop(connection)

    def murder_pending(self) -> None:
        """Cut what is overdue; the main loop calls this after every round, each second at least."""
        now = time.monotonic()
        if now < self._next_sweep:
            return
        self._next_sweep = now + SWEEP_SECONDS
        for connection in [one for one in self._polled if one.deadline <= now]:
            self._drop(connection)
        for connection, deadline in self._busy.copy().items():
            if deadline <= now:
                # Below TLS, and only a shutdown: the thread wakes up and finds the peer gone.
                with contextlib.suppress(OSError):
                    socket.socket.shutdown(connection.sock, socket.SHUT_RDWR)

    def _cap_keepalive(self, deadline: float) -> None:
        """At the stop nothing that waits for a peer outlives this deadline."""
        self._last_deadline = deadline
        for connection in self._polled:
            connection.deadline = min(connection.deadline, deadline)

    def wait_for_and_dispatch_events(self, timeout: float) -> None:
        """One round of the main loop; a stopping worker looks at its deadlines more often."""
        stopping = self._last_deadline < math.inf
        super().wait_for_and_dispatch_events(min(timeout, SWEEP_SECONDS) if stopping else timeout)

    def handle_error(self, req: Any, client: socket.socket, addr: Any, exc: Exception) -> None:
        """Answer what gunicorn could not parse, or what the application raised, in JSON."""
        matches = (status for kind, status in _STATUSES if isinstance(exc, kind))
        status = next(matches, HTTPStatus.INTERNAL_SERVER_ERROR)
        if status is HTTPStatus.INTERNAL_SERVER_ERROR:
            uri = getattr(req, "uri", "unread")
            self.log.error("request failed", exc_info=exc, extra={"uri": uri})
        else:
            kind = type(exc).__name__
            self.log.warning("request refused", extra={"peer": addr and addr[0], "problem": kind})
        with contextlib.suppress(OSError):
            client.sendall(refusal(status))


def refusal(status: HTTPStatus) -> bytes:
    """An answer that ends its connection; one for overload asks for another try after a second."""
    body = json.dumps({"error": status.phrase}).encode()
    retry = "Retry-After: 1\r\n" if status is HTTPStatus.TOO_MANY_REQUESTS else ""
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\nConnection: close\r\n{retry}"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body

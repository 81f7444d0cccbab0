"""A gthread worker that no peer can hold (gunicorn 27.0.1, whose internals it leans on).

The stock worker reads a connection in a pool thread from its first byte on, without a timeout.
Go's client finishes TLS handshakes of spare connections and leaves them silent, so an ordinary
burst of kube-apiserver takes every thread for good. Here a thread is given to a connection only
while a request arrives and is answered, and never for longer than REQUEST_SECONDS: accepting, the
TLS handshake and silence are the poller's affair. Closing never lingers on the main loop either.
"""

import contextlib
import selectors
import socket
import ssl
import time
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, Final

from gunicorn import http, util
from gunicorn.sock import ssl_context
from gunicorn.workers.gthread import STOP_KEEPALIVE_LINGER, TConn, ThreadWorker

HANDSHAKE_SECONDS: Final = 8.0
"""From accepting to the end of the handshake."""
REQUEST_SECONDS: Final = 8.0
"""From a request's first byte to the end of its answer; the API server waits 3 s."""
LINGER_SECONDS: Final = 0.5
"""How long a closed connection is drained, so that the peer reads the answer before a reset."""


class HardenedWorker(ThreadWorker):  # type: ignore[misc]  # gunicorn is untyped
    """gthread with the poller in front of the pool."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._busy: dict[TConn, float] = {}
        self._closers = ThreadPoolExecutor(max_workers=4, thread_name_prefix="closer")

    def accept(self, listener: socket.socket) -> None:
        """Take a connection and wait for it to speak, in the poller."""
        try:
            client, address = listener.accept()
        except OSError:
            # Gone before it was accepted; gunicorn itself would let EMFILE end the worker.
            return
        connection = TConn(self.cfg, client, address, listener.getsockname())
        try:
            if self.cfg.is_ssl:
                connection.sock = ssl_context(self.cfg).wrap_socket(
                    client, server_side=True, do_handshake_on_connect=False
                )
        except OSError:
            client.close()
            return
        self.nr_conns += 1
        self._wait(connection, HANDSHAKE_SECONDS)

    def _wait(self, connection: TConn, seconds: float) -> None:
        connection.timeout = time.monotonic() + seconds
        self.pending_conns.append(connection)
        ready = partial(self.on_pending_socket_readable, connection)
        self.poller.register(connection.sock, selectors.EVENT_READ, ready)

    def on_pending_socket_readable(self, conn: TConn, client: socket.socket) -> None:
        """Go on with the handshake; once it is done, hand a connection that speaks to the pool."""
        if self.cfg.is_ssl and not conn.initialized:
            try:
                conn.sock.do_handshake()
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
                return
            except OSError:
                self._drop(conn)
                return
            self._speak(conn)
            conn.timeout = time.monotonic() + self.cfg.keepalive
            if not conn.sock.pending():
                return
        self.poller.unregister(client)
        self.pending_conns.remove(conn)
        self._speak(conn)
        conn.data_ready = True
        self.enqueue_req(conn)

    def _speak(self, connection: TConn) -> None:
        """Prepare the connection for HTTP/1, as TConn.init does after its blocking handshake."""
        if not connection.initialized:
            connection.initialized = True
            connection.parser = http.get_parser(self.cfg, connection.sock, connection.client)

    def _drop(self, connection: TConn) -> None:
        with contextlib.suppress(OSError, KeyError, ValueError):
            self.poller.unregister(connection.sock)
        self.pending_conns.remove(connection)
        self.nr_conns -= 1
        connection.close()

    def handle(self, conn: TConn) -> object:
        """Answer a request in a pool thread, on the clock."""
        self._busy[conn] = time.monotonic() + REQUEST_SECONDS
        try:
            return super().handle(conn)
        finally:
            self._busy.pop(conn, None)

    def murder_pending(self) -> None:
        """Cut what is overdue: the silent, and requests that take too long to arrive."""
        now = time.monotonic()
        for connection in [one for one in self.pending_conns if one.timeout <= now]:
            self._drop(connection)
        for connection, deadline in list(self._busy.items()):
            if deadline <= now:
                # Below TLS: wakes the thread that reads, which then finds the peer gone.
                with contextlib.suppress(OSError):
                    socket.socket.shutdown(connection.sock, socket.SHUT_RDWR)

    def finish_request(self, conn: TConn, fs: "Future[object]") -> None:
        """Keep the connection for its next request, or close it away from the main loop."""
        if not fs.cancelled() and fs.exception() is None and fs.result():
            super().finish_request(conn, fs)
        else:
            self._closers.submit(self._close, conn)

    def _close(self, connection: TConn) -> None:
        with contextlib.suppress(OSError):
            connection.sock.setblocking(True)
            util.close_graceful(connection.sock, timeout=LINGER_SECONDS)
        self.method_queue.defer(self._forget)

    def _forget(self) -> None:
        self.nr_conns -= 1

    def _cap_keepalive(self, deadline: float) -> None:
        """At the stop, silent connections end as soon as kept ones do."""
        super()._cap_keepalive(deadline)
        for connection in self.pending_conns:
            connection.timeout = min(connection.timeout, time.monotonic() + STOP_KEEPALIVE_LINGER)

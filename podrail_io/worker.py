"""A gunicorn worker that no peer can hold, and that answers small calls without a thread.

The stock gthread reads a connection in a pool thread from its first byte on, without a timeout.
Go's client finishes TLS handshakes of spare connections and leaves them silent, so an ordinary
burst of kube-apiserver takes every thread for good. Here the main loop shakes hands, waits,
receives and sends, never blocking; what has arrived is answered in its turn, on the loop where the
application has declared that its path only computes, else in a thread (gunicorn 27.0.1).
"""

import contextlib
import math
import selectors
import socket
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from gunicorn.sock import ssl_context
from gunicorn.workers.gthread import ThreadWorker

from podrail_io import exchange, prompt
from podrail_io.connection import Connection, HeadTooLongError, Stage
from podrail_io.exchange import Answer, Call, Exchange, RefusedError

if TYPE_CHECKING:
    from concurrent.futures import Future

HANDSHAKE_SECONDS: Final = 8.0
"""From accepting to the end of the handshake; Go's client gives up after 10 s."""
REQUEST_SECONDS: Final = 8.0
"""From a request's first byte to its last, from there to its answer, and for that to leave."""
LINGER_SECONDS: Final = 2.0
"""How long a closed connection is drained, so that the peer reads the answer before a reset."""
ACCEPTS: Final = 8
"""How many connections are taken before those that there are have their turn."""
SWEEP_SECONDS: Final = 0.25
"""How often deadlines are looked at."""
MOST_QUEUED: Final = 600
"""Requests that may wait for their turn: as many as one kube-apiserver has in flight by default
(400 and 200 that write, 1.36). Further ones are answered 429, which client-go retries after 1 s."""
MOST_BUFFERED: Final = 64 * 1024 * 1024
"""Bytes of requests that have not arrived whole and of answers not taken, together; as many again
of requests in threads. Beyond the one the largest is refused, beyond the other the newest."""


class HardenedWorker(ThreadWorker):  # type: ignore[misc]  # gunicorn is untyped
    """gthread with all waiting in the poller."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._exchange: Exchange
        self._polled: dict[Connection, None] = {}
        self._queued: deque[Connection] = deque()
        self._busy: dict[Connection, None] = {}
        self._inside = 0
        self._carried = 0
        # One at a time: a document takes a dozen times its bytes in memory while it is read.
        self._large = ThreadPoolExecutor(1)
        self._next_sweep = 0.0
        self._last_deadline = math.inf

    def run(self) -> None:
        """Serve the application, which is loaded by now."""
        self._exchange = Exchange(self.wsgi, self.cfg, self._prompt_paths())
        self._exchange.load.follow(lambda: len(self._queued) + self._inside)
        super().run()

    def _prompt_paths(self) -> frozenset[str]:
        return prompt.paths_of(self.wsgi)

    def wait_for_and_dispatch_events(self, timeout: float) -> None:
        """Rounds of the main loop, until gunicorn's own loop has something else to look at."""
        serving, now = self.alive, time.monotonic()
        end = now + min(timeout, SWEEP_SECONDS if self._polled or self._busy else timeout)
        while True:
            super().wait_for_and_dispatch_events(0 if self._queued else max(end - now, 0))
            if self._queued:
                # One, then a look at the others: no handshake waits for the whole queue.
                self._serve(self._queued.popleft())
            now = time.monotonic()
            full = self.nr_conns >= self.worker_connections
            if now >= end or full or self.alive != serving or not (serving or self.nr_conns):
                return

    def accept(self, listener: socket.socket) -> None:
        """Take connections and wait for them to speak."""
        for _ in range(ACCEPTS):
            try:
                sock, client = listener.accept()
            except OSError:
                # None is left, or no descriptor is free until another connection ends.
                return
            self._welcome(sock, client, listener.getsockname())

    def _welcome(self, sock: socket.socket, client: Any, server: Any) -> None:
        try:
            sock.setblocking(False)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self.cfg.is_ssl:
                sock = ssl_context(self.cfg).wrap_socket(
                    sock, server_side=True, do_handshake_on_connect=False
                )
        except OSError:
            sock.close()
            return
        connection = Connection(sock, client, server)
        self.nr_conns += 1
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
        events = selectors.EVENT_WRITE if stage is Stage.LEAVING else selectors.EVENT_READ
        ready = partial(self._ready, connection)
        if connection not in self._polled:
            self._polled[connection] = None
            self.poller.register(connection.sock, events, ready)
        elif connection.events != events:
            self.poller.modify(connection.sock, events, ready)
        connection.events = events

    def _unpark(self, connection: Connection) -> None:
        self._polled.pop(connection, None)
        with contextlib.suppress(OSError, KeyError, ValueError):
            self.poller.unregister(connection.sock)

    def _drop(self, connection: Connection) -> None:
        self._unpark(connection)
        self._busy.pop(connection, None)
        connection.sock.close()
        self.nr_conns -= 1

    def _ready(self, connection: Connection, _socket: object) -> None:
        """Go on with a connection that has something to read, or room for what it is to read."""
        if connection not in self._polled:
            # Dropped by another connection's turn in the same round of events.
            return
        try:
            self._go_on(connection)
        except HeadTooLongError:
            self._refuse(connection, HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        except (OSError, EOFError):
            self._drop(connection)

    def _go_on(self, connection: Connection) -> None:
        match connection.stage:
            case Stage.SHAKING:
                if connection.shake():
                    self._park(connection, Stage.SILENT, self.cfg.keepalive)
            case Stage.SILENT | Stage.ARRIVING:
                self._arrive(connection, whole=connection.receive())
            case Stage.LEAVING:
                if connection.flush():
                    self._left(connection)
            case Stage.LINGERING:
                connection.discard()
            case Stage.QUEUED:
                # Its next request, or its end, is read after its answer.
                pass

    def _arrive(self, connection: Connection, *, whole: bool) -> None:
        """Queue a whole request; wait on for the rest of another."""
        if whole and self._is_overloaded(connection):
            self._refuse(connection, HTTPStatus.TOO_MANY_REQUESTS)
        elif whole:
            self._park(connection, Stage.QUEUED, REQUEST_SECONDS)
            self._queued.append(connection)
        elif connection.held:
            if connection.stage is Stage.SILENT:
                self._park(connection, Stage.ARRIVING, REQUEST_SECONDS)
            self._bound_memory()

    def _is_overloaded(self, connection: Connection) -> bool:
        waiting = len(self._queued) + max(self._inside - self.cfg.threads, 0)
        return waiting >= MOST_QUEUED or self._carried + connection.held > MOST_BUFFERED

    def _bound_memory(self) -> None:
        if sum(one.held for one in self._polled) <= MOST_BUFFERED:
            return
        largest = max(self._polled, key=lambda one: one.held)
        if largest.stage is Stage.LEAVING:
            self._drop(largest)
        else:
            self._refuse(largest, HTTPStatus.TOO_MANY_REQUESTS)

    def _serve(self, connection: Connection) -> None:
        """Answer the request whose turn it is, or have a thread do it."""
        if connection not in self._polled:
            # Cut while it waited.
            return
        try:
            call = self._exchange.read(
                connection.take(), connection.client, connection.server, connection.judged
            )
        except RefusedError as error:
            peer = connection.client and connection.client[0]
            self.log.warning("request refused", extra={"peer": peer, "problem": str(error)})
            self._refuse(connection, error.status)
            return
        connection.judged = exchange.remembered(call, connection.judged)
        answer = None
        if self._exchange.is_prompt(call):
            answer = self._exchange.answer_promptly(call, last=not self.alive)
        if answer is None:
            self._hand_over(connection, call)
        else:
            self._send(connection, answer)

    def _hand_over(self, connection: Connection, call: Call) -> None:
        """Have the call answered in a thread, which touches no socket."""
        self._unpark(connection)
        self._busy[connection] = None
        connection.deadline = time.monotonic() + REQUEST_SECONDS
        self._inside += 1
        self._carried += len(call.body)
        pool = self._large if exchange.is_large(call) else self.tpool
        asked = pool.submit(self._exchange.answer, call, last=not self.alive)
        asked.add_done_callback(
            lambda done: self.method_queue.defer(self._finish, connection, call, done)
        )

    def _finish(self, connection: Connection, call: Call, done: "Future[Answer]") -> None:
        """On the main loop again: send the answer, if its connection has not been cut meanwhile."""
        self._inside -= 1
        self._carried -= len(call.body)
        if connection in self._busy:
            del self._busy[connection]
            self._send(connection, done.result())

    def _send(self, connection: Connection, answer: Answer) -> None:
        connection.keep = answer.keep
        try:
            if connection.send(answer.content):
                self._left(connection)
            else:
                self._park(connection, Stage.LEAVING, REQUEST_SECONDS)
                self._bound_memory()
        except (HeadTooLongError, OSError):
            self._drop(connection)

    def _left(self, connection: Connection) -> None:
        """After an answer: wait for the next request, which may be here already, or close."""
        if not connection.keep:
            self._linger(connection)
            return
        self._park(connection, Stage.SILENT, self.cfg.keepalive)
        if connection.held:
            self._arrive(connection, whole=connection.add(b""))

    def _refuse(self, connection: Connection, status: HTTPStatus) -> None:
        self._exchange.load.refuse(status)
        # Not waited for: a peer whose window is full does without the reason.
        with contextlib.suppress(OSError):
            connection.sock.send(exchange.refusal(status))
        self._linger(connection)

    def _linger(self, connection: Connection) -> None:
        try:
            connection.half_close()
            self._park(connection, Stage.LINGERING, LINGER_SECONDS)
        except (OSError, ValueError):
            self._drop(connection)

    def murder_pending(self) -> None:
        """Cut what is overdue; the main loop calls this each second at least."""
        now = time.monotonic()
        if now < self._next_sweep:
            return
        self._next_sweep = now + SWEEP_SECONDS
        for connection in [*self._polled, *self._busy]:
            if connection.deadline <= now:
                self._drop(connection)

    def _cap_keepalive(self, deadline: float) -> None:
        """At the stop nothing that waits for a peer outlives this deadline."""
        self._last_deadline = deadline
        for connection in self._polled:
            connection.deadline = min(connection.deadline, deadline)


class ThreadsWorker(HardenedWorker):
    """The same with every request in a thread, for a handler that turns out to hold the loop."""

    def _prompt_paths(self) -> frozenset[str]:
        return frozenset()

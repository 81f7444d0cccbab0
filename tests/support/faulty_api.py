"""A small API server of one kind that misbehaves on purpose, for the tests of podrail_io."""

from __future__ import annotations

import contextlib
import json
import threading
from collections import deque
from dataclasses import dataclass, field
from enum import Enum, auto
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

if TYPE_CHECKING:
    import socket
    import ssl
    from collections.abc import Callable, Iterator, Mapping, Sequence

PATH = "/api/v1/things"


class Fault(Enum):
    """How one request is answered wrongly."""

    ERROR = auto()  # 500 with a Status
    GONE = auto()  # a watch: 410 as an ERROR event; a list: 410 as the answer
    BUSY = auto()  # 429 with Retry-After: 7
    ABSENT = auto()  # 404 in plain text, as for a kind that is not served
    REDIRECT = auto()  # 302 to /elsewhere
    NONSENSE = auto()  # 200 with what is not JSON
    NO_LIST = auto()  # 200 with JSON that is no list
    DEAF = auto()  # nothing at all
    SILENT = auto()  # headers, then nothing
    CLOSE = auto()  # an empty body that ends well
    SHORT = auto()  # one bookmark, then an end
    CUT = auto()  # half a line, then the connection breaks


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes

    @property
    def watching(self) -> bool:
        return "watch" in self.query


class FaultyApi:
    """Things by name, their history, and the faults that the next requests meet."""

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self.requests: list[Request] = []
        self.faults: deque[Fault | None] = deque()  # None: answered well
        self.always: Fault | None = None
        self.things: dict[str, dict[str, Any]] = {}
        self.version = 1
        self._history: list[tuple[int, str, dict[str, Any]]] = []
        self._oldest = 0
        self._epoch = 0  # a watch ends when it changes
        self._hung = 0  # watches of an epoch before it send nothing more
        self._stopping = False
        self._news = threading.Condition()
        self._sockets: set[socket.socket] = set()
        self._server = Server(self)
        if context:
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self.port: int = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._thread.start()

    def put(self, name: str, **fields: Any) -> None:
        """Add a thing or change it."""
        with self._news:
            kind = "MODIFIED" if name in self.things else "ADDED"
            self._record(kind, {"metadata": {"name": name}, **fields})
            self.things[name] = self._history[-1][2]

    def remove(self, name: str) -> None:
        """Delete a thing; nothing happens if it is not there."""
        with self._news:
            if name in self.things:
                self._record("DELETED", self.things.pop(name))

    def bookmark(self) -> None:
        """Tell every watch the version at hand."""
        with self._news:
            self._record("BOOKMARK", {"metadata": {}})

    def compact(self) -> None:
        """Forget the history: a watch from an earlier version is 410."""
        with self._news:
            self._record("BOOKMARK", {"metadata": {}})
            self._oldest = self.version

    def close_watches(self) -> None:
        """End every open watch well."""
        with self._news:
            self._epoch += 1
            self._news.notify_all()

    def hang(self) -> None:
        """Open watches send nothing more, as behind a dead router; new ones are served."""
        with self._news:
            self._epoch += 1
            self._hung = self._epoch
            self._news.notify_all()

    def stop(self) -> None:
        """Refuse connections from now on and break those that are open."""
        with self._news:
            self._stopping = True
            self._news.notify_all()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        for each in list(self._sockets):
            with contextlib.suppress(OSError):
                each.shutdown(2)

    def _record(self, kind: str, thing: Mapping[str, Any]) -> None:
        self.version += 1
        metadata = {**thing["metadata"], "resourceVersion": str(self.version)}
        self._history.append((self.version, kind, {**thing, "metadata": metadata}))
        self._news.notify_all()

    def page(self, query: Mapping[str, str]) -> dict[str, Any]:
        """A page of the list, as the query's limit and continue say."""
        with self._news:
            start, limit = int(query.get("continue", 0)), int(query.get("limit", 1000))
            names = sorted(self.things)
            metadata = {"resourceVersion": str(self.version)}
            if start + limit < len(names):
                metadata["continue"] = str(start + limit)
            items = [self.things[name] for name in names[start : start + limit]]
            return {"metadata": metadata, "items": items}

    def events(self, since: int, epoch: int) -> Iterator[dict[str, Any]]:
        """What a watch says until it is closed."""
        if since < self._oldest:
            yield gone()
            return
        with self._news:
            at = sum(version <= since for version, _, _ in self._history)
        while self._more(epoch, at):
            _, kind, thing = self._history[at]
            at += 1
            yield {"type": kind, "object": thing}

    def _more(self, epoch: int, at: int) -> bool:
        with self._news:
            self._news.wait_for(
                lambda: self._stopping or epoch != self._epoch or len(self._history) > at
            )
            if epoch < self._hung:
                self._news.wait_for(lambda: self._stopping)
            return epoch == self._epoch and not self._stopping

    def ask(self, request: Request) -> tuple[int, Fault | None]:
        """Note a request; what it will meet, and the epoch it belongs to if it is a watch."""
        with self._news:
            self.requests.append(request)
            return self._epoch, self.faults.popleft() if self.faults else self.always

    def wait_stop(self) -> None:
        with self._news:
            self._news.wait_for(lambda: self._stopping)


@contextlib.contextmanager
def serving(context: ssl.SSLContext | None = None) -> Iterator[FaultyApi]:
    """A server for the length of a block."""
    api = FaultyApi(context)
    try:
        yield api
    finally:
        api.stop()


def gone() -> dict[str, Any]:
    status = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}
    return {"type": "ERROR", "object": status}


def bookmark(version: int) -> dict[str, Any]:
    return {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": str(version)}}}


STREAMS: Mapping[Fault, Callable[[int], Sequence[dict[str, Any]]]] = {
    Fault.GONE: lambda _version: [gone()],
    Fault.SHORT: lambda version: [bookmark(version)],
    Fault.CLOSE: lambda _version: [],
}
"""The watches that do not go on, by the version they begin at."""


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


def _status(code: int, reason: str) -> bytes:
    return json.dumps(
        {"kind": "Status", "code": code, "reason": reason, "message": f"it is {reason}"}
    ).encode()


ANSWERS = {
    Fault.ERROR: Answer(500, _status(500, "InternalError")),
    Fault.GONE: Answer(410, _status(410, "Expired")),
    Fault.BUSY: Answer(429, _status(429, "TooManyRequests"), {"Retry-After": "7"}),
    Fault.ABSENT: Answer(404, b"404 page not found"),
    Fault.REDIRECT: Answer(302, b"", {"Location": "/elsewhere"}),
    Fault.NONSENSE: Answer(200, b"<html>"),
    Fault.NO_LIST: Answer(200, b'{"items": 3}'),
}


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, api: FaultyApi) -> None:
        self.api = api
        super().__init__(("127.0.0.1", 0), Handler)

    def handle_error(self, *_: object) -> None:
        """A client that went away is no news here."""


class Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def setup(self) -> None:
        super().setup()
        self.server.api._sockets.add(self.connection)

    def finish(self) -> None:
        with contextlib.suppress(OSError):
            super().finish()
        self.server.api._sockets.discard(self.connection)

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def _answer(self) -> None:
        where = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        query = dict(parse_qsl(where.query))
        request = Request(self.command, where.path, query, dict(self.headers), body)
        epoch, fault = self.server.api.ask(request)
        with contextlib.suppress(OSError):
            if fault is Fault.DEAF:
                self.server.api.wait_stop()
            elif fault in ANSWERS and not (request.watching and fault is Fault.GONE):
                self._whole(ANSWERS[fault])
            elif request.watching or fault in (Fault.SILENT, Fault.CUT):
                self._watch(int(query.get("resourceVersion", 0)), epoch, fault)
            elif self.command == "POST":
                self._whole(Answer(201, body))
            else:
                self._whole(Answer(200, json.dumps(self.server.api.page(query)).encode()))

    def _whole(self, answer: Answer) -> None:
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)

    def _watch(self, since: int, epoch: int, fault: Fault | None) -> None:
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        if fault is Fault.SILENT:
            self.server.api.wait_stop()
        elif fault is Fault.CUT:
            self._chunk(b'{"type": "ADD')
            self.close_connection = True
        else:
            for event in STREAMS[fault](since) if fault else self.server.api.events(since, epoch):
                self._chunk(json.dumps(event).encode() + b"\n")
            self._chunk(b"")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))

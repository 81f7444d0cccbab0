"""The demo's cluster as a Kubernetes API over plain HTTP on 127.0.0.1, for `podrail demo` only.

Enough for the extender and its reflectors to run unchanged: list, watch, get, create, delete and
the binding of pods. No authentication: whoever reaches the port may do everything.
"""

import contextlib
import json
import socket
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final, Self
from urllib.parse import parse_qsl, unquote, urlsplit

from podrail_cli.demo_store import (
    CLUSTER_SCOPED,
    KINDS,
    NAMESPACED,
    Document,
    RefusalError,
    Store,
    Target,
)

MOST_WATCH_SECONDS: Final = 1800.0
"""The length of a watch that asks for no other, the least of kube-apiserver's default."""


class DemoApi:
    """The server; its clock is in seconds since 1970. As a context manager it serves the block."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.store = Store(clock)
        self._server = _Server(self.store, clock)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        """Serve in a thread of its own."""
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        """End open watches and connections at once, and refuse new ones."""
        self.store.close()
        self._server.shutdown()
        self._server.server_close()
        for connection in list(self._server.connections):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, store: Store, clock: Callable[[], float]) -> None:
        self.store = store
        self.clock = clock
        self.connections: set[socket.socket] = set()
        super().__init__(("127.0.0.1", 0), _Handler)

    def handle_error(self, *_: object) -> None:
        """A client that went away is nothing to tell a newcomer about."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    # A head and a body are two packets; with Nagle's algorithm the second waits 40 ms.
    disable_nagle_algorithm = True

    def setup(self) -> None:
        """Remember the connection, so that the end of the server ends it."""
        super().setup()
        self.server.connections.add(self.connection)

    def finish(self) -> None:
        """Forget the connection."""
        self.server.connections.discard(self.connection)
        super().finish()

    def log_message(self, *_: object) -> None:
        """No access log between the demo's lines."""

    def do_GET(self) -> None:
        """Get, list or watch."""
        self._answer(self._read)

    def do_POST(self) -> None:
        """Create an object, or bind a pod."""
        self._answer(self._write)

    def do_DELETE(self) -> None:
        """Delete an object."""
        self._answer(lambda target, _body: self._send(200, self.server.store.delete(target)))

    def _answer(self, act: Callable[[Target, bytes], None]) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            act(_target(urlsplit(self.path).path), body)
        except RefusalError as refusal:
            self._send(refusal.code, refusal.document)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            self._send(400, RefusalError(400, "BadRequest", repr(error)).document)

    def _read(self, target: Target, _body: bytes) -> None:
        query = dict(parse_qsl(urlsplit(self.path).query))
        if query.get("watch") in ("true", "1"):
            self._stream(target, query)
        else:
            store = self.server.store
            self._send(200, store.get(target) if target.name else store.listed(target))

    def _write(self, target: Target, body: bytes) -> None:
        make = self.server.store.bind if target.action else self.server.store.create
        self._send(201, make(target, json.loads(body)))

    def _send(self, code: int, document: Document) -> None:
        body = json.dumps(document).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, target: Target, query: Mapping[str, str]) -> None:
        since = int(query.get("resourceVersion") or 0)
        until = self.server.clock() + float(query.get("timeoutSeconds") or MOST_WATCH_SECONDS)
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            for event in self.server.store.watch(target, since, until):
                self._chunk(event)
        except RefusalError as refusal:
            self._chunk({"type": "ERROR", "object": refusal.document})
        self.wfile.write(b"0\r\n\r\n")

    def _chunk(self, event: Document) -> None:
        line = json.dumps(event).encode() + b"\n"
        self.wfile.write(b"%x\r\n%b\r\n" % (len(line), line))


def _target(path: str) -> Target:
    """What a path points at, as in /api/v1/namespaces/default/pods/a/binding."""
    match [unquote(step) for step in path.strip("/").split("/")]:
        case ["api", "v1", plural] | ["apis", "k8s.cni.cncf.io", "v1", plural] if plural in KINDS:
            return Target(plural)
        case ["api", "v1", plural, name] if plural in CLUSTER_SCOPED:
            return Target(plural, name=name)
        case ["api", "v1", "namespaces", namespace, plural] if plural in NAMESPACED:
            return Target(plural, namespace)
        case ["api", "v1", "namespaces", namespace, plural, name] if plural in NAMESPACED:
            return Target(plural, namespace, name)
        case ["api", "v1", "namespaces", namespace, "pods", name, "binding"]:
            return Target("pods", namespace, name, "binding")
        case _:
            raise RefusalError(404, "NotFound", f"the server could not find {path}")

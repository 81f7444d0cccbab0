"""An API server on whose nodes measuring pods end at once, with logs that a test chooses."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

Document = dict[str, Any]


class MeasuringApi:
    """Nodes, the Jobs that were created, and a pod of each; log makes a log out of a pod's env."""

    def __init__(self, log: Callable[[dict[str, str]], str]) -> None:
        self.log = log
        self.nodes: list[Document] = []
        self.created: list[Document] = []
        self.phase = "Succeeded"
        self.podless = False
        self.logless = False
        self.mpi = ""
        """The log of an MPIJob's launcher; empty if the kind is not served."""
        self._server = _Server(self)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    def stop(self) -> None:
        """Serve no more."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def kinds(self, kind: str) -> list[Document]:
        """What was created of a kind."""
        return [one for one in self.created if one["kind"] == kind]

    def get(self, path: str, query: dict[str, str]) -> tuple[int, object]:
        """Status and body; a body that is text is a log."""
        if path == "/api/v1/nodes":
            return 200, {"metadata": {"resourceVersion": "1"}, "items": self.nodes}
        if path.endswith("/pods"):
            return 200, {"items": [] if self.podless else [self._pod(query["labelSelector"])]}
        if path.endswith("/log") and not self.logless:
            return 200, self._text(path.split("/")[-2])
        return 404, {"reason": "NotFound", "message": "there is none"}

    def post(self, path: str, body: Document) -> tuple[int, object]:
        """What was created, with a uid."""
        if path.endswith("/mpijobs") and not self.mpi:
            return 404, {"reason": "NotFound", "message": "no such kind"}
        self.created.append(body)
        return 201, {**body, "metadata": {**body["metadata"], "uid": f"u{len(self.created)}"}}

    def _pod(self, selector: str) -> Document:
        name = selector.partition(",")[0].partition("=")[2]
        conditions = [{"type": "PodScheduled", "message": "0/2 nodes"}] if self.phase == "Pending" else []  # fmt: skip
        return {
            "metadata": {"name": f"{name}-x1"},
            "status": {"phase": self.phase, "conditions": conditions},
        }

    def _text(self, pod: str) -> str:
        name = pod.removesuffix("-x1")
        named = [one for one in self.created if one["metadata"]["name"] == name]
        job = next(one for one in reversed(named) if one["kind"] != "Service")
        if job["kind"] == "MPIJob":
            return self.mpi
        (container,) = job["spec"]["template"]["spec"]["containers"]
        return self.log({one["name"]: one["value"] for one in container["env"]})


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, api: MeasuringApi) -> None:
        self.api = api
        super().__init__(("127.0.0.1", 0), _Handler)


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        where = urlsplit(self.path)
        self._send(*self.server.api.get(where.path, dict(parse_qsl(where.query))))

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self._send(*self.server.api.post(self.path, body))

    def _send(self, status: int, document: object) -> None:
        body = document.encode() if isinstance(document, str) else json.dumps(document).encode()
        with contextlib.suppress(OSError):
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)


@contextlib.contextmanager
def serving(log: Callable[[dict[str, str]], str]) -> Iterator[MeasuringApi]:
    """A server for the length of a block."""
    api = MeasuringApi(log)
    try:
        yield api
    finally:
        api.stop()

"""Health, readiness and metrics of a program that serves nothing else: standard library only.

podrail_io.web with its server takes 41 MiB. At most MOST_PEERS connections are held, each for
PEER_SECONDS at most between two bytes; beyond that the oldest is cut, so that none can be waited
for.
"""

import json
import logging
import socket
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from podrail_io import exposition

_LOG: Final = logging.getLogger(__name__)
MOST_PEERS: Final = 8
PEER_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class Page:
    """An answer."""

    status: int
    kind: str
    body: bytes


class Bulletin:
    """/healthz, /readyz (503 while there are problems) and /metrics at an address."""

    def __init__(
        self,
        address: tuple[str, int],
        problems: Callable[[], Sequence[str]],
        metrics: Callable[[], str],
    ) -> None:
        self._problems = problems
        self._metrics = metrics
        self._server = _Server(address, self.page)

    def start(self) -> None:
        """Serve from now on, in threads of its own."""
        host, port = self._server.server_address[:2]
        _LOG.info("listening", extra={"address": f"{host!s}:{port}"})
        threading.Thread(target=self._server.serve_forever, name="bulletin", daemon=True).start()

    def stop(self) -> None:
        """Serve no more."""
        self._server.shutdown()
        self._server.server_close()

    def page(self, path: str) -> Page:
        """The answer for a path."""
        if path == "/healthz":
            return _document({"status": "ok"})
        if path == "/readyz":
            found = list(self._problems())
            if found:
                return _document({"status": "not ready", "problems": found}, 503)
            return _document({"status": "ready"})
        if path == "/metrics":
            return Page(200, exposition.CONTENT_TYPE, self._metrics().encode())
        return _document({"error": "not found"}, 404)


def _document(found: object, status: int = 200) -> Page:
    return Page(status, "application/json", json.dumps(found).encode())


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: tuple[str, int], page: Callable[[str], Page]) -> None:
        self.page = page
        self._peers: deque[socket.socket] = deque()
        if ":" in address[0]:
            self.address_family = socket.AF_INET6
        super().__init__(address, _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Make room first: silence of some must not keep others out."""
        self._peers.append(request)
        while len(self._peers) > MOST_PEERS:
            with suppress(OSError):
                self._peers.popleft().shutdown(socket.SHUT_RDWR)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Forget a connection and close it."""
        with suppress(ValueError):
            self._peers.remove(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Nothing: a peer that went away is no news."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    timeout = PEER_SECONDS

    def do_GET(self) -> None:
        """Answer."""
        page = self.server.page(self.path.partition("?")[0])
        self.send_response(page.status)
        self.send_header("Content-Type", page.kind)
        self.send_header("Content-Length", str(len(page.body)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(page.body)
        self.close_connection = True

    def version_string(self) -> str:
        """No versions for strangers."""
        return "podrail"

    def log_message(self, *_: object) -> None:
        """Nothing: probes are no events."""

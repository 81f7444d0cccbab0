"""A second WSGI application beside a program's own, in threads of its own: nothing waits for it.

For what people look at. It takes few connections at a time and refuses the rest, and nobody keeps
one for long; gunicorn's worker, with the program's health and metrics, knows nothing of it.
"""

import threading
from collections.abc import Callable
from socketserver import TCPServer, ThreadingMixIn
from typing import Any, Final
from wsgiref.simple_server import ServerHandler, WSGIRequestHandler, WSGIServer

READ_SECONDS: Final = 10.0
"""How long a peer may keep silent while it sends its request or takes its answer."""
MOST_CONNECTIONS: Final = 16
_MOST_LINE: Final = 8192


class Aside:
    """The server; it is bound from the beginning, and serves once it is started.

    Raises:
        OSError: the address cannot be had.
    """

    def __init__(self, application: Callable[..., Any], host: str, port: int) -> None:
        self._server = _Server((host, port), _Request)
        self._server.set_app(application)
        self._thread = threading.Thread(
            target=self._server.serve_forever, name="aside", daemon=True
        )

    @property
    def address(self) -> str:
        """Where it listens, as host:port."""
        host, port = self._server.server_address[:2]
        return f"{host!s}:{port}"

    def start(self) -> None:
        """Begin to serve."""
        self._thread.start()

    def stop(self) -> None:
        """Serve no more."""
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, address: tuple[str, int], handler: type[WSGIRequestHandler]) -> None:
        self._room = threading.BoundedSemaphore(MOST_CONNECTIONS)
        super().__init__(address, handler)

    def server_bind(self) -> None:
        """Without the name of the host, for which HTTPServer would ask a DNS server."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = "podrail", self.server_address[1]
        self.setup_environ()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer it in a thread if there is room for one more."""
        if self._room.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer it, and make room."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._room.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A peer that went away, or was too slow, is no news."""


class _Answer(ServerHandler):
    server_software = "podrail"


class _Request(WSGIRequestHandler):
    timeout = READ_SECONDS

    def handle(self) -> None:
        """Answer one request; the connection ends with it."""
        self.raw_requestline = self.rfile.readline(_MOST_LINE + 1)
        if len(self.raw_requestline) > _MOST_LINE:
            self.requestline = self.request_version = self.command = ""
            self.send_error(414)
        elif self.parse_request():
            answer = _Answer(self.rfile, self.wfile, self.get_stderr(), self.get_environ())  # type: ignore[arg-type]  # wsgiref itself passes it so
            answer.request_handler = self  # type: ignore[attr-defined]  # as wsgiref itself does
            answer.run(self.server.get_app())  # type: ignore[attr-defined]  # socketserver's type

    def log_message(self, *_told: Any) -> None:
        """Who looked at what is nobody's concern."""

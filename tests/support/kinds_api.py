"""A small API server of any kinds: list, watch, create, replace by version, apply a status or notes.

A collection that was never put to is not served, as a custom resource without its definition.
"""

from __future__ import annotations

import contextlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator

Document = dict[str, Any]


class KindsApi:
    """Objects by path, and what happened to them."""

    def __init__(self) -> None:
        self.objects: dict[str, Document] = {}
        self.served: set[str] = set()
        self.writes: list[tuple[str, str, Document]] = []
        self.refusing: int = 0
        """The status that every request gets, if it is not 0."""
        self.deaf = False
        """Whether requests get no answer at all."""
        self._history: list[tuple[str, str, Document]] = []
        self._stopping = False
        self._news = threading.Condition(threading.RLock())
        self._server = _Server(self)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    def put(self, path: str, document: Document) -> Document:
        """Add an object or change it; a changed spec is a new generation."""
        with self._news:
            collection, _, name = path.rpartition("/")
            before = self.objects.get(path)
            generation = 1 if before is None else before["metadata"]["generation"]
            if before is not None and before.get("spec") != document.get("spec"):
                generation += 1
            return self._record(
                "ADDED" if before is None else "MODIFIED",
                collection,
                {
                    **document,
                    "metadata": {
                        **document.get("metadata", {}),
                        "name": name,
                        "generation": generation,
                    },
                },
            )

    def remove(self, path: str) -> None:
        """Delete an object."""
        with self._news:
            self._record("DELETED", path.rpartition("/")[0], self.objects[path])

    def stop(self) -> None:
        """End every request and serve no more."""
        with self._news:
            self._stopping = True
            self._news.notify_all()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _record(self, kind: str, collection: str, document: Document) -> Document:
        version = str(len(self._history) + 1)
        metadata = {**document["metadata"], "resourceVersion": version}
        found = {**document, "metadata": metadata}
        path = f"{collection}/{metadata['name']}"
        self.served.add(collection)
        self._history.append((kind, collection, found))
        if kind == "DELETED":
            del self.objects[path]
        else:
            self.objects[path] = found
        self._news.notify_all()
        return found

    def read(self, path: str) -> tuple[int, Document]:
        """Status and body of a GET."""
        with self._news:
            if path in self.objects:
                return 200, self.objects[path]
            if path not in self.served:
                return 404, {"reason": "NotFound"}
            items = [one for place, one in self.objects.items() if place.rpartition("/")[0] == path]
            return 200, {
                "metadata": {"resourceVersion": str(len(self._history))},
                "items": items,
            }

    def write(self, method: str, target: str, body: Document) -> tuple[int, Document]:
        """Status and body of a POST, PUT or PATCH of a status."""
        path = urlsplit(target).path
        with self._news:
            self.writes.append((method, target, body))
            if method == "POST":
                return self._create(f"{path}/{body['metadata']['name']}", body)
            place = path.removesuffix("/status")
            before = self.objects.get(place)
            if before is None:
                return 404, {"reason": "NotFound"}
            if method == "PATCH":
                changed = _applied(before, body)
                return 200, self._record("MODIFIED", place.rpartition("/")[0], changed)
            if body["metadata"].get("resourceVersion") != before["metadata"]["resourceVersion"]:
                return 409, {"reason": "Conflict"}
            return 200, self.put(place, body)

    def _create(self, path: str, body: Document) -> tuple[int, Document]:
        if path in self.objects:
            return 409, {"reason": "AlreadyExists"}
        return 201, self.put(path, body)

    def events(self, collection: str, since: int) -> Iterator[Document]:
        """What happens in a collection after a version."""
        at = since
        while True:
            with self._news:
                while not self._stopping and len(self._history) <= at:
                    self._news.wait()
                if self._stopping:
                    return
                kind, place, document = self._history[at]
            at += 1
            if place == collection:
                yield {"type": kind, "object": document}

    def wait_stop(self) -> None:
        """Return when the server stops."""
        with self._news:
            self._news.wait_for(lambda: self._stopping or not self.deaf)


def _applied(before: Document, body: Document) -> Document:
    """The object after an apply of a status, or of annotations."""
    metadata = before["metadata"]
    notes = {**metadata.get("annotations", {}), **body["metadata"].get("annotations", {})}
    kept = {**metadata, "annotations": notes} if notes else metadata
    return {**before, "metadata": kept, "status": body.get("status", before.get("status"))}


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, api: KindsApi) -> None:
        self.api = api
        super().__init__(("127.0.0.1", 0), _Handler)

    def handle_error(self, *_: object) -> None:
        """A client that went away is no news here."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        where = urlsplit(self.path)
        query = dict(parse_qsl(where.query))
        with contextlib.suppress(OSError):
            if self._troubled():
                return
            if "watch" in query:
                self._watch(where.path, int(query["resourceVersion"]))
            else:
                self._send(*self.server.api.read(where.path))

    def _write(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with contextlib.suppress(OSError):
            if not self._troubled():
                self._send(*self.server.api.write(self.command, self.path, body))

    def do_POST(self) -> None:
        self._write()

    def do_PUT(self) -> None:
        self._write()

    def do_PATCH(self) -> None:
        assert self.headers["Content-Type"] == "application/apply-patch+yaml"
        self._write()

    def _troubled(self) -> bool:
        api = self.server.api
        if api.deaf:
            api.wait_stop()
            self.close_connection = True
            return True
        if api.refusing:
            self._send(api.refusing, {"reason": "Refused", "message": "not now"})
            return True
        return False

    def _send(self, status: int, document: Document) -> None:
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _watch(self, collection: str, since: int) -> None:
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for event in self.server.api.events(collection, since):
            line = json.dumps(event).encode() + b"\n"
            self.wfile.write(b"%x\r\n%b\r\n" % (len(line), line))


@contextlib.contextmanager
def serving() -> Iterator[KindsApi]:
    """A server for the length of a block."""
    api = KindsApi()
    try:
        yield api
    finally:
        api.stop()

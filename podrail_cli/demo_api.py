"""A small Kubernetes API in memory, over plain HTTP on 127.0.0.1. It serves `podrail demo` only.

Enough for the extender and its reflectors to run unchanged: list, watch, get, create, delete and
the binding of pods. No validation, no authentication, no controllers, no kubelet.
"""

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

Document = dict[str, Any]

CLUSTER_SCOPED: Final[Mapping[str, str]] = {"nodes": "Node", "namespaces": "Namespace"}
NAMESPACED: Final[Mapping[str, str]] = {"pods": "Pod", "events": "Event"}
KINDS: Final[Mapping[str, str]] = {**CLUSTER_SCOPED, **NAMESPACED}
BOOKMARK_SECONDS: Final = 30.0
MOST_HISTORY: Final = 20_000
"""Changes that a watch can still be given; an older version is 410, as after a compaction."""
MOST_WATCH_SECONDS: Final = 1800.0


class RefusalError(Exception):
    """An answer that is no success: the Status that the API server would send."""

    def __init__(self, code: int, reason: str, message: str) -> None:
        self.code = code
        self.document = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": message,
            "reason": reason,
            "code": code,
        }
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Target:
    """What a path points at: no name for a collection, no namespace for the whole cluster's."""

    plural: str
    namespace: str = ""
    name: str = ""
    action: str = ""

    def holds(self, plural: str, document: Document) -> bool:
        """True if an object is one of the collection."""
        there = document["metadata"].get("namespace", "")
        return plural == self.plural and self.namespace in ("", there)


@dataclass(frozen=True, slots=True)
class Change:
    """One change in the cluster's history; each has the version after the one before it."""

    version: int
    plural: str
    kind: str
    document: Document


class Store:
    """The objects and their history; documents are replaced, never changed."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._objects: dict[tuple[str, str, str], Document] = {}
        self._history: list[Change] = []
        self._version = 0
        self._made = 0
        self._closed = False
        self._news = threading.Condition(threading.RLock())
        self.create(Target("namespaces"), {"metadata": {"name": "default"}})

    def close(self) -> None:
        """End every watch."""
        with self._news:
            self._closed = True
            self._news.notify_all()

    def listed(self, target: Target) -> Document:
        """A collection by namespace and name, in one page whatever limit was asked for."""
        with self._news:
            items = [
                document
                for (plural, _, _), document in sorted(self._objects.items())
                if target.holds(plural, document)
            ]
            version = {"resourceVersion": str(self._version)}
        kind = f"{KINDS[target.plural]}List"
        return {"kind": kind, "apiVersion": "v1", "metadata": version, "items": items}

    def get(self, target: Target) -> Document:
        """One object; raises a RefusalError if there is none."""
        found = self._objects.get((target.plural, target.namespace, target.name))
        if found is None:
            raise RefusalError(404, "NotFound", f'{target.plural} "{target.name}" not found')
        return found

    def create(self, target: Target, document: Document) -> Document:
        """The object as it is kept: with a name, a uid, a version and the kind's first status."""
        with self._news:
            if target.namespace:
                self.get(Target("namespaces", name=target.namespace))
            self._made += 1
            given = document.get("metadata") or {}
            name = given.get("name") or f"{given['generateName']}{self._made:05}"
            if (target.plural, target.namespace, name) in self._objects:
                message = f'{target.plural} "{name}" already exists'
                raise RefusalError(409, "AlreadyExists", message)
            moment = time.gmtime(self._clock())
            made = {
                "name": name,
                **({"namespace": target.namespace} if target.namespace else {}),
                "uid": f"00000000-0000-4000-8000-{self._made:012x}",
                "creationTimestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", moment),
            }
            status = {"status": {"phase": "Pending"}} if target.plural == "pods" else {}
            whole = {"kind": KINDS[target.plural], "apiVersion": "v1", **status, **document}
            return self._record("ADDED", target.plural, {**whole, "metadata": {**given, **made}})

    def delete(self, target: Target) -> Document:
        """The object that was there; it is gone at once."""
        with self._news:
            return self._record("DELETED", target.plural, self.get(target))

    def bind(self, target: Target, binding: Document) -> Document:
        """Put a pod on a node and merge the binding's annotations into it, in one change.

        Like setPodNodeAndMetadata of kube-apiserver 1.36 (pkg/registry/core/pod/storage): a uid
        that is not the pod's and a pod that has a node are conflicts.
        """
        with self._news:
            pod = self.get(target)
            metadata, wanted = pod["metadata"], binding.get("metadata") or {}
            uid, node = wanted.get("uid"), binding["target"]["name"]
            if uid and uid != metadata["uid"]:
                problem = f"UID in precondition: {uid}, UID in object meta: {metadata['uid']}"
                raise RefusalError(409, "Conflict", f"Precondition failed: {problem}")
            if bound := pod["spec"].get("nodeName"):
                problem = f'pod {target.name} is already assigned to node "{bound}"'
                raise RefusalError(409, "Conflict", problem)
            merged = {**(metadata.get("annotations") or {}), **(wanted.get("annotations") or {})}
            spec, metadata = {**pod["spec"], "nodeName": node}, {**metadata, "annotations": merged}
            self._record("MODIFIED", "pods", {**pod, "metadata": metadata, "spec": spec})
        return {"kind": "Status", "apiVersion": "v1", "status": "Success", "code": 201}

    def watch(self, target: Target, since: int, until: float) -> Iterator[Document]:
        """The events of a collection after a version, until a time of the clock, or until closed.

        A bookmark comes after a while without a change, and a last one before the end.
        """
        while (changes := self._after(since, until)) is not None:
            for change in changes:
                since = change.version
                if target.holds(change.plural, change.document):
                    yield {"type": change.kind, "object": change.document}
            if not changes:
                kind, version = KINDS[target.plural], {"resourceVersion": str(since)}
                document = {"kind": kind, "apiVersion": "v1", "metadata": version}
                yield {"type": "BOOKMARK", "object": document}
                if self._clock() >= until:
                    return

    def _after(self, since: int, until: float) -> list[Change] | None:
        """The changes after a version, perhaps none after waiting for some; None if closed."""
        with self._news:
            if since < self._history[0].version - 1:
                raise RefusalError(410, "Expired", f"too old resource version: {since}")
            patience = min(BOOKMARK_SECONDS, max(0.0, until - self._clock()))
            self._news.wait_for(lambda: self._closed or self._version > since, patience)
            if self._closed:
                return None
            return self._history[max(0, since - self._history[0].version + 1) :]

    def _record(self, kind: str, plural: str, document: Document) -> Document:
        self._version += 1
        metadata = {**document["metadata"], "resourceVersion": str(self._version)}
        kept = {**document, "metadata": metadata}
        key = (plural, metadata.get("namespace", ""), metadata["name"])
        if kind == "DELETED":
            del self._objects[key]
        else:
            self._objects[key] = kept
        self._history.append(Change(self._version, plural, kind, kept))
        del self._history[:-MOST_HISTORY]
        self._news.notify_all()
        return kept


class DemoApi:
    """The server; its clock is in seconds since 1970. As a context manager it serves the block."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.store = Store(clock)
        self._server = _Server(self.store, clock)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> "DemoApi":
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
        case ["api", "v1", plural] if plural in KINDS:
            return Target(plural)
        case ["api", "v1", plural, name] if plural in CLUSTER_SCOPED:
            return Target(plural, name=name)
        case ["api", "v1", "namespaces", namespace, plural] if plural in NAMESPACED:
            return Target(plural, namespace)
        case ["api", "v1", "namespaces", namespace, plural, name] if plural in NAMESPACED:
            return Target(plural, namespace, name)
        case ["api", "v1", "namespaces", namespace, "pods", name, "binding"]:
            return Target("pods", namespace, name, "binding")
    raise RefusalError(404, "NotFound", f"the server could not find {path}")

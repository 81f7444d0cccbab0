"""The objects of the demo's cluster in memory, their history, and what may be done to them.

As the API server does it, for `podrail demo` only: no validation, no controllers, no kubelet.
"""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

Document = dict[str, Any]

CLUSTER_SCOPED: Final[Mapping[str, str]] = {"nodes": "Node", "namespaces": "Namespace"}
NAMESPACED: Final[Mapping[str, str]] = {
    "pods": "Pod",
    "events": "Event",
    "network-attachment-definitions": "NetworkAttachmentDefinition",
}
KINDS: Final[Mapping[str, str]] = {**CLUSTER_SCOPED, **NAMESPACED}
BOOKMARK_SECONDS: Final = 30.0
MOST_HISTORY: Final = 20_000
"""Changes that a watch can still be given; an older version is 410, as after a compaction."""


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

"""A small API server that takes reports: annotations of pods by their UID, and Events."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from kinds_api import Document, KindsApi

if TYPE_CHECKING:
    from collections.abc import Iterator

PODS = "/api/v1/pods"


class ReportsApi(KindsApi):
    """Pods are at /api/v1/pods/<name>, whatever their namespace."""

    def __init__(self) -> None:
        self.told: dict[str, Document] = {}
        """The Events by path, as they were applied last."""
        self.sent: list[str] = []
        """The paths of all writes of reports and Events."""
        self.answers: list[tuple[str, int]] = []
        """What the next writes to paths with these words get in place of their answer."""
        super().__init__()

    def write(self, method: str, target: str, body: Document) -> tuple[int, Document]:
        """As the other kinds', and for the paths of reports."""
        path = urlsplit(target).path
        if method != "PATCH" or not path.startswith("/api/v1/namespaces/"):
            return super().write(method, target, body)
        self.sent.append(path)
        for at, (word, status) in enumerate(self.answers):
            if f"/{word}/" in path:
                del self.answers[at]
                return status, {"reason": "Refused", "message": "by the test"}
        if "/events/" in path:
            self.told[path] = body
            return 200, body
        return self._annotated(body)

    def _annotated(self, body: Document) -> tuple[int, Document]:
        metadata = body["metadata"]
        before = self.objects.get(f"{PODS}/{metadata['name']}")
        if before is None:
            return 404, {"reason": "NotFound"}
        if before["metadata"]["uid"] != metadata["uid"]:
            return 409, {"reason": "Conflict"}
        notes = {**before["metadata"].get("annotations", {}), **metadata["annotations"]}
        changed = {**before, "metadata": {**before["metadata"], "annotations": notes}}
        return 200, self.put(f"{PODS}/{metadata['name']}", changed)

    def note(self, pod: str, key: str) -> Any:
        """An annotation of a pod."""
        return self.objects[f"{PODS}/{pod}"]["metadata"].get("annotations", {}).get(key)


@contextlib.contextmanager
def serving() -> Iterator[ReportsApi]:
    """A server for the length of a block."""
    api = ReportsApi()
    try:
        yield api
    finally:
        api.stop()

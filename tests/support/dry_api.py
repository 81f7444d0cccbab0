"""An API server that answers dry runs of pods as one with podrail's webhook does."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlsplit

import builders
from kinds_api import Document, KindsApi

from podrail import pod
from podrail.admission import decision
from podrail.admission.decision import Directory, Untouched


class DryApi(KindsApi):
    """Objects by path; kept is the beginning of paths that nobody may see."""

    def __init__(self) -> None:
        self.dry: list[Document] = []
        """The pods of dry runs, as they came."""
        self.refusal = ""
        """Why pods are refused; empty if they are not."""
        self.webhook = True
        self.kept = "none"
        super().__init__()

    def read(self, path: str) -> tuple[int, Document]:
        """403 for what is kept."""
        if path.startswith(self.kept):
            return 403, {"reason": "Forbidden", "message": "not for you"}
        return super().read(path)

    def write(self, method: str, target: str, body: Document) -> tuple[int, Document]:
        """What becomes of a pod; nothing is kept of a dry run."""
        where = urlsplit(target)
        if where.query != "dryRun=All":
            return super().write(method, target, body)
        self.dry.append(body)
        if self.refusal:
            return 403, {"reason": "Forbidden", "message": self.refusal}
        namespace = where.path.split("/")[4]
        return 201, self._made(body, namespace)

    def _made(self, body: Document, namespace: str) -> Document:
        found: Any = body
        if self.webhook:
            result = decision.decide(pod.read(body, namespace), Directory(builders.shipped()))
            assert not isinstance(result, Untouched)
            found = result.pod.document
        made: Document = json.loads(json.dumps(found))
        name = f"{made['metadata'].get('generateName', '')}x1"
        made["metadata"] |= {"name": name, "namespace": namespace}
        return made

"""A Secret of the API server: its data as bytes, written whole and only over what was read."""

import base64
import binascii
from dataclasses import dataclass
from typing import Final

from certs.holdings import Data
from podrail_io.kube import Api, Document, StatusError

REQUEST_SECONDS: Final = 3.0
"""Less than podrail_io.lease.SPARE_SECONDS: a write ends before anybody else may write."""
NOT_FOUND: Final = 404
LABELS: Final = {
    "app.kubernetes.io/name": "podrail",
    "app.kubernetes.io/component": "certs",
    "app.kubernetes.io/managed-by": "podrail-certs",
}


@dataclass(frozen=True, slots=True)
class Found:
    """A Secret as it was read: None if there is none, and then no data."""

    document: Document | None
    data: Data


class Vault:
    """One Secret by namespace and name."""

    def __init__(self, api: Api, place: tuple[str, str], kind: str) -> None:
        namespace, self._name = place
        self._api = api
        self._namespace = namespace
        self._collection = f"/api/v1/namespaces/{namespace}/secrets"
        self._path = f"{self._collection}/{self._name}"
        self._kind = kind

    def read(self) -> Found:
        """What is there now; raises as Api.get, but for a Secret that is not there."""
        try:
            document = self._api.get(self._path, timeout=REQUEST_SECONDS)
        except StatusError as error:
            if error.status != NOT_FOUND:
                raise
            return Found(None, {})
        return Found(document, _decoded(document.get("data") or {}))

    def write(self, before: Found, data: Data) -> None:
        """Write all of the data; raises a StatusError 409 if somebody else wrote meanwhile."""
        encoded = {name: base64.b64encode(text).decode() for name, text in data.items()}
        if before.document is None:
            self._api.post(self._collection, self._new(encoded), REQUEST_SECONDS)
        else:
            self._api.put(self._path, {**before.document, "data": encoded}, REQUEST_SECONDS)

    def _new(self, data: dict[str, str]) -> Document:
        return {
            "apiVersion": "v1",
            "kind": "Secret",
            "type": self._kind,
            "metadata": {"name": self._name, "namespace": self._namespace, "labels": LABELS},
            "data": data,
        }


def _decoded(data: Document) -> Data:
    return {name: _bytes(text) for name, text in data.items()}


def _bytes(text: object) -> bytes:
    """The API server gives base64; what is not is as broken as a text that is no PEM."""
    try:
        return base64.b64decode(str(text), validate=True)
    except binascii.Error:
        return b"not base64"

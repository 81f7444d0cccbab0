"""The caBundle of our entries in a MutatingWebhookConfiguration; nothing else of it is touched."""

import base64
import binascii
from collections.abc import Sequence
from typing import Any, Final

from certs.vault import NOT_FOUND, REQUEST_SECONDS
from podrail_io.kube import Api, StatusError

MANAGER: Final = "podrail-certs"
"""The field manager of the caBundles."""
VERSION: Final = "admissionregistration.k8s.io/v1"


class Registration:
    """One configuration, and of its entries those with our names."""

    def __init__(self, api: Api, name: str, entries: Sequence[str]) -> None:
        self._api = api
        self._name = name
        self._entries = frozenset(entries)
        self._path = f"/apis/{VERSION}/mutatingwebhookconfigurations/{name}"

    def read(self) -> dict[str, bytes]:
        """The caBundle of each of our entries that is there; raises as Api.get."""
        try:
            found = self._api.get(self._path, timeout=REQUEST_SECONDS)
        except StatusError as error:
            if error.status != NOT_FOUND:
                raise
            return {}
        mine = (one for one in found.get("webhooks") or () if one["name"] in self._entries)
        return {one["name"]: _bundle(one["clientConfig"]) for one in mine}

    def trust(self, entries: Sequence[str], bundle: bytes) -> None:
        """Have these entries trust a bundle; raises as Api.apply.

        An entry that was removed meanwhile is not made anew: without its rules it is not valid.
        """
        text = base64.b64encode(bundle).decode()
        body = {
            "apiVersion": VERSION,
            "kind": "MutatingWebhookConfiguration",
            "metadata": {"name": self._name},
            "webhooks": [{"name": one, "clientConfig": {"caBundle": text}} for one in entries],
        }
        self._api.apply(self._path, body, MANAGER, REQUEST_SECONDS)


def _bundle(config: dict[str, Any]) -> bytes:
    try:
        return base64.b64decode(config.get("caBundle") or "", validate=True)
    except binascii.Error:
        return b""

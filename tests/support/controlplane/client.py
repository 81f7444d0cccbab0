"""A small client of the tests' API server: raw documents in and out, the admin's token."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

PLURALS = {
    "MutatingWebhookConfiguration": "mutatingwebhookconfigurations",
    "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings",
    "CustomResourceDefinition": "customresourcedefinitions",
    "NetworkAttachmentDefinition": "network-attachment-definitions",
    "NodeRails": "noderails",
    "NetworkPolicy": "networkpolicies",
}
CONNECTIONS = 4
CLUSTER_SCOPED = {"Namespace", "Node", "ClusterRole", "ClusterRoleBinding", "FabricProfile", "NodeRails", *list(PLURALS)[:4]}  # fmt: skip


@dataclass(frozen=True)
class Answer:
    """Status, body and the warnings that kubectl would print."""

    status: int
    body: dict[str, Any]
    warnings: tuple[str, ...]

    @property
    def message(self) -> str:
        """What an error's Status says."""
        return str(self.body.get("message", ""))


class Client:
    """A connection a call: nothing is left open for a test to trip over."""

    def __init__(self, host: str, port: int, authority: str, token: str) -> None:
        self._address = (host, port)
        self._context = ssl.create_default_context(cadata=authority)
        self._token = token

    def call(
        self, method: str, path: str, body: object = None, kind: str = "application/json"
    ) -> Answer:
        """One request."""
        with closing(self._connect()) as connection:
            return self._over(connection, method, path, body, kind)

    def _connect(self) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection(*self._address, context=self._context, timeout=30)

    def _over(
        self,
        connection: http.client.HTTPSConnection,
        method: str,
        path: str,
        body: object,
        kind: str = "application/json",
    ) -> Answer:
        content = None if body is None else json.dumps(body)
        headers = {
            "Authorization": f"Bearer {self._token}",
            "Content-Type": kind,
            "Accept": "application/json",
        }
        connection.request(method, path, content, headers)
        response = connection.getresponse()
        raw = response.read()
        warnings = tuple(value for key, value in response.getheaders() if key == "Warning")
        is_json = (response.getheader("Content-Type") or "").startswith("application/json")
        return Answer(response.status, json.loads(raw) if is_json else {}, warnings)

    def text(self, path: str) -> str:
        """What is not JSON, such as /metrics."""
        with closing(self._connect()) as connection:
            connection.request("GET", path, headers={"Authorization": f"Bearer {self._token}"})
            return connection.getresponse().read().decode()

    def get(self, path: str, **query: str) -> dict[str, Any]:
        """An object or list that must be there."""
        return self._good(self.call("GET", f"{path}?{urlencode(query)}" if query else path))

    def items(self, path: str) -> list[dict[str, Any]]:
        """The items of a list."""
        return list(self.get(path)["items"])

    def create(
        self, document: Mapping[str, Any], namespace: str = "default", **query: str
    ) -> dict[str, Any]:
        """The object as it was created."""
        return self._good(self.try_create(document, namespace, **query))

    def try_create(
        self, document: Mapping[str, Any], namespace: str = "default", **query: str
    ) -> Answer:
        """The answer to a creation, whatever it is."""
        path = collection(document, namespace)
        return self.call("POST", f"{path}?{urlencode(query)}" if query else path, document)

    def create_all(self, documents: Iterable[Mapping[str, Any]]) -> None:
        """Create many objects over a few connections; a namespace is the document's own."""
        whole = list(documents)
        with ThreadPoolExecutor(CONNECTIONS) as pool:
            list(pool.map(self._create_some, (whole[n::CONNECTIONS] for n in range(CONNECTIONS))))

    def _create_some(self, documents: Iterable[Mapping[str, Any]]) -> None:
        with closing(self._connect()) as connection:
            for one in documents:
                self._good(self._over(connection, "POST", collection(one, "default"), one))

    def delete(self, path: str) -> None:
        """Delete an object or a collection; gone already is as good."""
        answer = self.call("DELETE", path, {"gracePeriodSeconds": 0})
        assert answer.status in {200, 202, 404}, answer.message

    def patch(self, path: str, body: object, kind: str = "application/merge-patch+json") -> Answer:
        """The answer to a patch."""
        return self.call("PATCH", path, body, kind)

    @staticmethod
    def _good(answer: Answer) -> dict[str, Any]:
        assert answer.status in {200, 201, 202}, f"{answer.status}: {answer.message}"
        return answer.body


def collection(document: Mapping[str, Any], namespace: str) -> str:
    """The path under which objects of this kind are created."""
    version, kind = document["apiVersion"], document["kind"]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    plural = PLURALS.get(kind, f"{kind.lower()}s")
    if kind in CLUSTER_SCOPED:
        return f"{root}/{plural}"
    own = (document.get("metadata") or {}).get("namespace")
    return f"{root}/namespaces/{own or namespace}/{plural}"

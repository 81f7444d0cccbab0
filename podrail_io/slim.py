"""A second door to an API server, for a program with 30 MiB in all: standard library only.

podrail_io.kube takes 43 MiB before its first call, for kubeconfigs and their plugins. Here there is
one server, a token file that is read anew for each call, and a CA file. Nothing is retried.
"""

import json
import ssl
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from podrail_io import links

Document = dict[str, Any]

ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
SECONDS: Final = 5.0
SILENCE_SECONDS: Final = 75.0
"""A watch without a byte for so long is dead: the API server sends a bookmark each minute."""
MOST_BYTES: Final = 8 * 1024 * 1024
NOT_FOUND: Final = 404
CONFLICT: Final = 409
_JSON: Final = "application/json"
_APPLY: Final = "application/apply-patch+yaml"
_FIRST_SUCCESS: Final = 200
_PAST_SUCCESS: Final = 300


class ApiError(Exception):
    """The API server could not be asked, or said no; status is 0 without an HTTP answer."""

    def __init__(self, message: str, status: int = 0) -> None:
        self.status = status
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Place:
    """Where an API server is, http or https, and the files of the identity that it is told."""

    server: str
    token: Path | None = None
    ca: Path | None = None


class SlimApi:
    """An API server, reached with one identity; each call has a connection of its own."""

    def __init__(self, place: Place) -> None:
        self._place = place

    def get(self, path: str, query: Mapping[str, str] | None = None) -> Document:
        """The object or list at a path.

        Raises:
            ApiError: the API server answered with an error, or not at all.
        """
        return self._whole("GET", links.asked(path, query or {}), None)

    def post(self, path: str, body: Mapping[str, Any]) -> Document:
        """What the API server made of a new object; raises as get does."""
        return self._whole("POST", path, body)

    def apply(self, path: str, body: Mapping[str, Any], manager: str) -> Document:
        """The object after a server-side apply of these fields by a manager; raises as get."""
        query = {"fieldManager": manager, "force": "true"}
        return self._whole("PATCH", links.asked(path, query), body)

    def watch(
        self, path: str, query: Mapping[str, str], silence: float = SILENCE_SECONDS
    ) -> Iterator[Document]:
        """The events of a watch until the server ends it; an ERROR event is raised.

        Raises:
            ApiError: as get; 410 means that the resource version is too old.
        """
        target = links.asked(path, {**query, "watch": "true", "allowWatchBookmarks": "true"})
        with closing(self._connection(silence)) as connection:
            try:
                response = self._asked(connection, "GET", target, None)
                while line := response.readline(MOST_BYTES):
                    event: Document = json.loads(line)
                    if event["type"] == "ERROR":
                        found = event["object"]
                        raise ApiError(f"watch {path}: {found.get('message')}", found["code"])
                    yield event
            except (OSError, HTTPException, ValueError, KeyError, TypeError) as error:
                raise ApiError(f"watch {path}: {type(error).__name__}: {error}") from error

    def _whole(self, method: str, target: str, body: Mapping[str, Any] | None) -> Document:
        with closing(self._connection(SECONDS)) as connection:
            try:
                response = self._asked(connection, method, target, body)
                found = json.loads(response.read(MOST_BYTES))
            except (OSError, HTTPException, ValueError) as error:
                raise ApiError(f"{method} {target}: {type(error).__name__}: {error}") from error
        if not isinstance(found, dict):
            raise ApiError(f"{method} {target}: expected an object")
        return found

    def _asked(
        self, connection: HTTPConnection, method: str, target: str, body: Mapping[str, Any] | None
    ) -> HTTPResponse:
        headers = {"Accept": _JSON, "User-Agent": "podrail"}
        if body is not None:
            headers["Content-Type"] = _APPLY if method == "PATCH" else _JSON
        if self._place.token is not None:
            # The kubelet rotates it.
            headers["Authorization"] = f"Bearer {self._place.token.read_text().strip()}"
        content = None if body is None else json.dumps(body).encode()
        connection.request(method, target, content, headers)
        response = connection.getresponse()
        if not _FIRST_SUCCESS <= response.status < _PAST_SUCCESS:
            raise _refusal(response, f"{method} {target}")
        return response

    def _connection(self, seconds: float) -> HTTPConnection:
        where = urlsplit(self._place.server)
        host, port = where.hostname or "", where.port
        if where.scheme != "https":
            return HTTPConnection(host, port, timeout=seconds)
        try:
            context = ssl.create_default_context(cafile=self._place.ca)
        except OSError as error:
            raise ApiError(f"{self._place.ca}: {error}") from error
        return HTTPSConnection(host, port, timeout=seconds, context=context)


def in_cluster(variables: Mapping[str, str], account: Path = ACCOUNT) -> Place | None:
    """The API server of the cluster around this process; None if there is none."""
    host, port = variables.get("KUBERNETES_SERVICE_HOST"), variables.get("KUBERNETES_SERVICE_PORT")
    token, ca = account / "token", account / "ca.crt"
    if not host or not port or not token.is_file():
        return None
    bracketed = f"[{host}]" if ":" in host else host
    return Place(f"https://{bracketed}:{port}", token, ca)


def _refusal(response: HTTPResponse, what: str) -> ApiError:
    try:
        found = json.loads(response.read(MOST_BYTES))
        message = found.get("message") or found.get("reason")
    except (OSError, HTTPException, ValueError, AttributeError):
        message = None
    told = message or response.reason or "no message"
    return ApiError(f"{what}: {response.status}: {str(told)[:500]}", response.status)

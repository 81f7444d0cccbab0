"""The one door to an API server: raw JSON over the official client's transport.

The client brings authentication, TLS and token refresh; its typed models stay outside, since they
cost three times the time and twice the memory (5,000 nodes: 4.2 s against 1.3 s). Every call has a
timeout for connecting and for each read, and nothing is retried behind the caller's back.
"""

import json
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import yaml
from kubernetes import client, config
from kubernetes.config import incluster_config
from urllib3 import BaseHTTPResponse, Timeout
from urllib3.exceptions import HTTPError

from podrail_io import links, unanswered

Document = dict[str, Any]

CONNECT_SECONDS: Final = 3.0
PAGE: Final = 500
PAGE_SECONDS: Final = 30.0
WATCH_SECONDS: Final = 240
"""When the server should end a watch; it then goes on from the last resource version."""
SILENCE_SECONDS: Final = 75.0
"""A watch without a byte for so long is dead: the API server sends a bookmark each minute."""
GONE: Final = 410
_JSON: Final = "application/json"
_APPLY: Final = "application/apply-patch+yaml"
_LEAST_SECONDS: Final = 0.001
_FIRST_SUCCESS: Final = 200
_PAST_SUCCESS: Final = 300
_UNKNOWN: Final = 500
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


class KubeError(Exception):
    """The API server could not be asked, or said no."""


class UnreachableError(KubeError):
    """No answer: no credentials, refused, timed out, cut off, or not what an API server says."""


class StatusError(KubeError):
    """An answer that is no success: the HTTP status, and the API server's reason and message.

    retry_after is in seconds; 0 if the server asked for no pause.
    """

    def __init__(
        self, status: int, message: str, reason: str = "", retry_after: float = 0.0
    ) -> None:
        self.status = status
        self.reason = reason
        self.retry_after = retry_after
        super().__init__(f"{status} {reason}: {message}" if reason else f"{status}: {message}")


@dataclass(frozen=True, slots=True)
class Page:
    """Some of the items of a list, and the version of the whole list."""

    items: tuple[Document, ...]
    resource_version: str


@dataclass(frozen=True, slots=True)
class Event:
    """One line of a watch: ADDED, MODIFIED, DELETED or BOOKMARK, the object and its version."""

    kind: str
    object: Document
    resource_version: str


class Api:
    """An API server, reached with one identity; threads may share it."""

    def __init__(self, settings: client.Configuration) -> None:
        settings.connection_pool_maxsize = 32
        if urlsplit(settings.host).hostname in _LOOPBACK:
            # As client-go does: a proxy of the environment is never asked for the own machine.
            settings.proxy = None
        self._transport = client.ApiClient(settings)
        self._transport.user_agent = "podrail"

    @classmethod
    def connect(cls, kubeconfig: Path | None = None, server: str = "") -> "Api":
        """The API server of a plain URL, of a kubeconfig file, or of the cluster this runs in.

        Raises:
            UnreachableError: the kubeconfig cannot be used, or there is no cluster around.
        """
        if server:
            return cls(client.Configuration(host=server.rstrip("/")))
        if kubeconfig is not None:
            return cls(_from_file(kubeconfig))
        return cls.with_account(
            incluster_config.InClusterConfigLoader(  # type: ignore[no-untyped-call]  # untyped library
                token_filename=incluster_config.SERVICE_TOKEN_FILENAME,
                cert_filename=incluster_config.SERVICE_CERT_FILENAME,
            )
        )

    @classmethod
    def with_account(cls, account: incluster_config.InClusterConfigLoader) -> "Api":
        """The API server that a service account's files and variables lead to.

        The loader reads the token again each minute (client 37.0.2), since the kubelet rotates it.
        """
        settings = client.Configuration()
        try:
            account.load_and_set(settings)  # type: ignore[no-untyped-call]  # untyped library
        except (config.ConfigException, OSError) as error:
            raise UnreachableError(f"no cluster around: {error}") from error
        return cls(settings)

    @staticmethod
    def in_cluster() -> bool:
        """True if this process has a service account's token."""
        return Path(incluster_config.SERVICE_TOKEN_FILENAME).is_file()

    def get(
        self, path: str, query: Mapping[str, str] | None = None, timeout: float = 10
    ) -> Document:
        """The object or list at a path.

        Raises:
            StatusError: the API server answered with an error.
            UnreachableError: there was no usable answer.
        """
        return self._whole("GET", links.asked(path, query or {}), None, timeout)

    def post(self, path: str, body: Mapping[str, Any], timeout: float = 10) -> Document:
        """What the API server made of a new object; raises as get does."""
        return self._whole("POST", path, body, timeout)

    def put(self, path: str, body: Mapping[str, Any], timeout: float = 10) -> Document:
        """The object that replaced the one at a path; as get, and 409 for a stale version."""
        return self._whole("PUT", path, body, timeout)

    def apply(
        self, path: str, body: Mapping[str, Any], manager: str, timeout: float = 10
    ) -> Document:
        """The object after a server-side apply of these fields by a manager; raises as get."""
        query = {"fieldManager": manager, "force": "true"}
        return self._whole("PATCH", links.asked(path, query), body, timeout)

    def pages(self, path: str, timeout: float = PAGE_SECONDS) -> Iterator[Page]:
        """The pages of a list, at most PAGE items each, all of one version.

        A StatusError 410 on the way means that the version was compacted: what came so far is
        worth nothing, the list has to begin anew.
        """
        query = {"limit": str(PAGE)}
        while True:
            found = self.get(path, query, timeout)
            try:
                metadata = found["metadata"]
                page = Page(tuple(found["items"] or ()), metadata["resourceVersion"])
                token = metadata.get("continue")
            except (AttributeError, KeyError, TypeError) as error:
                raise UnreachableError(f"GET {path}: expected a list: {error!r}") from error
            yield page
            if not token:
                return
            query = {"limit": str(PAGE), "continue": token}

    def watch(
        self, path: str, version: str, silence: float = SILENCE_SECONDS
    ) -> Generator[Event, None, None]:
        """What happens from a version on, until the server ends the watch; it has been answered.

        Raises:
            StatusError: an ERROR event or answer; 410 means that the version is too old.
            UnreachableError: silent for too long, cut off, or not a watch.
        """
        query = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": version,
            "timeoutSeconds": str(WATCH_SECONDS),
        }
        timeout = Timeout(connect=CONNECT_SECONDS, read=silence)
        return _events(path, self._call("GET", links.asked(path, query), None, timeout))

    def _whole(
        self, method: str, target: str, body: Mapping[str, Any] | None, seconds: float
    ) -> Document:
        # urllib3 refuses a total of 0; a caller with no time left gets a timeout like any other.
        timeout = Timeout(total=max(seconds, _LEAST_SECONDS), connect=CONNECT_SECONDS)
        response = self._call(method, target, body, timeout)
        try:
            found = json.loads(response.data)
        except (HTTPError, OSError, ValueError) as error:
            raise UnreachableError(f"{method} {target}: {unanswered.why(error)}") from error
        if not isinstance(found, dict):
            raise UnreachableError(f"{method} {target}: expected an object")
        return found

    def _call(
        self, method: str, target: str, body: Mapping[str, Any] | None, timeout: Timeout
    ) -> BaseHTTPResponse:
        try:
            # Only this adds the credentials, and reads the token again when its time has come.
            _, url, headers, _, _ = self._transport.param_serialize(
                method,
                target,
                header_params={
                    "Accept": _JSON,
                    "Content-Type": _APPLY if method == "PATCH" else _JSON,
                },
                auth_settings=["BearerToken"],
            )
            # The pool itself, not call_api: that one takes no total timeout. urllib3's retries
            # would hide failures from the caller's backoff, and a redirect would carry the token.
            response: BaseHTTPResponse = self._transport.rest_client.pool_manager.request(
                method,
                url,
                body=None if body is None else json.dumps(body),
                headers=headers,
                timeout=timeout,
                retries=False,
                redirect=False,
                preload_content=False,
            )
        except (HTTPError, OSError, config.ConfigException) as error:
            raise UnreachableError(f"{method} {target}: {unanswered.why(error)}") from error
        if not _FIRST_SUCCESS <= response.status < _PAST_SUCCESS:
            raise _refusal(response)
        return response


def _from_file(kubeconfig: Path) -> client.Configuration:
    """What a kubeconfig file says about its current context."""
    settings = client.Configuration()
    try:
        # Not persisted: a refreshed token is no reason to write into a user's file.
        config.load_kube_config(  # type: ignore[no-untyped-call]  # untyped library
            str(kubeconfig), client_configuration=settings, persist_config=False
        )
    except (config.ConfigException, yaml.YAMLError, OSError, ValueError) as error:
        raise UnreachableError(f"kubeconfig {kubeconfig}: {error}") from error
    except (AttributeError, KeyError, TypeError) as error:
        # The loader checks no shapes; a file that is YAML but no kubeconfig ends here.
        raise UnreachableError(f"kubeconfig {kubeconfig}: not a kubeconfig: {error!r}") from error
    return settings


def _lines(response: BaseHTTPResponse) -> Iterator[bytes]:
    """The lines of a body as soon as each is complete."""
    rest = b""
    for chunk in response.stream(65536, decode_content=False):
        *lines, rest = (rest + chunk).split(b"\n")
        yield from (line for line in lines if line)


def _events(path: str, response: BaseHTTPResponse) -> Generator[Event, None, None]:
    try:
        for line in _lines(response):
            yield _event(line)
    except (HTTPError, OSError, ValueError, KeyError, TypeError) as error:
        raise UnreachableError(f"watch {path}: {unanswered.why(error)}") from error
    finally:
        response.close()


def _event(line: bytes) -> Event:
    read = json.loads(line)
    kind, found = read["type"], read["object"]
    if kind == "ERROR":
        raise _status(int(found.get("code") or _UNKNOWN), found, "")
    return Event(kind, found, found["metadata"]["resourceVersion"])


def _refusal(response: BaseHTTPResponse) -> StatusError:
    """The error of an answer: its body's Status, else the reason phrase."""
    try:
        found = json.loads(response.data)
    except (HTTPError, OSError, ValueError):
        found = None
    header = response.headers.get("Retry-After", "")
    # Seconds, as the API server's priority and fairness sends them; a date is nobody's here.
    pause = float(header) if header.isdecimal() else 0.0
    return _status(response.status, found, response.reason or "", pause)


def _status(code: int, found: object, phrase: str, pause: float = 0.0) -> StatusError:
    fields = found if isinstance(found, dict) else {}
    message = fields.get("message") or phrase or "no message"
    return StatusError(code, str(message), str(fields.get("reason") or ""), pause)

"""From the bytes of a request to the bytes of its answer; no socket is touched here.

gunicorn's parser judges every head (27.0.1). A client that keeps its connection sends the same few
heads again and again, but for the length of the body: each is judged once for each connection.
"""

import io
import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

from gunicorn.http import RequestParser, errors, wsgi

from podrail_io import load, prompt
from podrail_io.connection import Arrival

_LOG: Final = logging.getLogger(__name__)

LARGE_BYTES: Final = 128 * 1024
"""A request with a longer body is answered in a thread whatever its path: it computes for long."""
REMEMBERED: Final = 4
"""How many heads a connection remembers: kube-scheduler's filter, prioritize and bind, and one."""
REMEMBERED_BYTES: Final = 1024
"""The longest head that a connection remembers; Go's are a quarter of it."""

# Which refusals of gunicorn's parser are not a plain 400.
_STATUSES: Final = (
    (errors.LimitRequestLine, HTTPStatus.REQUEST_URI_TOO_LONG),
    (errors.LimitRequestHeaders, HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE),
    (errors.UnsupportedTransferCoding, HTTPStatus.NOT_IMPLEMENTED),
    (errors.ExpectationFailed, HTTPStatus.EXPECTATION_FAILED),
)


class RefusedError(Exception):
    """A head that gunicorn's parser does not accept; its connection ends with the status."""

    def __init__(self, status: HTTPStatus, problem: str) -> None:
        super().__init__(problem)
        self.status = status


@dataclass(frozen=True, slots=True)
class Judged:
    """A head that was accepted, all but the length of its body; good on its connection only."""

    shape: tuple[bytes, bytes]
    request: Any
    environ: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Call:
    """A request to answer: its head, its body, and whether the connection can go on after it."""

    judged: Judged
    body: bytes
    length: str
    ends: bool

    def environ(self) -> dict[str, Any]:
        """A fresh environ: an application writes into its own."""
        found = {**self.judged.environ, "wsgi.input": io.BytesIO(self.body)}
        if self.length:
            found["CONTENT_LENGTH"] = self.length
        return found


@dataclass(frozen=True, slots=True)
class Answer:
    """The bytes to send, and whether the connection is kept after them."""

    content: bytes
    keep: bool


class _Sink:
    """Where gunicorn's response writes, in place of a socket."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []

    def sendall(self, data: bytes) -> None:
        self.parts.append(data)


class Exchange:
    """What turns the requests to one application into answers; any thread may use it."""

    def __init__(
        self,
        application: Callable[..., Iterable[bytes]],
        config: Any,
        prompt_paths: frozenset[str] = frozenset(),
    ) -> None:
        self._application = application
        self._config = config
        self._prompt = prompt_paths
        self.load = load.of(application)

    def read(self, arrival: Arrival, client: Any, server: Any, known: Sequence[Judged]) -> Call:
        """The request that has arrived; known are the heads that its connection remembers.

        Raises:
            RefusedError: it is none.
        """
        for one in known:
            if one.shape == arrival.shape and arrival.whole:
                return Call(one, arrival.body, arrival.length, ends=False)
        judged = self._judge(arrival, client, server)
        # Where the parser reads another length than was waited for, nobody knows what follows.
        told = judged.environ.get("CONTENT_LENGTH", "")
        ends = not arrival.whole or told != arrival.length
        return Call(judged, b"" if ends else arrival.body, told, ends)

    def _judge(self, arrival: Arrival, client: Any, server: Any) -> Judged:
        try:
            request = next(RequestParser(self._config, [arrival.head], client))
        except (errors.ParseException, errors.NoMoreData, StopIteration) as error:
            matches = (status for kind, status in _STATUSES if isinstance(error, kind))
            status = next(matches, HTTPStatus.BAD_REQUEST)
            raise RefusedError(status, type(error).__name__) from error
        # A body that is waited for was asked for when its head arrived.
        request._expected_100_continue = False  # noqa: SLF001 - gunicorn would ask once more
        _, environ = wsgi.create(request, _Sink(), client, server, self._config)
        for name in ("wsgi.input", "wsgi.early_hints", "gunicorn.socket"):
            del environ[name]
        environ["wsgi.multithread"] = True
        return Judged(arrival.shape, request, environ)

    def is_prompt(self, call: Call) -> bool:
        """Whether the call may be answered on the main loop."""
        return call.judged.request.path in self._prompt and not is_large(call)

    def answer_promptly(self, call: Call, *, last: bool) -> Answer | None:
        """The answer, or None if it takes waiting, to be asked for again in a thread."""
        environ = call.environ()
        with prompt.only():
            answer = self._answered(call, environ, last=last)
        return None if prompt.POSTPONED in environ else answer

    def answer(self, call: Call, *, last: bool) -> Answer:
        """The answer; last says that the connection ends with it."""
        return self._answered(call, call.environ(), last=last)

    def _answered(self, call: Call, environ: dict[str, Any], *, last: bool) -> Answer:
        sink = _Sink()
        response = wsgi.Response(call.judged.request, sink, self._config)
        if last or call.ends:
            response.force_close()
        try:
            self._run(environ, response)
        except Exception:  # noqa: BLE001 - the outermost loop: whatever an application raises
            _LOG.exception("request failed", extra={"uri": call.judged.request.uri})
            return Answer(refusal(HTTPStatus.INTERNAL_SERVER_ERROR), keep=False)
        return Answer(b"".join(sink.parts), keep=not response.should_close())

    def _run(self, environ: dict[str, Any], response: Any) -> None:
        parts = self._application(environ, response.start_response)
        try:
            for part in parts:
                response.write(part)
            response.close()
        finally:
            # PEP 3333: a result that can be closed is closed, whatever happened.
            close = getattr(parts, "close", None)
            if close is not None:
                close()


def is_large(call: Call) -> bool:
    """Whether the call holds a processor for long."""
    return len(call.body) > LARGE_BYTES


def remembered(call: Call, known: Sequence[Judged]) -> Sequence[Judged]:
    """What the connection of a call may take as judged for the next ones, the newest first."""
    if call.ends:
        return ()
    if sum(map(len, call.judged.shape)) > REMEMBERED_BYTES or call.judged in known:
        return known
    return (call.judged, *known[: REMEMBERED - 1])


def refusal(status: HTTPStatus) -> bytes:
    """An answer that ends its connection; one for overload asks for another try after a second."""
    body = json.dumps({"error": status.phrase}).encode()
    retry = "Retry-After: 1\r\n" if status is HTTPStatus.TOO_MANY_REQUESTS else ""
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\nConnection: close\r\n{retry}"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body

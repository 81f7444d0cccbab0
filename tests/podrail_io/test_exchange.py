"""Requests in, answers out, with gunicorn's parser as the judge of every head."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Sequence
from http import HTTPStatus
from typing import Any

import pytest
import served
from gunicorn.config import Config

from podrail_io import exchange, prompt
from podrail_io.connection import Arrival, Connection
from podrail_io.exchange import Answer, Exchange, Judged, RefusedError

LINE = b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
CLIENT = ("127.0.0.1", 40000)
SERVER = ("127.0.0.1", 8443)


def arrived(content: bytes) -> Arrival:
    """What a connection hands over of these bytes."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        connection = Connection(ours, None, None)
        assert connection.add(content)
        return connection.take()


def made(application: Any = None, **settings: object) -> Exchange:
    """The exchange of the echo application, or of another one."""
    config = Config()
    for name, value in settings.items():
        config.set(name, value)
    return Exchange(application or served.echo(), config, frozenset({"/echo", "/waiting"}))


def asked(*contents: bytes) -> Sequence[Judged]:
    """The heads that a connection remembers after these requests."""
    exchanged, known = made(), tuple[Judged, ...]()
    for one in contents:
        known = tuple(
            exchange.remembered(exchanged.read(arrived(one), CLIENT, SERVER, known), known)
        )
    return known


def status(content: bytes, *before: bytes) -> int:
    """The status that these bytes are answered with, after others on the same connection."""
    exchanged, known = made(), asked(*before)
    try:
        call = exchanged.read(arrived(content), CLIENT, SERVER, known)
    except RefusedError as error:
        return error.status
    return int(exchanged.answer(call, last=False).content.split()[1])


def head(*fields: bytes) -> bytes:
    """A POST with these fields."""
    return LINE + b"".join(field + b"\r\n" for field in fields) + b"\r\n"


SMUGGLED: dict[str, tuple[int, bytes]] = {
    "length and coding": (400, head(b"Content-Length: 2", b"Transfer-Encoding: chunked") + b"{}"),
    "coding and length": (400, head(b"Transfer-Encoding: chunked", b"Content-Length: 2") + b"{}"),
    "two lengths": (400, head(b"Content-Length: 2", b"Content-Length: 3") + b"{}"),
    "two equal lengths": (400, head(b"Content-Length: 2", b"Content-Length: 2") + b"{}"),
    "list of lengths": (400, head(b"Content-Length: 2, 2")),
    "signed length": (400, head(b"Content-Length: +2")),
    "negative length": (400, head(b"Content-Length: -2")),
    "hexadecimal length": (400, head(b"Content-Length: 0x2")),
    "empty length": (400, head(b"Content-Length:")),
    "length with a space": (400, head(b"Content-Length: 1 2")),
    "endless length": (413, head(b"Content-Length: 99999999999999999999")),
    "space before colon": (400, head(b"Content-Length : 2")),
    "chunked then identity": (400, head(b"Transfer-Encoding: chunked, identity")),
    "two codings": (400, head(b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked")),
    "vertical tab in coding": (400, head(b"Transfer-Encoding: \x0bchunked")),
    "unknown coding": (501, head(b"Transfer-Encoding: wild")),
    "gzip alone": (400, head(b"Transfer-Encoding: gzip")),
    "chunked of HTTP/1.0": (
        400, head(b"Transfer-Encoding: chunked").replace(b"HTTP/1.1", b"HTTP/1.0")),
    "folded field": (400, head(b"X: a", b" Content-Length: 2")),
    "bare line feed": (400, head(b"X: a\nContent-Length: 2")),
    "bare carriage return": (400, head(b"X: a\rContent-Length: 2")),
    "two hosts": (400, head(b"Host: y", b"Content-Length: 2") + b"{}"),
    "two types": (400, head(b"Content-Type: text/plain", b"Content-Length: 2") + b"{}"),
    "NUL": (400, head(b"X: a\0", b"Content-Length: 2") + b"{}"),
    "no name": (400, head(b": a", b"Content-Length: 2") + b"{}"),
    "lower-case method": (400, head(b"Content-Length: 2").replace(b"POST", b"post") + b"{}"),
    "HTTP/2.0": (400, head(b"Content-Length: 2").replace(b"HTTP/1.1", b"HTTP/2.0") + b"{}"),
    "HTTP/9": (400, head(b"Content-Length: 2").replace(b"HTTP/1.1", b"HTTP/9") + b"{}"),
    "no target": (400, head(b"Content-Length: 2").replace(b" /echo ", b" ") + b"{}"),
    "only an empty line": (400, b"\r\n\r\n"),
    "long line": (414, head(b"Content-Length: 2").replace(b"/echo", b"/" + b"x" * 5000) + b"{}"),
    "long field": (431, head(b"X: " + b"y" * 9000, b"Content-Length: 2") + b"{}"),
    "many fields": (431, head(*[b"X: y"] * 101, b"Content-Length: 2") + b"{}"),
    "unknown expectation": (417, head(b"Expect: more", b"Content-Length: 2") + b"{}"),
    "chunked": (411, head(b"Transfer-Encoding: chunked")),
    "no length": (411, head()),
    "underscored length": (411, head(b"Content_Length: 2")),
    "over the limit": (413, head(b"Content-Length: 8388609")),
}  # fmt: skip


@pytest.mark.parametrize("name", SMUGGLED)
def test_a_head_with_two_meanings_is_refused(name: str) -> None:
    """Whatever another reader could take for another request never reaches the application."""
    expected, content = SMUGGLED[name]
    assert expected == status(content)


@pytest.mark.parametrize("name", SMUGGLED)
def test_what_was_judged_before_opens_no_door(name: str) -> None:
    """After a good head on the same connection a bad one is refused just the same."""
    expected, content = SMUGGLED[name]
    assert expected == status(content, head(b"Content-Length: 2") + b"{}")


def test_the_same_heads_are_judged_once() -> None:
    """kube-scheduler takes turns on one connection: only lengths and bodies differ from then on."""
    posts = [head(b"Content-Length: 2").replace(b"/echo", b"/%d" % at) + b"{}" for at in range(4)]
    known, exchanged = asked(*posts), made()
    for at in (0, 3, 1, 2):
        content = posts[at].replace(b": 2", b": 8").replace(b"{}", b'{"a": 1}')
        call = exchanged.read(arrived(content), CLIENT, SERVER, known)
        assert (f"/{at}", b'{"a": 1}') == (call.judged.request.path, call.body)
        assert call.judged in known
        assert known is exchange.remembered(call, known)


def test_of_many_heads_the_last_four_are_remembered() -> None:
    """And none that is longer than a client's that anybody knows."""
    posts = [head(b"Content-Length: 2", b"X: %d" % at) + b"{}" for at in range(6)]
    long = head(b"Content-Length: 2", b"X: " + b"x" * exchange.REMEMBERED_BYTES) + b"{}"
    known = asked(*posts, long)
    assert ["5", "4", "3", "2"] == [one.environ["HTTP_X"] for one in known]


def test_a_request_that_ends_its_connection_leaves_nothing_to_remember() -> None:
    """What follows a body that nobody has read is no request."""
    good = head(b"Content-Length: 2") + b"{}"
    assert () == asked(good, head(b"Transfer-Encoding: chunked"))


def test_another_head_is_judged_anew() -> None:
    """One byte more and gunicorn's parser reads it again."""
    exchanged = made()
    first = exchanged.read(arrived(head(b"Content-Length: 2") + b"{}"), CLIENT, SERVER, ())
    other = head(b"Content-Length: 2", b"X-Trace: 1") + b"{}"
    call = exchanged.read(arrived(other), CLIENT, SERVER, [first.judged])
    assert "1" == call.judged.environ["HTTP_X_TRACE"]


@pytest.mark.parametrize(
    ("field", "last", "keep"),
    [(b"X: y", False, True), (b"X: y", True, False), (b"Connection: close", False, False)],
    ids=["kept", "at the stop", "asked for"],
)
def test_the_answer_says_whether_the_connection_is_kept(
    field: bytes, *, last: bool, keep: bool
) -> None:
    """Whoever sends the answer and whoever reads it agree on what comes next."""
    exchanged = made()
    content = head(field, b"Content-Length: 2") + b"{}"
    answer = exchanged.answer(exchanged.read(arrived(content), CLIENT, SERVER, ()), last=last)
    assert (keep, keep) == (answer.keep, b"Connection: keep-alive\r\n" in answer.content)


@pytest.mark.parametrize(
    ("path", "size", "expected"),
    [
        (b"/echo", 2, True),
        (b"/echo", exchange.LARGE_BYTES, True),
        (b"/echo", exchange.LARGE_BYTES + 1, False),
        (b"/slow", 2, False),
        (b"/echo/", 2, False),
    ],
    ids=["declared", "at the limit", "large", "not declared", "another path"],
)
def test_only_small_calls_of_declared_paths_are_prompt(
    path: bytes, size: int, *, expected: bool
) -> None:
    """What may compute for long, or wait, is for a thread."""
    exchanged = made()
    content = head(b"Content-Length: %d" % size).replace(b"/echo", path) + b"x" * size
    call = exchanged.read(arrived(content), CLIENT, SERVER, ())
    assert expected == exchanged.is_prompt(call)


def test_a_call_that_would_wait_has_no_prompt_answer() -> None:
    """It is answered when it is asked for again, from the start."""
    exchanged = made()
    content = head(b"Content-Length: 2").replace(b"/echo", b"/waiting") + b"{}"
    call = exchanged.read(arrived(content), CLIENT, SERVER, ())
    assert exchanged.answer_promptly(call, last=False) is None
    assert exchanged.answer(call, last=False).content.startswith(b"HTTP/1.1 200 ")


def test_waiting_is_free_outside_the_main_loop() -> None:
    """A handler says so wherever it runs; only in a prompt call it has a consequence."""
    prompt.about_to_wait()
    with prompt.only(), pytest.raises(prompt.WaitError):
        prompt.about_to_wait()
    prompt.about_to_wait()


def test_whatever_an_application_raises_is_a_500(caplog: pytest.LogCaptureFixture) -> None:
    """The caller learns nothing, the log the traceback, and the connection ends."""

    def broken(_environ: object, _start: object) -> Iterable[bytes]:
        raise RuntimeError("private detail")

    exchanged = made(broken)
    call = exchanged.read(arrived(head(b"Content-Length: 2") + b"{}"), CLIENT, SERVER, ())
    refused = exchange.refusal(HTTPStatus.INTERNAL_SERVER_ERROR)
    assert Answer(refused, keep=False) == exchanged.answer(call, last=False)
    assert ["private detail"] == [str(one.exc_info[1]) for one in caplog.records if one.exc_info]


def test_only_overload_asks_for_a_retry() -> None:
    """client-go repeats a call that is answered with Retry-After; no other refusal may ask it to."""
    asking = [one for one in HTTPStatus if b"Retry-After" in exchange.refusal(one)]
    assert [HTTPStatus.TOO_MANY_REQUESTS] == asking

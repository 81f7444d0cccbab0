from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import pytest

from podrail_io.connection import BODY_BYTES, HEAD_BYTES, Arrival, Connection, HeadTooLongError

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def peers() -> Iterator[tuple[Connection, socket.socket]]:
    """The server's connection and the client's end of it."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.settimeout(1)
        yield Connection(ours, None, None), theirs


@pytest.mark.parametrize(
    ("content", "ready"),
    [
        (b"GET / HTTP/1.1\r\nHost: x\r\n", False),
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", True),
        (b"POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nab", False),
        (b"POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", True),
        (b"POST / HTTP/1.1\r\ncONTENT-lENGTH:\t3 \r\n\r\nab", False),
        (b"POST / HTTP/1.1\r\nX-Content-Length: 3\r\n\r\n", True),
        (b"POST / HTTP/1.1\r\nContent-Length: +3\r\n\r\n", True),
        (b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % (BODY_BYTES + 1), True),
        (b"POST / HTTP/1.1\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n", True),
    ],
    ids=[
        "half a head", "no body", "half a body", "a body", "any case", "another field", "malformed",
        "over the limit", "chunked",
    ],
)  # fmt: skip
def test_a_request_is_handed_over_when_it_is_there(
    peers: tuple[Connection, socket.socket], content: bytes, *, ready: bool
) -> None:
    """All of a sized body is waited for; what has no valid size is left to the parser at once."""
    connection, theirs = peers
    theirs.sendall(content)
    assert ready == connection.receive()


def test_a_request_is_handed_over_as_it_came(peers: tuple[Connection, socket.socket]) -> None:
    """Nothing is lost or changed, and what came after it is kept for the next request."""
    connection, theirs = peers
    for part in (b"POST / HTTP/1.1\r\nContent-", b"Length: 3\r", b"\n\r\na", b"bcGET / HT"):
        theirs.sendall(part)
        connection.receive()
    before, after = b"POST / HTTP/1.1\r\nContent-Length: ", b"\r\n\r\n"
    expected = Arrival(before + b"3" + after, (before, after), "3", b"abc", whole=True)
    assert expected == connection.take()
    assert connection.add(b"TP/1.1\r\n\r\n")
    assert connection.take().head == b"GET / HTTP/1.1\r\n\r\n"
    assert connection.held == 0


@pytest.mark.parametrize(
    ("content", "whole"),
    [
        (b"Content-Length: 0", True),
        (b"Content-Length: %d" % (BODY_BYTES + 1), False),
        (b"Transfer-Encoding: chunked", False),
    ],
    ids=["sized", "over the limit", "chunked"],
)
def test_a_body_left_on_the_socket_is_known(
    peers: tuple[Connection, socket.socket], content: bytes, *, whole: bool
) -> None:
    """Whoever answers must know whether unread bytes stand between this request and the next."""
    connection, _ = peers
    connection.add(b"POST / HTTP/1.1\r\n" + content + b"\r\n\r\n")
    assert whole == connection.take().whole


def test_heads_without_a_length_have_no_shape_of_one_with(
    peers: tuple[Connection, socket.socket],
) -> None:
    """A length that is empty or no number never looks like one that was accepted."""

    def shape(length: bytes) -> tuple[bytes, bytes]:
        connection = Connection(peers[0].sock, None, None)
        connection.add(b"POST / HTTP/1.1\r\nContent-Length: " + length + b"\r\n\r\n")
        return connection.take().shape

    assert shape(b"12") == shape(b"7")
    assert 3 == len({shape(b"12"), shape(b""), shape(b"\0")})


def test_an_answer_leaves_as_the_peer_takes_it(peers: tuple[Connection, socket.socket]) -> None:
    """What the peer does not read stays ours, counted as held, until it does."""
    connection, theirs = peers
    content = b"x" * 5_000_000
    assert not connection.send(content)
    assert 0 < connection.held < len(content)
    received = len(theirs.recv(65536))
    while not connection.flush():
        received += len(theirs.recv(65536))
    assert (0, True) == (connection.held, received < len(content))


def test_an_endless_head_is_refused(peers: tuple[Connection, socket.socket]) -> None:
    """A head that does not end within the limit is never handed over."""
    connection, _ = peers
    with pytest.raises(HeadTooLongError):
        connection.add(b"GET / HTTP/1.1\r\nx: " + b"y" * HEAD_BYTES)


def test_the_end_of_the_peer_is_an_error(peers: tuple[Connection, socket.socket]) -> None:
    """A peer that closes before its request is whole will never finish it."""
    connection, theirs = peers
    theirs.sendall(b"GET / HT")
    theirs.close()
    with pytest.raises(EOFError):
        connection.receive()


def test_after_the_half_close_the_peer_reads_the_end(
    peers: tuple[Connection, socket.socket],
) -> None:
    """Our side ends at once, and what the peer still sends is thrown away until it closes too."""
    connection, theirs = peers
    connection.half_close()
    assert theirs.recv(1) == b""
    theirs.sendall(b"late")
    connection.discard()
    theirs.close()
    with pytest.raises(EOFError):
        connection.discard()

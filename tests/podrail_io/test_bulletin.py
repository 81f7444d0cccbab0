"""Health, readiness and metrics over real sockets, good peers and bad."""

from __future__ import annotations

import http.client
import json
import logging
import socket
from collections.abc import Iterator
from contextlib import closing

import pytest

from podrail_io import bulletin
from podrail_io.bulletin import Bulletin

PROBLEMS: list[str] = []


@pytest.fixture
def address(caplog: pytest.LogCaptureFixture) -> Iterator[tuple[str, int]]:
    """Where one listens."""
    caplog.set_level(logging.INFO)
    PROBLEMS.clear()
    running = Bulletin(("127.0.0.1", 0), lambda: PROBLEMS, lambda: "x 1.0\n")
    running.start()
    host, _, port = str(vars(caplog.records[-1])["address"]).rpartition(":")
    try:
        yield host, int(port)
    finally:
        running.stop()


def call(address: tuple[str, int], path: str, method: str = "GET") -> tuple[int, bytes]:
    with closing(http.client.HTTPConnection(*address, timeout=5)) as connection:
        connection.request(method, path)
        answer = connection.getresponse()
        return answer.status, answer.read()


def test_every_page_is_served(address: tuple[str, int]) -> None:
    """Readiness has its problems; another path is none."""
    assert (200, b'{"status": "ok"}') == call(address, "/healthz")
    assert (200, b'{"status": "ready"}') == call(address, "/readyz?verbose")
    PROBLEMS.append("nothing seen")
    status, body = call(address, "/readyz")
    assert (503, ["nothing seen"]) == (status, json.loads(body)["problems"])
    assert (200, b"x 1.0\n") == call(address, "/metrics")
    assert 404 == call(address, "/../etc/passwd")[0]


def test_nothing_but_reading_is_served(address: tuple[str, int]) -> None:
    """Another method, or no HTTP at all, is a refusal, and the next is served."""
    assert 501 == call(address, "/healthz", "POST")[0]
    with socket.create_connection(address, timeout=5) as sock:
        sock.sendall(b"\x16\x03\x01\x02\x00\x01\r\n\r\n")
        assert b"400" in sock.recv(4096)
    assert 200 == call(address, "/healthz")[0]


def test_silent_peers_keep_nobody_out(address: tuple[str, int]) -> None:
    """The oldest is cut when there are too many."""
    silent = [socket.create_connection(address, timeout=5) for _ in range(bulletin.MOST_PEERS * 3)]
    try:
        assert 200 == call(address, "/healthz")[0]
        assert b"" == silent[0].recv(1)
    finally:
        for one in silent:
            one.close()

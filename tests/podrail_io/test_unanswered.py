"""Why a call got no answer."""

from __future__ import annotations

import socket
from contextlib import closing

import pytest
from urllib3 import HTTPConnectionPool, Timeout
from urllib3.exceptions import HTTPError

from podrail_io import unanswered


def of(host: str, port: int) -> str:
    """What is said of a call to there."""
    with HTTPConnectionPool(host, port, timeout=Timeout(connect=0.5, read=0.2)) as pool:
        with pytest.raises(HTTPError) as caught:
            pool.request("GET", "/", retries=False)
        return unanswered.why(caught.value)


def test_a_port_where_nobody_listens_is_named() -> None:
    """With the system's own word for it."""
    with closing(socket.socket()) as bound:
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
        assert f"no connection to 127.0.0.1:{port}: Connection refused" == of("127.0.0.1", port)


def test_a_name_that_is_no_hosts_is_named() -> None:
    """The name is what is wrong, mostly."""
    told = of("nobody.invalid", 1)
    assert told.startswith("no connection to nobody.invalid:1: ")
    assert "HTTPConnection" not in told


def test_silence_is_told_as_such() -> None:
    """Whether before a connection or after it."""
    with closing(socket.create_server(("127.0.0.1", 0), backlog=1)) as silent:
        assert "no answer in time" == of("127.0.0.1", silent.getsockname()[1])
        port = silent.getsockname()[1]
        crowd = [socket.socket() for _ in range(4)]
        for one in crowd:
            one.setblocking(False)
            one.connect_ex(("127.0.0.1", port))
        assert "no connection in time" == of("127.0.0.1", port)
        for one in crowd:
            one.close()


def test_anything_else_is_told_by_its_own_name() -> None:
    """Rather than by nothing."""
    assert "HTTPError: odd" == unanswered.why(HTTPError("odd"))

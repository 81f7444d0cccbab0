from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from typing import TYPE_CHECKING, Any

import pytest
import served

from podrail_io import serving
from podrail_io.serving import Serving

if TYPE_CHECKING:
    from pathlib import Path

    from served import Served


def _beats(server: Served) -> dict[str, Any]:
    status, body = server.call("GET", "/beats")
    assert status == 200
    return dict(json.loads(body))


@pytest.mark.parametrize("worker_class", [*serving.WORKER_CLASSES, "gthread"])
def test_the_application_is_made_after_the_fork(tmp_path: Path, worker_class: str) -> None:
    """Each worker makes the application itself, so the threads it starts go on in that worker."""
    with served.served(tmp_path, "beating", workers=2, worker_class=worker_class) as server:
        first = _beats(server)
        time.sleep(0.2)
        seen = {answer["process"]: answer for answer in [_beats(server) for _ in range(20)]}
    assert first["process"] == first["made_in"]
    assert server.process.pid == first["parent"]
    assert all(one["made_in"] == pid and one["beats"] > 1 for pid, one in seen.items())


def test_a_thread_made_before_the_fork_would_be_dead(tmp_path: Path) -> None:
    """Why nothing is preloaded: threads stay behind in the parent (so the test above can fail)."""
    with served.served(tmp_path, "beating", preload=True) as server:
        first = _beats(server)
        time.sleep(0.2)
        assert first["beats"] == _beats(server)["beats"]
    assert first["parent"] == first["made_in"]


def test_an_unwritable_home_is_no_problem(tmp_path: Path) -> None:
    """With a HOME that cannot be written and / as working directory nothing is complained about."""
    environment = {"HOME": "/proc/nowhere", "TMPDIR": str(tmp_path)}
    with served.served(tmp_path, environment=environment) as server:
        assert server.call("GET", "/healthz")[0] == 200
        assert server.stop() < 5
        levels = {line["level"] for line in server.records()}
    assert {"INFO"} == levels
    assert [server.log] == list(tmp_path.iterdir())


def test_gunicorns_own_lines_are_records_too(tmp_path: Path) -> None:
    """A worker that dies is told by gunicorn through the root logger's handler, and replaced."""
    with served.served(tmp_path, "beating") as server:
        first = _beats(server)["process"]
        os.kill(first, signal.SIGKILL)
        time.sleep(1)
        assert first != _beats(server)["process"]
        told = [line["message"] for line in server.records() if line["logger"] == "gunicorn.error"]
    assert any(f"Worker (pid:{first}) was sent SIGKILL" in message for message in told)


def test_a_connection_is_kept_between_calls(tmp_path: Path) -> None:
    """All calls of a client go over one connection, every answer with its length."""
    with served.served(tmp_path) as server, contextlib.closing(server.connect()) as connection:
        used = []
        for _ in range(3):
            connection.request("POST", "/echo", b"{}", {"Content-Type": "application/json"})
            answer = connection.getresponse()
            assert (b"{}", "2") == (answer.read(), answer.headers["Content-Length"])
            used.append(connection.sock)
    assert used[:1] * 3 == used


def test_certificates_are_served_when_files_are_named(tmp_path: Path) -> None:
    """A program that names a pair and hands over no Certificates still speaks TLS, never plain."""
    authority = served.authority(tmp_path / "ca")
    with served.served(tmp_path, trust=authority) as server:
        assert server.call("GET", "/healthz")[0] == 200


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("preload_app", False),
        ("control_socket_disable", True),
        ("http_protocols", "h1"),
        ("keepalive", 95),
        ("graceful_timeout", 5),
        ("accesslog", None),
    ],
)
def test_settings_that_others_rely_on(name: str, value: object) -> None:
    """Each of these was a failure once somewhere; docs/decisions/0004-hardened-gthread.md says where."""
    assert value == serving.options(Serving(host="127.0.0.1", port=0), None)[name]

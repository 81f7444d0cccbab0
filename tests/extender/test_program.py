"""podrail-extender as a process: how it starts, answers without an API server, and ends."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import commands
import pytest
import served
import staging
from commands import Child


def records(child: Child) -> list[dict[str, Any]]:
    """Its log; a line that is no JSON fails the test."""
    return [json.loads(line) for line in child.errors.splitlines()]


@contextmanager
def extender(folder: Path, **variables: str) -> Iterator[tuple[Child, int]]:
    """An extender on a free port whose API server is not there, and that port."""
    with closing(socket.socket()) as refusing:
        refusing.bind(("127.0.0.1", 0))
        given = {
            "PODRAIL_LISTEN": "127.0.0.1:0",
            "PODRAIL_SERVER": f"http://127.0.0.1:{refusing.getsockname()[1]}",
            **variables,
        }
        with commands.running(folder / "run", "podrail-extender", **given) as child:
            child.eventually(lambda: '"listening"' in child.errors)
            address = next(one["address"] for one in records(child) if "address" in one)
            yield child, int(address.rpartition(":")[2])


def bulletin_of(child: Child) -> int:
    """The port of its bulletin."""
    child.eventually(lambda: 2 == len([one for one in records(child) if "address" in one]))
    addresses = {one["logger"]: one["address"] for one in records(child) if "address" in one}
    return int(addresses["podrail_io.bulletin"].rpartition(":")[2])


def metrics(port: int) -> bytes:
    """What it tells Prometheus."""
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=10)) as connection:
        connection.request("GET", "/metrics")
        return connection.getresponse().read()


def call(port: int, method: str, path: str, document: object = None) -> tuple[int, Any]:
    """Status and document of one call."""
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=10)) as connection:
        body = None if document is None else json.dumps(document)
        connection.request(method, path, body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())


def test_without_an_api_server_it_is_not_ready_and_stands_in_nobodys_way(tmp_path: Path) -> None:
    """Every node passes with the same score, a bind fails in words, SIGTERM ends it with 0."""
    arguments = {"Pod": staging.injected(staging.halves()), "NodeNames": ["a", "b"]}
    bind = {"PodName": "p", "PodNamespace": "n", "PodUID": "u", "Node": "a"}
    with extender(tmp_path) as (child, port):
        status, answer = call(port, "GET", "/readyz")
        missing = ["nodes are not synced", "pods are not synced", "profiles are not synced"]
        assert (503, missing) == (status, answer["problems"])
        assert ["a", "b"] == call(port, "POST", "/filter", arguments)[1]["NodeNames"]
        scores = call(port, "POST", "/prioritize", arguments)[1]
        assert [0, 0] == [one["Score"] for one in scores]
        assert (200, {"Error": "the API server did not take the binding"}) == call(
            port, "POST", "/bind", bind
        )
        assert 0 == child.stop()
        assert [] == child.left()
    assert "Traceback" not in child.errors


def test_health_and_metrics_are_also_told_where_loopback_is_not_reached(tmp_path: Path) -> None:
    """And nothing else is: no question of kube-scheduler's."""
    with extender(tmp_path, PODRAIL_BULLETIN="127.0.0.1:0") as (child, _):
        port = bulletin_of(child)
        assert 503 == call(port, "GET", "/readyz")[0]
        assert 200 == call(port, "GET", "/healthz")[0]
        assert b"podrail_cache_synced 0.0" in metrics(port)
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=10)) as connection:
            connection.request("POST", "/bind", b"{}")
            assert 501 == connection.getresponse().status


def test_an_expired_certificate_is_told_where_no_handshake_is_needed(tmp_path: Path) -> None:
    """As a reason not to be ready, and as the metric that alerts look at."""
    pair = served.authority(tmp_path).leaf("old", days=-0.001)
    files = {"PODRAIL_CERT": str(pair.certfile), "PODRAIL_KEY": str(pair.keyfile)}
    with extender(tmp_path, PODRAIL_BULLETIN="127.0.0.1:0", **files) as (child, _):
        port = bulletin_of(child)
        assert "the certificate has expired" in call(port, "GET", "/readyz")[1]["problems"]
        assert b"podrail_cert_expiry_timestamp_seconds" in metrics(port)


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"PODRAIL_STALE_SECONDS": "soon"}, "PODRAIL_STALE_SECONDS"),
        ({"PODRAIL_KUBECONFIG": "/nowhere"}, "PODRAIL_KUBECONFIG"),
        ({}, "no cluster around"),
    ],
    ids=["number", "file", "no cluster"],
)
def test_wrong_settings_end_it_with_a_message(
    tmp_path: Path, variables: dict[str, str], expected: str
) -> None:
    """Exit status 1, the variable by name, no traceback."""
    with commands.running(tmp_path / "run", "podrail-extender", **variables) as child:
        assert 1 == child.wait()
    assert expected in child.errors
    assert "Traceback" not in child.errors


def test_a_shape_that_is_wrong_ends_it_with_its_place(tmp_path: Path) -> None:
    """Document, index and field."""
    (tmp_path / "own.json").write_text('{"shapes":[{"shape":"x","color":1}]}')
    variables = {"PODRAIL_SHAPES": str(tmp_path), "PODRAIL_SERVER": "http://127.0.0.1:1"}
    with commands.running(tmp_path / "run", "podrail-extender", **variables) as child:
        assert 1 == child.wait()
    assert "own.json.shapes[0].color" in child.errors

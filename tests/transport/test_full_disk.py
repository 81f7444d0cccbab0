"""Programs whose log can no longer be written: they answer all the same, and end when told to."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import builders
import pytest
import staging
from controlplane.installed import eventually, script
from controlplane.processes import Child, free_port

FULL = Path("/dev/full")
"""Each write to it fails as on a file system without room (ENOSPC, full(4))."""
CALLS = 50
ARGUMENTS = {"Pod": staging.injected(staging.halves(), gpus=8), "NodeNames": ["a", "b"]}
GOOD: dict[str, tuple[str, Any]] = {
    "podrail-webhook": ("/mutate", json.loads(builders.review(builders.document()))),
    "podrail-extender": ("/filter", ARGUMENTS),
}


def call(port: int, method: str, path: str, document: object = None) -> int:
    """The status of a call; 0 where nobody listens yet."""
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=10)) as connection:
        try:
            body = json.dumps(document)
            connection.request(method, path, body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            answer.read()
        except ConnectionRefusedError:
            return 0
        return answer.status


@contextmanager
def running(name: str) -> Iterator[tuple[Child, int]]:
    """A program that logs everything to a full disk; nothing listens where its API server would."""
    port = free_port()
    given = {
        "PODRAIL_LISTEN": f"127.0.0.1:{port}",
        "PODRAIL_LOG_LEVEL": "debug",
        **({"PODRAIL_SERVER": "http://127.0.0.1:9"} if name == "podrail-extender" else {}),
    }
    child = Child([script(name)], FULL, given)
    try:
        eventually(lambda: call(port, "GET", "/healthz") == 200, f"{name} listens")
        yield child, port
    finally:
        child.stop()


@pytest.mark.parametrize("name", GOOD)
def test_a_full_disk_stops_nothing(name: str) -> None:
    """Every call of fifty is answered, also after one that is refused; SIGTERM ends it in good order."""
    path, document = GOOD[name]
    with running(name) as (child, port):
        assert 400 == call(port, "POST", path, [])
        assert [200] * CALLS == [call(port, "POST", path, document) for _ in range(CALLS)]
        assert child.stop() < 9
        assert child.process.returncode >= 0, "ended by itself, not killed"

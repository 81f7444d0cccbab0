"""podrail-controller as a process: how it starts, tells of itself, and ends."""

from __future__ import annotations

import http.client
import json
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import builders
import commands
import kinds_api
import mapped
import pytest
from commands import Child
from kinds_api import KindsApi

from podrail import profiles

LEASE = "/apis/coordination.k8s.io/v1/namespaces/podrail-system/leases/podrail-controller"


@pytest.fixture
def server() -> Iterator[KindsApi]:
    """A server with a profile."""
    with kinds_api.serving() as running:
        running.put(f"{profiles.RESOURCES}/x", builders.profile_document("x"))
        yield running


@pytest.fixture
def child(server: KindsApi, tmp_path: Path) -> Iterator[Child]:
    """A controller on the server."""
    variables = {"PODRAIL_LISTEN": "127.0.0.1:0", "PODRAIL_SERVER": server.url}
    with commands.running(tmp_path / "run", "podrail-controller", **variables) as running:
        running.eventually(lambda: '"listening"' in running.errors)
        yield running


def address(child: Child) -> str:
    """Where it listens."""
    lines = [json.loads(line) for line in child.errors.splitlines() if '"listening"' in line]
    return str(lines[0]["address"])


def call(child: Child, path: str) -> tuple[int, Any]:
    """Status and document of one call."""
    with closing(http.client.HTTPConnection(address(child), timeout=10)) as connection:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())


def test_it_writes_tells_of_itself_and_gives_its_lease_back(server: KindsApi, child: Child) -> None:
    """Ready, with metrics; SIGTERM ends it with status 0 and without the lease."""
    child.eventually(lambda: bool(server.objects[f"{profiles.RESOURCES}/x"].get("status")))
    assert (200, {"status": "ok"}) == call(child, "/healthz")
    assert (200, {"status": "ready"}) == call(child, "/readyz")
    with urllib.request.urlopen(f"http://{address(child)}/metrics", timeout=5) as answer:
        assert 'podrail_controller_profiles{ready="True"} 1.0' in answer.read().decode()
    assert server.objects[LEASE]["spec"]["holderIdentity"]
    assert 0 == child.stop()
    assert "" == server.objects[LEASE]["spec"]["holderIdentity"]
    assert [] == child.left()
    assert "Traceback" not in child.errors


def test_a_deaf_server_keeps_it_from_nothing_but_its_work(server: KindsApi, child: Child) -> None:
    """It stays alive and says that it has seen nothing yet."""
    server.deaf = True
    status, answer = call(child, "/healthz")
    assert (200, {"status": "ok"}) == (status, answer)
    assert 0 == child.stop()


def test_without_a_cluster_it_ends_with_a_message(tmp_path: Path) -> None:
    """Exit status 1, no traceback."""
    with commands.running(tmp_path / "run", "podrail-controller") as child:
        assert 1 == child.wait()
    assert "podrail-controller: no cluster around" in child.errors
    assert "Traceback" not in child.errors


def test_the_page_is_served_beside_its_work(server: KindsApi, tmp_path: Path) -> None:
    """At an address of its own, once it is given one; it follows nothing before somebody looks."""
    mapped.put(server, mapped.documents())
    variables = {
        "PODRAIL_LISTEN": "127.0.0.1:0",
        "PODRAIL_SERVER": server.url,
        "PODRAIL_PAGE": "127.0.0.1:0",
        "PODRAIL_PAGE_WEBHOOK": "127.0.0.1:9",
    }
    with commands.running(tmp_path / "run", "podrail-controller", **variables) as child:
        child.eventually(lambda: '"page listening"' in child.errors)
        lines = [json.loads(one) for one in child.errors.splitlines() if '"page listening"' in one]
        with urllib.request.urlopen(f"http://{lines[0]['page']}/fleet.json", timeout=30) as answer:
            assert 9 == json.loads(answer.read())["sum"]["nodes"]
        with urllib.request.urlopen(f"http://{lines[0]['page']}/health.json", timeout=30) as answer:
            told = {one["check"]: one for one in json.loads(answer.read())["findings"]}
        assert ("ok", "fail") == (told["map"]["verdict"], told["certificate"]["verdict"])
        assert 0 == child.stop()

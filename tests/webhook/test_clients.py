"""A webhook that knows its clients: all others read nothing."""

from __future__ import annotations

import json
import ssl
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import commands
import pytest
import served
from commands import Child
from served import Authority


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return served.authority(tmp_path / "servers")


@pytest.fixture
def others(tmp_path: Path) -> Authority:
    return served.authority(tmp_path / "clients")


@pytest.fixture
def child(authority: Authority, others: Authority, tmp_path: Path) -> Iterator[Child]:
    """A webhook whose clients are called localhost."""
    pair = authority.leaf("tls")
    variables = {
        "PODRAIL_LISTEN": "127.0.0.1:0",
        "PODRAIL_CERT": str(pair.certfile),
        "PODRAIL_KEY": str(pair.keyfile),
        "PODRAIL_CLIENT_CA": str(others.file),
        "PODRAIL_CLIENT_NAMES": "kube-apiserver, localhost",
    }
    with commands.running(tmp_path / "run", "podrail-webhook", **variables) as running:
        running.eventually(lambda: '"listening"' in running.errors, 40)
        yield running


def healthy(child: Child, authority: Authority, client: Authority | None) -> bool:
    """Whether a client with a certificate of this CA is answered."""
    lines = [json.loads(line) for line in child.errors.splitlines() if '"listening"' in line]
    context = ssl.create_default_context(cafile=authority.file)
    context.check_hostname = False
    if client is not None:
        pair = client.leaf("client")
        context.load_cert_chain(pair.certfile, pair.keyfile)
    url = f"https://{lines[0]['address']}/healthz"
    try:
        with urllib.request.urlopen(url, timeout=10, context=context) as answer:
            return int(answer.status) == 200
    except OSError:
        return False


def test_only_its_clients_are_answered(
    child: Child, authority: Authority, others: Authority
) -> None:
    """Whoever has no certificate, or one of another CA, reads nothing."""
    callers = (others, None, authority, others)
    assert [True, False, False, True] == [healthy(child, authority, one) for one in callers]

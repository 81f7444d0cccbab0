"""The Secret, the registration and the replicas, as they are read and written."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator

import certificates_api
import issued
import pytest
from certificates_api import NAMESPACE, OURS, REGISTRATION, SECRETS, CertificatesApi

from certs.registration import Registration
from certs.scene import Sight
from certs.vault import Vault
from certs.witness import Witness
from podrail_io.kube import Api, StatusError


@pytest.fixture
def server() -> Iterator[CertificatesApi]:
    with certificates_api.serving() as running:
        yield running


@pytest.fixture
def vault(server: CertificatesApi) -> Vault:
    return Vault(Api.connect(server=server.url), (NAMESPACE, "x"), "Opaque")


def test_a_secret_that_is_not_there_is_created(server: CertificatesApi, vault: Vault) -> None:
    """With its type; and then replaced, keeping what others wrote around the data."""
    vault.write(vault.read(), {"a": b"1"})
    made = server.objects[f"{SECRETS}/x"]
    server.put(
        f"{SECRETS}/x", {**made, "metadata": {**made["metadata"], "annotations": {"b": "c"}}}
    )
    vault.write(vault.read(), {"a": b"2"})
    assert {"a": b"2"} == vault.read().data
    assert ("Opaque", {"b": "c"}) == (
        server.objects[f"{SECRETS}/x"]["type"],
        server.objects[f"{SECRETS}/x"]["metadata"]["annotations"],
    )


def test_nobody_is_overwritten(server: CertificatesApi, vault: Vault) -> None:
    """What changed meanwhile, or came to be, is a conflict."""
    absent = vault.read()
    server.fill("x", {"a": b"1"})
    with pytest.raises(StatusError, match="409"):
        vault.write(absent, {})
    old = vault.read()
    server.fill("x", {"a": b"2"})
    with pytest.raises(StatusError, match="409"):
        vault.write(old, {})


def test_data_that_are_not_base64_are_garbage(server: CertificatesApi, vault: Vault) -> None:
    """A value like any other, for the reader of certificates to refuse."""
    server.put(f"{SECRETS}/x", {"data": {"a": "%"}})
    assert {"a": b"not base64"} == vault.read().data


def test_other_refusals_are_raised(server: CertificatesApi, vault: Vault) -> None:
    """Only what is not there counts as empty."""
    registration = Registration(Api.connect(server=server.url), "podrail", OURS)
    server.refusing = 403
    for read in (vault.read, registration.read):
        with pytest.raises(StatusError, match="403"):
            read()


def test_our_entries_are_read(server: CertificatesApi) -> None:
    """Those that are there; a caBundle that is no base64 is as good as none."""
    registration = Registration(Api.connect(server=server.url), "podrail", OURS)
    assert {} == registration.read()
    entries = [
        {"name": "other.example.com", "clientConfig": {"caBundle": "eA=="}},
        {"name": OURS[0], "clientConfig": {"caBundle": "eA=="}},
        {"name": OURS[1], "clientConfig": {"caBundle": "%"}},
    ]
    server.put(REGISTRATION, {"webhooks": entries})
    assert {OURS[0]: b"x", OURS[1]: b""} == registration.read()


def test_who_refuses_serves_nothing_and_who_is_silent_may(server: CertificatesApi) -> None:
    """Beside one without a port; all within their time."""
    witness = Witness(Api.connect(server=server.url), (NAMESPACE, "w"), issued.HOST, time.monotonic)
    with socket.create_server(("127.0.0.1", 0)) as silent, socket.socket() as refusing:
        refusing.bind(("127.0.0.1", 0))
        server.endpoint("a", "127.0.0.1", silent.getsockname()[1], 1)
        server.endpoint("b", "127.0.0.1", refusing.getsockname()[1])
        server.endpoint("c", "127.0.0.1")
        began = time.monotonic()
        assert Sight((), 1) == witness.look()
        assert time.monotonic() - began < 4


def test_many_that_are_silent_do_not_hold_it(server: CertificatesApi) -> None:
    """Beyond the time for all of them nobody is waited for."""
    ticks = iter(range(0, 1000, 6))
    witness = Witness(
        Api.connect(server=server.url), (NAMESPACE, "w"), issued.HOST, lambda: next(ticks)
    )
    with socket.create_server(("127.0.0.1", 0), backlog=50) as silent:
        for number in range(20):
            server.endpoint(str(number), "127.0.0.1", silent.getsockname()[1])
        began = time.monotonic()
        assert Sight((), 20) == witness.look()
        assert time.monotonic() - began < 5

"""The loop on an API server: one writer, our entries only, and whatever goes wrong is survived."""

from __future__ import annotations

import base64
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import certificates_api
import issued
import pytest
from certificates_api import LEASE, OURS, REGISTRATION, SECRETS, CertificatesApi

from certs import authority, chain, store
from certs.holdings import Authorities, Served
from certs.keeper import Keeper, Times
from certs.settings import Settings
from podrail_io.kube import Api
from podrail_io.lease import Lease, Surroundings

FOREIGN = "pod.example.com"


@pytest.fixture
def server() -> Iterator[CertificatesApi]:
    """An API server with our two entries and somebody else's."""
    with certificates_api.serving() as running:
        running.register(*OURS, FOREIGN)
        yield running


class Held:
    """A keeper whose clocks go when a test says so."""

    def __init__(self, server: CertificatesApi, identity: str = "a", **variables: str) -> None:
        self.seconds = 1000.0
        self.jump = timedelta()
        api = Api.connect(server=server.url)
        given = {f"PODRAIL_{name}": value for name, value in variables.items()}
        settings = Settings.from_environ({"PODRAIL_SETTLE_SECONDS": "10", **given})
        world = Surroundings(lambda: self.seconds, self.now, lambda: 0.5)
        self.lease = Lease(api, (settings.namespace, "podrail-certs"), identity, world)
        self.keeper = Keeper(api, self.lease, settings, Times(self.now, lambda: self.seconds))

    def now(self) -> datetime:
        return datetime.fromtimestamp(time.time(), UTC) + self.jump

    def look(self, after: float = 5) -> None:
        """Renew the Lease if possible, and look."""
        self.seconds += after
        self.lease._guarded(self.lease._round)
        if self.lease.held:
            self.keeper.guarded()

    def count(self, name: str, **labels: str) -> float | None:
        return self.keeper.metrics.registry.get_sample_value(f"podrail_certs_{name}", labels)


def signer(server: CertificatesApi) -> bytes:
    """The certificate of the CA that signs."""
    found = Authorities.read(server.secret("podrail-ca")).signer
    assert found is not None
    return found.certificate_pem


def trusted(server: CertificatesApi) -> int:
    """How many CAs our entries trust, all of them the same."""
    (bundle,) = {server.bundles()[one] for one in OURS}
    return len(chain.parse(bundle))


def test_everything_is_there_after_one_look(server: CertificatesApi) -> None:
    """A CA whose key nothing mounts, a leaf for the Service of at most 90 days, both entries."""
    held = Held(server)
    held.look()
    assert {"ca.crt", "ca.key"} == set(server.secret("podrail-ca"))
    assert {"ca.crt", "tls.crt", "tls.key"} == set(server.secret("podrail-tls"))
    served = Served.read(server.secret("podrail-tls"))
    assert served.leaf is not None
    assert {issued.HOST, f"{issued.HOST}.cluster.local"} == set(authority.hosts(served.leaf))
    left = served.leaf.not_valid_after_utc - held.now()
    assert timedelta(days=29) < left <= timedelta(days=90)
    ca = Authorities.read(server.secret("podrail-ca")).signer
    assert ca is not None
    assert ca.certificate.not_valid_after_utc - held.now() > 9 * left
    assert {signer(server)} == {server.bundles()[one] for one in OURS} == {served_trust(server)}
    assert () == held.keeper.problems()
    assert 29 < (held.count("days_until_expiry", certificate="leaf") or 0) <= 30


def served_trust(server: CertificatesApi) -> bytes:
    return server.secret("podrail-tls")["ca.crt"]


def test_a_second_look_writes_nothing(server: CertificatesApi) -> None:
    """Compare, then write."""
    held = Held(server)
    held.look()
    before = len(server.writes)
    held.look()
    leases = [target for _, target, _ in server.writes[before:] if "leases" not in target]
    assert [] == leases


def test_only_our_entries_are_touched(server: CertificatesApi) -> None:
    """By our own field manager; somebody else's entry and all other fields stay as they are."""
    Held(server).look()
    assert b"" == server.bundles()[FOREIGN]
    entries = server.objects[REGISTRATION]["webhooks"]
    assert [{"name": "x"}] * 3 == [one["clientConfig"]["service"] for one in entries]
    ((target, body),) = [(to, what) for how, to, what in server.writes if how == "PATCH"]
    assert target.endswith("?fieldManager=podrail-certs&force=true")
    assert [{"name", "clientConfig"}] * 2 == [set(one) for one in body["webhooks"]]
    assert [{"caBundle"}] * 2 == [set(one["clientConfig"]) for one in body["webhooks"]]


@pytest.mark.parametrize("bundle", [b"", b"garbage", issued.bundle(issued.ca())])
def test_a_bundle_that_is_reset_is_back_at_the_next_look(
    server: CertificatesApi, bundle: bytes
) -> None:
    """Empty as Helm would have it, broken, or a stranger's."""
    held = Held(server)
    held.look()
    good = server.bundles()
    server.write("PATCH", REGISTRATION, {"webhooks": [
        {"name": OURS[0], "clientConfig": {"caBundle": base64.b64encode(bundle).decode()}},
    ]})  # fmt: skip
    assert good != server.bundles()
    held.look()
    assert good == server.bundles()
    assert 2 == held.count("bundle_writes_total")


def test_one_writes_and_another_takes_over(server: CertificatesApi) -> None:
    """By the Lease; the second writes nothing of its own before or after."""
    first, second = Held(server, "a"), Held(server, "b")
    first.look()
    second.look()
    assert (True, False) == (first.lease.held, second.lease.held)
    made = signer(server)
    assert () == second.keeper.problems()
    for _ in range(4):
        second.look(after=6)
    assert second.lease.held
    assert made == signer(server)
    assert 0 == second.count("rotations_total", certificate="leaf")


def test_a_conflict_is_no_error(server: CertificatesApi) -> None:
    """Who was not the fastest looks again and finds nothing to do."""
    held = Held(server)
    write = server.write

    def interfere(
        method: str, target: str, body: dict[str, object]
    ) -> tuple[int, dict[str, object]]:
        if method == "POST" and target == SECRETS and "podrail-tls" in str(body):
            server.write = write  # type: ignore[method-assign]  # once only
            other = Held(server, "a")
            other.look()
        return write(method, target, body)

    server.write = interfere  # type: ignore[method-assign]  # a rival within one request
    held.look()
    served = Served.read(server.secret("podrail-tls"))
    ca = Authorities.read(server.secret("podrail-ca")).signer
    assert served.leaf is not None
    assert ca is not None
    assert chain.issued(served.leaf, ca.certificate)
    assert (0, 0) == (held.count("errors_total"), held.count("faults_total"))


def test_an_api_server_that_is_away_changes_nothing(server: CertificatesApi) -> None:
    """It is counted, said when it lasts, and over when it is back."""
    held = Held(server)
    held.look()
    server.refusing = 500
    held.keeper.guarded()
    assert 1 == held.count("errors_total")
    server.refusing = 0
    held.look(after=8)
    held.seconds += 61
    held.lease._until = held.seconds + 1
    assert ("the Secrets and the registration could not be looked at",) == held.keeper.problems()
    held.look()
    assert () == held.keeper.problems()


def test_what_is_no_answer_is_a_fault_and_not_the_end(server: CertificatesApi) -> None:
    """JSON, but no review."""
    held = Held(server)
    held.look()
    write = server.write
    server.write = lambda *_: (201, {})  # type: ignore[method-assign]  # an odd server
    held.keeper.guarded()
    server.write = write  # type: ignore[method-assign]  # as it was
    assert 1 == held.count("faults_total")


@pytest.mark.parametrize("name", ["podrail-ca", "podrail-tls"])
def test_a_secret_that_is_deleted_is_made_again(server: CertificatesApi, name: str) -> None:
    """The replicas' at once; a CA becomes trusted for as long as it settles before it signs."""
    held = Held(server)
    held.look()
    before = served_trust(server)
    server.remove(f"{SECRETS}/{name}")
    held.look()
    assert (2 if name == "podrail-ca" else 1) == trusted(server)
    for _ in range(8):
        held.look(after=4)
    served = Served.read(server.secret("podrail-tls"))
    assert served.leaf is not None
    assert 1 == trusted(server)
    assert (name == "podrail-ca") == (before != signer(server))
    assert chain.leads(served.leaf, (), chain.parse(signer(server)))
    assert () == held.keeper.problems()


def test_garbage_in_both_secrets_is_mended(server: CertificatesApi) -> None:
    """And said while it is there."""
    server.fill("podrail-ca", {"ca.crt": b"x", "ca.key": b"y"})
    server.fill("podrail-tls", {"tls.crt": b"x", "tls.key": b"y", "ca.crt": b"-----BEGIN"})
    held = Held(server)
    held.look()
    held.look()
    assert 0 == held.count("problems")
    assert () == held.keeper.problems()
    assert 1 == trusted(server)


@pytest.mark.parametrize("jump", [timedelta(days=-4000), timedelta(days=4000)])
def test_this_machines_clock_may_be_wrong(server: CertificatesApi, jump: timedelta) -> None:
    """The API server verifies, so its time counts; that ours is another is said."""
    held = Held(server)
    held.jump = jump
    held.look()
    served = Served.read(server.secret("podrail-tls"))
    assert served.leaf is not None
    assert chain.current(served.leaf, datetime.fromtimestamp(time.time(), UTC))
    assert () == held.keeper.problems()
    assert jump.total_seconds() == pytest.approx(held.count("clock_skew_seconds") or 0, abs=20)
    assert 1 == held.count("problems")


def test_time_that_jumps_makes_what_has_ended_anew(server: CertificatesApi) -> None:
    """After a suspension of 400 days both are new at the next look, though no clock has run."""
    held = Held(server)
    held.look()
    before = signer(server)
    server.ahead = timedelta(days=400)
    held.look(after=0)
    served = Served.read(server.secret("podrail-tls"))
    assert served.leaf is not None
    assert before != signer(server)
    assert served.leaf.not_valid_after_utc > held.now() + timedelta(days=400)


@pytest.mark.parametrize("method", ["cert-manager", "provided"])
def test_a_given_secret_is_trusted_and_never_written(server: CertificatesApi, method: str) -> None:
    """Only the caBundle is ours."""
    ca = authority.authority(datetime.fromtimestamp(time.time(), UTC), timedelta(days=3))
    leaf = authority.leaf(ca, ("*.podrail-system.svc", f"{issued.HOST}.cluster.local"),
                          datetime.fromtimestamp(time.time(), UTC), timedelta(days=3))  # fmt: skip
    data = {"tls.crt": leaf.certificate_pem, "tls.key": leaf.key_pem, "ca.crt": ca.certificate_pem}
    held = Held(server, METHOD=method)
    held.look()
    assert ("there is no valid certificate to serve",) == held.keeper.problems()
    server.fill("podrail-tls", data)
    held.look()
    assert {ca.certificate_pem} == {server.bundles()[one] for one in OURS}
    assert data == server.secret("podrail-tls")
    assert {} == server.secret("podrail-ca")
    assert () == held.keeper.problems()
    assert 0 == held.count("problems")


def test_without_a_registration_it_waits_for_one(server: CertificatesApi) -> None:
    """The Secrets are made; the entries are filled as soon as they are there."""
    server.remove(REGISTRATION)
    held = Held(server)
    held.look()
    assert () == held.keeper.problems()
    server.register(*OURS)
    held.look()
    assert 1 == trusted(server)


def serve(folder: Path, certificate: bytes, key: bytes) -> tuple[socket.socket, threading.Thread]:
    """A replica that serves a pair."""
    folder.mkdir()
    (folder / store.CERTIFICATE).write_bytes(certificate)
    (folder / store.KEY).write_bytes(key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / store.CERTIFICATE, folder / store.KEY)
    listener = socket.create_server(("127.0.0.1", 0))

    def answer() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            try:
                context.wrap_socket(connection, server_side=True).close()
            except OSError:
                connection.close()

    thread = threading.Thread(target=answer)
    thread.start()
    return listener, thread


@pytest.fixture
def replica(server: CertificatesApi, tmp_path: Path) -> Iterator[authority.Pair]:
    """One that serves a leaf of a CA nobody knows any more."""
    other = authority.authority(datetime.fromtimestamp(time.time(), UTC), timedelta(days=3))
    leaf = authority.leaf(other, (issued.HOST,), datetime.fromtimestamp(time.time(), UTC), timedelta(days=3))  # fmt: skip
    listener, thread = serve(tmp_path / "old", leaf.certificate_pem, leaf.key_pem)
    server.endpoint("a", "127.0.0.1", listener.getsockname()[1])
    yield other
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join()


def test_a_replica_that_serves_what_nobody_trusts_is_told(
    server: CertificatesApi, replica: authority.Pair
) -> None:
    """By what it serves and not by what was written; whoever it is of is trusted while it does."""
    del replica
    held = Held(server)
    held.look()
    held.look(after=12)
    expected = ("a replica serves a certificate that is not trusted by each caBundle",)
    assert expected == held.keeper.problems()
    assert 1 == held.count("replicas", serves="untrusted")


def test_a_ca_stays_trusted_while_a_replica_serves_its_leaf(
    server: CertificatesApi, replica: authority.Pair
) -> None:
    """Though its Secret is gone for long."""
    server.write("PATCH", REGISTRATION, {"webhooks": [
        {"name": one, "clientConfig": {"caBundle": base64.b64encode(replica.certificate_pem).decode()}}
        for one in OURS
    ]})  # fmt: skip
    held = Held(server)
    for _ in range(8):
        held.look(after=4)
    assert 2 == trusted(server)
    assert 1 == held.count("replicas", serves="trusted")
    server.endpoint("a", "127.0.0.1")
    for _ in range(4):
        held.look(after=4)
    assert 1 == trusted(server)


def test_the_thread_looks_as_soon_as_the_lease_is_held(server: CertificatesApi) -> None:
    """And ends when it is told to."""
    held = Held(server)
    held.keeper.start()
    time.sleep(0.3)
    assert LEASE not in server.objects
    held.lease._guarded(held.lease._round)
    end = time.monotonic() + 20
    while not server.secret("podrail-tls") and time.monotonic() < end:
        time.sleep(0.05)
    held.keeper.stop()
    assert server.secret("podrail-tls")

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
import served
from cryptography import x509
from cryptography.hazmat.primitives import serialization

from podrail_io import tls
from podrail_io.tls import Certificates, Clients

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from served import Authority, Pair


@dataclass(slots=True)
class Clock:
    """A clock that stands until it is told to go."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now

    def look(self) -> None:
        """Go on to the next look at the files."""
        self.now += tls.LOOK_SECONDS


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return served.authority(tmp_path)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def pair(authority: Authority) -> Pair:
    return authority.leaf("tls")


@pytest.fixture
def certificates(pair: Pair, clock: Clock) -> Certificates:
    return Certificates(pair.certfile, pair.keyfile, clock)


def _shake(context: ssl.SSLContext, authority: Authority, *alpn: str) -> ssl.SSLObject:
    """The client's side of a finished handshake in memory."""
    up, down = ssl.MemoryBIO(), ssl.MemoryBIO()
    trust = ssl.create_default_context(cafile=authority.file)
    if alpn:
        trust.set_alpn_protocols(alpn)
    client = trust.wrap_bio(down, up, server_hostname="localhost")
    server = context.wrap_bio(up, down, server_side=True)
    for _ in range(3):
        for side in (client, server):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
    return client


def _serial(context: ssl.SSLContext, authority: Authority) -> int:
    leaf = _shake(context, authority).getpeercert(binary_form=True)
    assert leaf
    return x509.load_der_x509_certificate(leaf).serial_number


def _leaf(pair: Pair) -> x509.Certificate:
    return x509.load_pem_x509_certificate(pair.certfile.read_bytes())


def test_a_new_pair_is_served_after_the_next_look(
    certificates: Certificates, authority: Authority, pair: Pair, clock: Clock
) -> None:
    """Files that changed are served to handshakes from the next look on, without a restart."""
    new = authority.leaf("new", days=2)
    pair.take(new)
    clock.look()
    assert _leaf(new).serial_number == _serial(certificates.context(), authority)
    assert _leaf(new).not_valid_after_utc.timestamp() == certificates.not_after
    assert certificates.reload_errors == 0


def test_one_context_is_kept(
    certificates: Certificates, authority: Authority, pair: Pair, clock: Clock
) -> None:
    """Until the next look, and for as long as the files stay, a connection costs no new context."""
    first = certificates.context()
    pair.take(authority.leaf("new"))
    assert first is certificates.context()
    clock.look()
    changed = certificates.context()
    clock.look()
    assert changed is certificates.context()
    assert changed is not first


def _mismatch(pair: Pair, authority: Authority) -> None:
    pair.certfile.write_bytes(authority.leaf("other").certfile.read_bytes())


def _truncate(pair: Pair, _: Authority) -> None:
    pair.certfile.write_bytes(pair.certfile.read_bytes()[:100])


def _empty(pair: Pair, _: Authority) -> None:
    pair.keyfile.write_bytes(b"")


def _remove(pair: Pair, _: Authority) -> None:
    pair.keyfile.unlink()


def _encrypt(pair: Pair, _: Authority) -> None:
    key = serialization.load_pem_private_key(pair.keyfile.read_bytes(), None)
    pair.keyfile.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"secret"),
        )
    )


@pytest.mark.parametrize("spoil", [_mismatch, _truncate, _empty, _remove, _encrypt])
def test_a_bad_pair_never_replaces_the_last_good_one(
    certificates: Certificates,
    authority: Authority,
    pair: Pair,
    clock: Clock,
    spoil: Callable[[Pair, Authority], None],
) -> None:
    """A pair that cannot be loaded is counted once and the old one goes on shaking hands."""
    before = _leaf(pair).serial_number, certificates.not_after
    spoil(pair, authority)
    for _ in range(3):
        clock.look()
        assert before[0] == _serial(certificates.context(), authority)
    assert (1, before[1]) == (certificates.reload_errors, certificates.not_after)


def test_a_good_pair_after_a_bad_one_is_served(
    certificates: Certificates, authority: Authority, pair: Pair, clock: Clock
) -> None:
    """A failed reload ends nothing: the next good pair takes over."""
    _mismatch(pair, authority)
    clock.look()
    certificates.context()
    new = authority.leaf("new")
    pair.take(new)
    clock.look()
    assert _leaf(new).serial_number == _serial(certificates.context(), authority)


def test_a_kept_context_serves_the_newest_pair(
    certificates: Certificates, authority: Authority, pair: Pair, clock: Clock
) -> None:
    """A server that never asks for the context again still serves the new certificate."""
    kept = certificates.context()
    new = authority.leaf("new")
    pair.take(new)
    clock.look()
    assert _leaf(new).serial_number == _serial(kept, authority)


def test_http_1_and_tls_1_2_are_the_least_and_the_most(
    certificates: Certificates, authority: Authority
) -> None:
    """A client that would rather speak HTTP/2 gets HTTP/1.1; nothing older than TLS 1.2 is spoken."""
    context = certificates.context()
    assert _shake(context, authority, "h2", "http/1.1").selected_alpn_protocol() == "http/1.1"
    assert context.minimum_version == ssl.TLSVersion.TLSv1_2


@pytest.mark.parametrize("spoil", [_mismatch, _remove, _encrypt])
def test_a_start_without_a_good_pair_waits_for_one(
    authority: Authority, pair: Pair, clock: Clock, spoil: Callable[[Pair, Authority], None]
) -> None:
    """Nobody is served, it is counted, the certificate has ended for whoever asks; then it serves."""
    spoil(pair, authority)
    certificates = Certificates(pair.certfile, pair.keyfile, clock)
    with pytest.raises(ssl.SSLError):
        _shake(certificates.context(), authority)
    assert (1, 0.0) == (certificates.reload_errors, certificates.not_after)
    new = authority.leaf("new")
    pair.take(new)
    clock.look()
    assert _leaf(new).serial_number == _serial(certificates.context(), authority)


@dataclass(slots=True)
class Wall:
    """The time by which certificates are judged."""

    now: float

    def __call__(self) -> float:
        return self.now


def test_a_pair_out_of_its_time_never_replaces_a_good_one(
    authority: Authority, pair: Pair, clock: Clock
) -> None:
    """It is counted, and served as soon as it is no worse than the one at hand."""
    wall = Wall(time.time())
    pair.take(authority.leaf("good", days=2))
    certificates = Certificates(pair.certfile, pair.keyfile, clock, now=wall)
    good = _leaf(pair).serial_number
    wall.now += 86_400
    pair.take(authority.leaf("short", days=0.5))
    clock.look()
    assert good == _serial(certificates.context(), authority)
    assert 1 == certificates.reload_errors
    wall.now += 2 * 86_400
    clock.look()
    assert _leaf(pair).serial_number == _serial(certificates.context(), authority)


def test_the_end_of_the_served_pair_is_logged_once(
    authority: Authority, pair: Pair, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    """Until another is served; its clients fail at their handshakes, and say nothing here."""
    wall = Wall(time.time())
    certificates = Certificates(pair.certfile, pair.keyfile, clock, now=wall)
    ends = []
    for days in (0, 2, 2):
        wall.now = time.time() + days * 86_400
        clock.look()
        certificates.context()
        ends.append(caplog.messages.count("certificate expired"))
    pair.take(authority.leaf("longer", days=4))
    clock.look()
    assert _leaf(pair).serial_number == _serial(certificates.context(), authority)
    assert [0, 1, 1] == ends
    assert 1 == caplog.messages.count("certificate expired")


def _client(of: Authority, name: str, days: float = 1) -> tuple[Path, Path]:
    """A client's certificate; the throw-away ones are for localhost, under any file name."""
    pair = of.leaf(name, days)
    return pair.certfile, pair.keyfile


def _ask(
    certificates: Certificates, authority: Authority, client: tuple[Path, Path] | None
) -> bytes:
    """What a client reads that says nothing; the server greets whom it knows."""
    ours, theirs = socket.socketpair()
    trust = ssl.create_default_context(cafile=authority.file)
    if client:
        trust.load_cert_chain(*client)

    def serve() -> None:
        with contextlib.suppress(OSError), theirs:
            connection = certificates.context().wrap_socket(theirs, server_side=True)
            with connection:
                connection.sendall(b"hello")

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        with ours, trust.wrap_socket(ours, server_hostname="localhost") as connection:
            return connection.recv(5)
    except OSError:
        return b""
    finally:
        thread.join(10)


@pytest.fixture
def others(tmp_path: Path) -> Authority:
    """A CA of clients."""
    return served.authority(tmp_path / "clients")


def test_a_known_client_is_answered(
    authority: Authority, pair: Pair, clock: Clock, others: Authority
) -> None:
    """By a CA of its own and by name."""
    clients = Clients(others.file, frozenset({"localhost", "a"}))
    certificates = Certificates(pair.certfile, pair.keyfile, clock, clients)
    assert b"hello" == _ask(certificates, authority, _client(others, "client"))


@pytest.mark.parametrize(
    ("name", "whose"),
    [
        pytest.param("kube-scheduler", "others", id="another name"),
        pytest.param("localhost", "authority", id="the server's own CA"),
        pytest.param("localhost", None, id="no certificate"),
    ],
)
def test_another_client_reads_nothing(
    request: pytest.FixtureRequest, authority: Authority, pair: Pair, name: str, whose: str | None
) -> None:
    """Not even that it was refused by the application."""
    clients = Clients(request.getfixturevalue("others").file, frozenset({name}))
    certificates = Certificates(pair.certfile, pair.keyfile, time.monotonic, clients)
    client = _client(request.getfixturevalue(whose), "client") if whose else None
    assert b"" == _ask(certificates, authority, client)


def test_another_ca_of_the_clients_is_taken_over(
    authority: Authority, pair: Pair, clock: Clock, tmp_path: Path
) -> None:
    """At the next look; garbage in its place leaves the one before."""
    first, second = served.authority(tmp_path / "a"), served.authority(tmp_path / "b")
    client = _client(second, "client")
    clients = Clients(first.file, frozenset({"localhost"}))
    certificates = Certificates(pair.certfile, pair.keyfile, clock, clients)
    assert b"" == _ask(certificates, authority, client)
    first.file.write_bytes(second.file.read_bytes())
    clock.look()
    assert b"hello" == _ask(certificates, authority, client)
    first.file.write_bytes(b"garbage")
    clock.look()
    assert b"hello" == _ask(certificates, authority, client)
    assert 1 == certificates.reload_errors


def test_the_leaf_of_a_server_is_told(authority: Authority, tmp_path: Path) -> None:
    """Whoever signed it."""
    with served.served(tmp_path / "server", trust=authority) as server:
        found = tls.leaf_of(("127.0.0.1", server.port), "any.svc", 5)
        assert server.pair
        assert found == _leaf(server.pair)


def test_a_server_that_is_silent_has_no_leaf() -> None:
    """Within the time it is given."""
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(TimeoutError):
        tls.leaf_of(silent.getsockname(), "any.svc", 0.2)

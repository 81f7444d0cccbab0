"""A CA and its leaves, proved by a TLS library that did not make them."""

import socket
import ssl
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

from certs import authority, store

NOW = datetime.fromtimestamp(int(time.time()), UTC)
DAY = timedelta(days=1)
SERVICE = "podrail-webhook.podrail-system.svc"


def handshake(folder: Path, name: str) -> tuple[str, ...]:
    """The hosts of the certificate that a strict client saw and accepted for this name."""
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(folder / store.CERTIFICATE, folder / store.KEY)
    client = ssl.create_default_context(cafile=folder / store.CA_CERTIFICATE)
    # What Python 3.13 asks by default: RFC 5280 to the letter.
    client.verify_flags |= ssl.VERIFY_X509_STRICT
    ours, theirs = socket.socketpair()

    def serve() -> None:
        try:
            with server.wrap_socket(theirs, server_side=True) as connection:
                connection.recv(1)
        except ssl.SSLError:
            theirs.close()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        with ours, client.wrap_socket(ours, server_hostname=name) as connection:
            found: Any = connection.getpeercert()
            return tuple(value for _, value in found["subjectAltName"])
    finally:
        thread.join(10)


@pytest.mark.parametrize("name", [SERVICE, "127.0.0.1", "::1"])
def test_a_strict_client_accepts_the_chain(name: str, tmp_path: Path) -> None:
    """A client that trusts the CA accepts the leaf for each name and address it was made for."""
    store.create(tmp_path, (SERVICE, "127.0.0.1", "::1"), NOW, DAY)
    assert handshake(tmp_path, name) == (SERVICE, "127.0.0.1", "0:0:0:0:0:0:0:1")


@pytest.mark.parametrize("name", ["podrail-webhook.other.svc", "127.0.0.2"])
def test_a_client_refuses_another_name(name: str, tmp_path: Path) -> None:
    """A name that the leaf was not made for is refused."""
    store.create(tmp_path, (SERVICE, "127.0.0.1"), NOW, DAY)
    with pytest.raises(ssl.SSLCertVerificationError, match=r"mismatch|not valid for"):
        handshake(tmp_path, name)


def test_a_client_refuses_another_ca(tmp_path: Path) -> None:
    """A leaf of one CA does not verify against another CA of the same name."""
    store.create(tmp_path, (SERVICE,), NOW, DAY)
    (tmp_path / store.CA_CERTIFICATE).write_bytes(authority.authority(NOW, DAY).certificate_pem)
    with pytest.raises(ssl.SSLCertVerificationError, match="verify failed"):
        handshake(tmp_path, SERVICE)


def test_lives() -> None:
    """Both are valid from a little before now, the leaf for its life, the CA for ten of them."""
    ca = authority.authority(NOW, DAY)
    leaf = authority.leaf(ca, ["a"], NOW, DAY).certificate
    starts = {ca.certificate.not_valid_before_utc, leaf.not_valid_before_utc}
    assert starts == {NOW - timedelta(minutes=5)}
    assert leaf.not_valid_after_utc == NOW + DAY
    assert ca.certificate.not_valid_after_utc == NOW + 10 * DAY


def test_keys_and_serials_are_never_the_same() -> None:
    """Every certificate has a P-256 key and a random serial number of its own."""
    ca = authority.authority(NOW, DAY)
    pairs = [ca, *(authority.leaf(ca, ["a"], NOW, DAY) for _ in range(3))]
    assert len({pair.certificate.serial_number for pair in pairs}) == 4
    assert len({pair.key_pem for pair in pairs}) == 4
    assert all(isinstance(pair.key.curve, ec.SECP256R1) for pair in pairs)
    assert min(pair.certificate.serial_number for pair in pairs) > 2**64


def test_what_each_may_be_used_for() -> None:
    """The CA signs and has no CA below it; the leaf serves and signs nothing."""
    ca = authority.authority(NOW, DAY)
    leaf = authority.leaf(ca, ["a"], NOW, DAY)
    found = [
        pair.certificate.extensions.get_extension_for_class(x509.BasicConstraints).value
        for pair in (ca, leaf)
    ]
    assert [(True, 0), (False, None)] == [(one.ca, one.path_length) for one in found]
    usage = leaf.certificate.extensions.get_extension_for_class(x509.KeyUsage).value
    assert usage.digital_signature
    assert not usage.key_cert_sign


@pytest.mark.parametrize("hosts", [[], [""], ["a b"], ["ä.svc"], ["a..b"], ["-a"], ["x" * 64]])
def test_hosts_that_are_none(hosts: list[str]) -> None:
    """Without a host, or with one that is neither name nor address, there is no leaf."""
    with pytest.raises(ValueError, match="DNS name or"):
        authority.leaf(authority.authority(NOW, DAY), hosts, NOW, DAY)


@pytest.mark.parametrize("purpose", list(authority.Purpose))
def test_a_leaf_is_for_its_purpose(purpose: authority.Purpose) -> None:
    """And for no other."""
    leaf = authority.leaf(authority.authority(NOW, DAY), ["a"], NOW, DAY, purpose).certificate
    assert [purpose] == [one for one in authority.Purpose if authority.serves(leaf, one)]


def test_an_address_is_told_as_certificates_tell_it() -> None:
    """Whatever way it was written."""
    leaf = authority.leaf(authority.authority(NOW, DAY), ["a.b", "0::0:1"], NOW, DAY)
    assert ("a.b", "::1") == authority.hosts(leaf.certificate)
    assert ("a.b", "::1") == tuple(map(authority.host, ("a.b", "0::0:1")))


def test_a_certificate_is_due_after_two_thirds_of_its_life() -> None:
    """Counted from when it was made, not from when it is valid."""
    leaf = authority.leaf(authority.authority(NOW, DAY), ["a"], NOW, DAY).certificate
    second = timedelta(seconds=1)
    assert not authority.due(leaf, NOW + DAY * 2 / 3 - second)
    assert authority.due(leaf, NOW + DAY * 2 / 3)

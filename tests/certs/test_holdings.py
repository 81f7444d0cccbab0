"""What the Secrets hold, and that a broken part is none."""

from __future__ import annotations

import issued
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from certs import holdings
from certs.authority import Pair
from certs.holdings import Authorities, Served

CA, NEXT = issued.ca(), issued.ca()
LEAF = issued.leaf(CA)


def encrypted(pair: Pair) -> bytes:
    secret = serialization.BestAvailableEncryption(b"x")
    return pair.key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, secret
    )


RSA = rsa.generate_private_key(65537, 2048)


def odd(key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey) -> dict[str, bytes]:
    """A certificate that does not say what it is for, signed by itself."""
    name = CA.certificate.subject
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name)
    dated = builder.not_valid_before(issued.NOW).not_valid_after(issued.NOW + issued.LIFE)
    certificate = dated.serial_number(7).public_key(key.public_key()).sign(key, hashes.SHA256())
    text = certificate.public_bytes(serialization.Encoding.PEM)
    return {"ca.crt": text, "ca.key": plain(key)}


def plain(key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey) -> bytes:
    plain = serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)


@pytest.mark.parametrize("coming", [None, NEXT], ids=["one", "two"])
def test_what_is_written_is_read(coming: Pair | None) -> None:
    """Certificates and keys."""
    data = Authorities(CA, coming).data()
    found = Authorities.read(data)
    assert data == found.data()
    assert (2 if coming is None else 4, ()) == (len(data), found.problems)


def test_an_empty_secret_has_no_problem() -> None:
    """Nothing is there, so nothing is broken."""
    assert Authorities() == Authorities.read({})
    assert Served() == Served.read({"tls.crt": b"", "tls.key": b""})


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        pytest.param({"ca.crt": CA.certificate_pem}, "ca.crt: ", id="no key"),
        pytest.param({"ca.key": CA.key_pem}, "ca.crt: ", id="no certificate"),
        pytest.param(
            {"ca.crt": CA.certificate_pem, "ca.key": NEXT.key_pem},
            "not the certificate's",
            id="key",
        ),
        pytest.param(
            {"ca.crt": CA.certificate_pem, "ca.key": encrypted(CA)}, "cannot be read", id="secret"
        ),
        pytest.param(
            {"ca.crt": LEAF.certificate_pem, "ca.key": LEAF.key_pem}, "it is no CA", id="leaf"
        ),
        pytest.param(odd(CA.key), "it is no CA", id="says nothing"),
        pytest.param(odd(RSA), "expected an elliptic curve key", id="rsa"),
        pytest.param({"next.crt": b"x", "next.key": b"y"}, "next.crt: ", id="next"),
    ],
)
def test_a_broken_ca_is_none(data: dict[str, bytes], problem: str) -> None:
    """And what is wrong is said."""
    found = Authorities.read(data)
    assert (None, None) == (found.signer, found.coming)
    assert [True] == [problem in one for one in found.problems]


def test_a_leaf_is_read_with_what_lies_between() -> None:
    """The first certificate is the leaf."""
    data = {**holdings.served(LEAF, [CA.certificate]), "tls.crt": LEAF.certificate_pem + NEXT.certificate_pem}  # fmt: skip
    expected = Served(LEAF.certificate, (NEXT.certificate,), (CA.certificate,))
    assert expected == Served.read(data)


@pytest.mark.parametrize("key", [b"", CA.key_pem, plain(RSA)], ids=["none", "another", "rsa"])
def test_a_leaf_without_its_key_is_none(key: bytes) -> None:
    """Whatever kind of key it is; who is trusted is read all the same."""
    found = Served.read({**holdings.served(LEAF, [CA.certificate]), "tls.key": key})
    assert (None, (CA.certificate,)) == (found.leaf, found.trusted)
    assert found.problems[0].startswith("tls.crt: ")

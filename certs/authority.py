"""A certificate authority and the leaves it signs: ECDSA P-256, random serials, times as given.

P-256 costs a server half of what RSA-2048 does in a handshake. The CA lives ten times as long as
its leaves, so that renewing a leaf never means renewing the CA (Primus-SaFE #628).
"""

import ipaddress
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import Final

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

SKEW: Final = timedelta(minutes=5)
"""Certificates are valid from a little earlier on: clocks of API servers differ."""
CA_LEAVES: Final = 10
RENEWAL: Final = 2 / 3
"""The part of its life after which a certificate is replaced, as cert-manager has it."""
_DNS_LABEL: Final = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
_DNS_NAME: Final = re.compile(rf"(\*\.)?({_DNS_LABEL}\.)*{_DNS_LABEL}")
MOST_DNS_NAME: Final = 253
"""Characters, RFC 1035 section 2.3.4."""


class Purpose(Enum):
    """What a leaf is for: to serve, or to ask a server that knows its clients."""

    SERVER = ExtendedKeyUsageOID.SERVER_AUTH
    CLIENT = ExtendedKeyUsageOID.CLIENT_AUTH


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its private key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @classmethod
    def read(cls, certificate: bytes, key: bytes) -> "Pair":
        """The pair in two PEM texts.

        Raises:
            ValueError: not PEM, encrypted, of another kind than ours, or not of each other.
        """
        found = x509.load_pem_x509_certificate(certificate)
        private = key_of(found, key)
        if not isinstance(private, ec.EllipticCurvePrivateKey):
            raise ValueError("expected an elliptic curve key")  # noqa: TRY004 - it was read, not passed
        return cls(found, private)

    @property
    def certificate_pem(self) -> bytes:
        """The certificate as PEM."""
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    @property
    def key_pem(self) -> bytes:
        """The private key as PEM (PKCS #8), not encrypted."""
        return self.key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )


def authority(now: datetime, leaf_life: timedelta) -> Pair:
    """A new CA that outlives ten leaves."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = _name("podrail CA")
    builder = (
        _builder(name, name, key, now, leaf_life * CA_LEAVES)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs=True), critical=True)
    )
    return Pair(builder.sign(key, hashes.SHA256()), key)


def leaf(
    ca: Pair,
    hosts: Sequence[str],
    now: datetime,
    life: timedelta,
    purpose: Purpose = Purpose.SERVER,
) -> Pair:
    """A certificate for DNS names and IP addresses; it ends with its CA at the latest.

    Raises:
        ValueError: no host, or one that is neither.
    """
    if not hosts:
        raise ValueError("expected at least one DNS name or IP address")
    key = ec.generate_private_key(ec.SECP256R1())
    alternative = x509.SubjectAlternativeName([_general_name(host) for host in hosts])
    issuer_key = x509.AuthorityKeyIdentifier.from_issuer_public_key(ca.key.public_key())
    life = min(life, ca.certificate.not_valid_after_utc - now)
    builder = (
        _builder(_name("podrail"), ca.certificate.subject, key, now, life)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs=False), critical=True)
        .add_extension(alternative, critical=False)
        .add_extension(x509.ExtendedKeyUsage([purpose.value]), critical=False)
        .add_extension(issuer_key, critical=False)
    )
    return Pair(builder.sign(ca.key, hashes.SHA256()), key)


def key_of(certificate: x509.Certificate, key: bytes) -> PrivateKeyTypes:
    """The private key of a certificate, out of a PEM text.

    Raises:
        ValueError: not PEM, encrypted, or another certificate's.
    """
    try:
        found = serialization.load_pem_private_key(key, password=None)
    except (TypeError, UnsupportedAlgorithm) as error:
        raise ValueError(f"the key cannot be read: {error}") from error
    if found.public_key() != certificate.public_key():
        raise ValueError("the key is not the certificate's")
    return found


def hosts(certificate: x509.Certificate) -> tuple[str, ...]:
    """The DNS names and IP addresses of a certificate."""
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return tuple(str(name.value) for name in names)


def host(text: str) -> str:
    """A DNS name or an IP address as a certificate tells it.

    Raises:
        ValueError: it is neither.
    """
    return str(_general_name(text).value)


def serves(certificate: x509.Certificate, purpose: Purpose) -> bool:
    """Whether a certificate is for a purpose."""
    usage = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    return purpose.value in usage


def signs(certificate: x509.Certificate) -> bool:
    """Whether it is a CA's."""
    try:
        return certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except x509.ExtensionNotFound:
        return False


def due(certificate: x509.Certificate, now: datetime) -> bool:
    """Whether one that was made here is to be replaced."""
    made = certificate.not_valid_before_utc + SKEW
    return now >= made + RENEWAL * (certificate.not_valid_after_utc - made)


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True, key_cert_sign=signs, crl_sign=signs, content_commitment=False,
        key_encipherment=False, data_encipherment=False, key_agreement=False,
        encipher_only=False, decipher_only=False,
    )  # fmt: skip


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    now: datetime,
    life: timedelta,
) -> x509.CertificateBuilder:
    own_key = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - SKEW)
        .not_valid_after(now + life)
        .add_extension(own_key, critical=False)
    )


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        if len(host) <= MOST_DNS_NAME and _DNS_NAME.fullmatch(host):
            return x509.DNSName(host)
        raise ValueError(f"expected a DNS name or an IP address, got {host!r}") from None

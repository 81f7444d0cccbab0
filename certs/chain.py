"""Certificates as sets: PEM texts of many, who issued whom, and whether a leaf leads to a root.

As Go's crypto/x509 does it (1.26): any certificate of the pool is a root, whatever it is itself.
Validity in time is asked apart, of each certificate.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization


def parse(text: bytes) -> tuple[x509.Certificate, ...]:
    """The certificates in a PEM text, of which there may be none.

    Raises:
        ValueError: it holds something else.
    """
    return tuple(x509.load_pem_x509_certificates(text)) if text.strip() else ()


def text(certificates: Iterable[x509.Certificate]) -> bytes:
    """The certificates as PEM, always in the same order: the youngest first."""
    ordered = sorted(
        set(certificates), key=lambda one: (one.not_valid_before_utc, one.serial_number)
    )
    return b"".join(one.public_bytes(serialization.Encoding.PEM) for one in reversed(ordered))


def current(certificate: x509.Certificate, now: datetime) -> bool:
    """Whether it is valid now."""
    return certificate.not_valid_before_utc <= now < certificate.not_valid_after_utc


def issued(certificate: x509.Certificate, issuer: x509.Certificate) -> bool:
    """Whether the one is directly signed by the other."""
    try:
        certificate.verify_directly_issued_by(issuer)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def leads(
    leaf: x509.Certificate,
    between: Sequence[x509.Certificate],
    roots: Iterable[x509.Certificate],
) -> bool:
    """Whether a leaf is one of the roots, or signed by one, or so over those in between."""
    trusted = tuple(roots)
    if leaf in trusted or any(issued(leaf, root) for root in trusted):
        return True
    # Each is used once at most, so a circle of signatures ends.
    return any(
        leads(one, [*between[:number], *between[number + 1 :]], trusted)
        for number, one in enumerate(between)
        if issued(leaf, one)
    )

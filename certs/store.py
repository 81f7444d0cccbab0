"""Certificates in a folder: ca.crt, tls.crt and tls.key for who serves, ca.key for who signs.

Each file is written aside and renamed, so a reader never sees half of one.
"""

import os
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization

from certs import authority
from certs.authority import Pair, Purpose

CA_CERTIFICATE: Final = "ca.crt"
CA_KEY: Final = "ca.key"
CERTIFICATE: Final = "tls.crt"
KEY: Final = "tls.key"
TIME: Final = "%Y-%m-%d %H:%MZ"
"""How a time, in UTC, is shown."""
_SECRET: Final = 0o600
_PUBLIC: Final = 0o644


def create(
    folder: Path,
    hosts: tuple[str, ...],
    now: datetime,
    life: timedelta,
    purpose: Purpose = Purpose.SERVER,
) -> Pair:
    """A new CA and a leaf for the hosts, written to the folder; the leaf comes back.

    Raises:
        ValueError: no usable host.
        OSError: the folder cannot be written.
    """
    ca = authority.authority(now, life)
    leaf = authority.leaf(ca, hosts, now, life, purpose)
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / CA_CERTIFICATE, ca.certificate_pem, _PUBLIC)
    _write(folder / CA_KEY, ca.key_pem, _SECRET)
    _write(folder / KEY, leaf.key_pem, _SECRET)
    _write(folder / CERTIFICATE, leaf.certificate_pem, _PUBLIC)
    return leaf


def certificate(folder: Path) -> x509.Certificate:
    """The leaf in the folder.

    Raises:
        OSError, ValueError: there is none that can be read.
    """
    return x509.load_pem_x509_certificate((folder / CERTIFICATE).read_bytes())


def problems(
    folder: Path, hosts: Sequence[str], now: datetime, purpose: Purpose | None = None
) -> tuple[str, ...]:
    """Why the pair in the folder is not good for these hosts and this purpose now."""
    try:
        ca = x509.load_pem_x509_certificate((folder / CA_CERTIFICATE).read_bytes())
        leaf = certificate(folder)
        key = serialization.load_pem_private_key((folder / KEY).read_bytes(), password=None)
        covered = authority.hosts(leaf)
        fits = purpose is None or authority.serves(leaf, purpose)
        leaf.verify_directly_issued_by(ca)
    except InvalidSignature:
        return (f"{CERTIFICATE} is not signed by {CA_CERTIFICATE}",)
    # TypeError: a key that is encrypted or of a kind that signs nothing.
    except (OSError, ValueError, TypeError, x509.ExtensionNotFound) as error:
        return (str(error),)
    found = [
        f"{name} is valid from {one.not_valid_before_utc:{TIME}}"
        f" to {one.not_valid_after_utc:{TIME}}"
        for name, one in ((CA_CERTIFICATE, ca), (CERTIFICATE, leaf))
        if not one.not_valid_before_utc <= now < one.not_valid_after_utc
    ]
    if key.public_key() != leaf.public_key():
        found.append(f"{KEY} is not the key of {CERTIFICATE}")
    if not fits:
        found.append(f"{CERTIFICATE} is for another purpose")
    return (*found, *(f"{CERTIFICATE} is not for {host}" for host in hosts if host not in covered))


def _write(path: Path, content: bytes, mode: int) -> None:
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    aside.unlink(missing_ok=True)
    with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
        file.write(content)
    aside.replace(path)

"""Certificates in a folder: ca.crt, tls.crt and tls.key for who serves, ca.key for who signs.

Each file is written aside and renamed, so a reader never sees half of one.
"""

import os
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from cryptography import x509

from certs import authority

CA_CERTIFICATE: Final = "ca.crt"
CA_KEY: Final = "ca.key"
CERTIFICATE: Final = "tls.crt"
KEY: Final = "tls.key"
_SECRET: Final = 0o600
_PUBLIC: Final = 0o644


def create(folder: Path, hosts: tuple[str, ...], now: datetime, life: timedelta) -> authority.Pair:
    """A new CA and a leaf for the hosts, written to the folder; the leaf comes back.

    Raises:
        ValueError: no usable host.
        OSError: the folder cannot be written.
    """
    ca = authority.authority(now, life)
    leaf = authority.leaf(ca, hosts, now, life)
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / CA_CERTIFICATE, ca.certificate_pem, _PUBLIC)
    _write(folder / CA_KEY, ca.key_pem, _SECRET)
    _write(folder / KEY, leaf.key_pem, _SECRET)
    _write(folder / CERTIFICATE, leaf.certificate_pem, _PUBLIC)
    return leaf


def valid_until(folder: Path) -> datetime:
    """When the leaf in the folder expires.

    Raises:
        OSError, ValueError: there is none that can be read.
    """
    pem = (folder / CERTIFICATE).read_bytes()
    return x509.load_pem_x509_certificate(pem).not_valid_after_utc


def _write(path: Path, content: bytes, mode: int) -> None:
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    aside.unlink(missing_ok=True)
    with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
        file.write(content)
    aside.replace(path)

"""What the two Secrets hold, read from their data and written to it; a broken part is none at all.

podrail-ca has the CA that signs and the one that is to sign next, with their keys; nothing mounts
it. podrail-tls has what the replicas mount: a leaf, its key, and the CAs that are trusted.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from cryptography import x509

from certs import authority, chain
from certs.authority import Pair

T = TypeVar("T")
Data = Mapping[str, bytes]
SIGNER: Final = ("ca.crt", "ca.key")
COMING: Final = ("next.crt", "next.key")
LEAF: Final = ("tls.crt", "tls.key")
TRUSTED: Final = "ca.crt"


@dataclass(frozen=True, slots=True)
class Authorities:
    """The CA that signs, and the one that does so as soon as it is trusted everywhere."""

    signer: Pair | None = None
    coming: Pair | None = None
    problems: tuple[str, ...] = ()

    @classmethod
    def read(cls, data: Data) -> "Authorities":
        """What a Secret's data hold."""
        problems: list[str] = []
        signer = _tried(lambda: _pair(data, SIGNER), SIGNER[0], problems)
        coming = _tried(lambda: _pair(data, COMING), COMING[0], problems)
        return cls(signer, coming, tuple(problems))

    def data(self) -> Data:
        """The same as a Secret's data."""
        pairs = ((SIGNER, self.signer), (COMING, self.coming))
        return {
            name: text
            for names, pair in pairs
            if pair is not None
            for name, text in zip(names, (pair.certificate_pem, pair.key_pem), strict=True)
        }


@dataclass(frozen=True, slots=True)
class Served:
    """What the replicas are given: the certificate of a usable pair, and who is trusted."""

    leaf: x509.Certificate | None = None
    between: tuple[x509.Certificate, ...] = ()
    """Intermediate certificates that are sent along."""
    trusted: tuple[x509.Certificate, ...] = ()
    problems: tuple[str, ...] = ()

    @classmethod
    def read(cls, data: Data) -> "Served":
        """What a Secret's data hold."""
        problems: list[str] = []
        sent = _tried(lambda: _leaf(data), LEAF[0], problems) or ()
        trusted = _tried(lambda: chain.parse(data.get(TRUSTED, b"")), TRUSTED, problems) or ()
        return cls(sent[0] if sent else None, sent[1:], trusted, tuple(problems))


def served(leaf: Pair, trusted: Iterable[x509.Certificate]) -> Data:
    """A leaf and who is trusted as a Secret's data."""
    pair = (leaf.certificate_pem, leaf.key_pem)
    return {**dict(zip(LEAF, pair, strict=True)), TRUSTED: chain.text(trusted)}


def _pair(data: Data, names: tuple[str, str]) -> Pair | None:
    """A CA's pair, which may be absent but not half of it."""
    certificate, key = (data.get(name, b"") for name in names)
    if not certificate and not key:
        return None
    found = Pair.read(certificate, key)
    if not authority.signs(found.certificate):
        raise ValueError("it is no CA")
    return found


def _leaf(data: Data) -> tuple[x509.Certificate, ...]:
    """The certificates of the pair, the leaf first; the key may be of any kind."""
    sent = chain.parse(data.get(LEAF[0], b""))
    if sent:
        authority.key_of(sent[0], data.get(LEAF[1], b""))
    return sent


def _tried(read: Callable[[], T], name: str, problems: list[str]) -> T | None:
    try:
        return read()
    except ValueError as error:
        problems.append(f"{name}: {error}")
        return None

"""The serving certificate: one kept context, made anew and swapped when the files change.

gunicorn would build a context for every connection (0.7 ms); loading a pair into a live context is
not atomic: a mismatched pair leaves it unable to handshake (Python 3.11, OpenSSL 3.0). So a new one
is built aside, and a pair that is broken, or out of its time, never replaces the last good one.
"""

import logging
import socket
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final

from cryptography import x509

_LOG: Final = logging.getLogger(__name__)
LOOK_SECONDS: Final = 1.0
"""How often the files are looked at: a new pair is served within this time."""

_Signature = tuple[tuple[int, int, int], ...]
_NEVER: Final = (0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Clients:
    """Who may speak to a server at all: whom a CA of their own signed, under one of the names.

    A peer without such a certificate is cut off at its handshake and learns nothing.
    """

    authority: Path
    names: frozenset[str]
    """Common names and DNS names, at least one."""


class Certificates:
    """The context for new connections, from files that may be replaced at any time.

    Without a usable pair from the start every handshake fails, until there is one: a Secret that
    is being repaired is no reason to end and to be started again ever more slowly.
    """

    def __init__(
        self,
        certfile: Path,
        keyfile: Path,
        clock: Callable[[], float],
        clients: Clients | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._pair = (certfile, keyfile)
        self._clients = clients
        self._files = self._pair if clients is None else (*self._pair, clients.authority)
        self._clock = clock
        self._now = now
        self._lock = threading.Lock()
        self._signature: _Signature | None = None
        self._refused: _Signature | None = None
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._valid = _NEVER
        self._ended = False
        self._looked = clock()
        self.reload_errors = 0
        self._refresh()

    @property
    def not_after(self) -> float:
        """When the served certificate expires, in seconds since the epoch; 0 if there is none."""
        self.context()
        return self._valid[1]

    @property
    def expired(self) -> bool:
        """Whether the time of the served pair is over, or there is none."""
        return self.not_after <= self._now()

    def context(self) -> ssl.SSLContext:
        """The context to serve a new connection with."""
        with self._lock:
            if self._clock() - self._looked >= LOOK_SECONDS:
                self._looked = self._clock()
                self._refresh()
                self._tell_end()
            return self._context

    def _refresh(self) -> None:
        signature = self._look()
        if signature == self._signature:
            return
        try:
            context, valid = self._load(), self._validity()
            self._check(valid)
        except (OSError, ValueError) as error:
            # Tried again at each look, but counted and told once for each state of the files.
            if signature != self._refused:
                self._refused = signature
                self.reload_errors += 1
                _LOG.warning("certificate not loaded", extra={"problem": str(error)})
            return
        self._context, self._valid = context, valid
        self._signature, self._refused = signature, None
        _LOG.info("certificate loaded", extra={"not_after": valid[1]})

    def _tell_end(self) -> None:
        """Log once that the time of the served pair is over, which its clients do not say here."""
        ended = 0 < self._valid[1] <= self._now()
        if ended and not self._ended:
            _LOG.error("certificate expired", extra={"not_after": self._valid[1]})
        self._ended = ended

    def _look(self) -> _Signature:
        return tuple(_state(path) for path in self._files)

    def _load(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["http/1.1"])
        # An empty password: without one OpenSSL would ask the terminal for an encrypted key's.
        context.load_cert_chain(*self._pair, password="")
        # A server that keeps its first context (gunicorn's gevent worker) gets the newest here.
        context.sni_callback = self._newest
        if self._clients is not None:
            _restrict(context, self._clients)
        return context

    def _newest(
        self, connection: ssl.SSLSocket | ssl.SSLObject, _name: str | None, _old: ssl.SSLContext
    ) -> None:
        connection.context = self.context()

    def _validity(self) -> tuple[float, float]:
        leaf = x509.load_pem_x509_certificate(self._pair[0].read_bytes())
        return leaf.not_valid_before_utc.timestamp(), leaf.not_valid_after_utc.timestamp()

    def _check(self, valid: tuple[float, float]) -> None:
        """Refuse a pair that is out of its time while the one at hand is not."""
        now = self._now()
        if _within(self._valid, now) and not _within(valid, now):
            raise ValueError(f"it is valid from {valid[0]:.0f} to {valid[1]:.0f}, now is {now:.0f}")


def leaf_of(address: tuple[str, int], name: str, seconds: float) -> x509.Certificate:
    """The certificate that a server shows to whoever asks for this name; it is not verified.

    Raises:
        OSError: nobody is there (ConnectionRefusedError), or it speaks no TLS in time.
        ValueError: what it shows is no certificate.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with (
        socket.create_connection(address, seconds) as sock,
        context.wrap_socket(sock, server_hostname=name) as connection,
    ):
        return x509.load_der_x509_certificate(connection.getpeercert(binary_form=True) or b"")


class _KnownPeers(ssl.SSLSocket):
    """A connection whose handshake fails unless the peer's certificate has one of the names."""

    names: ClassVar[frozenset[str]] = frozenset()

    def do_handshake(self, block: bool = False) -> None:  # noqa: FBT001, FBT002 - ssl's signature
        super().do_handshake(block)
        if not self.names & _names(self.getpeercert() or {}):
            raise ssl.SSLCertVerificationError("the peer's certificate has none of the names")


def _restrict(context: ssl.SSLContext, clients: Clients) -> None:
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(clients.authority)
    # Resumed sessions would outlive a change of the CA.
    context.num_tickets = 0
    context.sslsocket_class = type("_Known", (_KnownPeers,), {"names": clients.names})


def _names(certificate: Mapping[str, Any]) -> frozenset[str]:
    """The common names and the DNS names of a certificate as getpeercert tells it."""
    subject = (pair for part in certificate.get("subject", ()) for pair in part)
    common = {value for kind, value in subject if kind == "commonName"}
    return frozenset(
        common | {value for kind, value in certificate.get("subjectAltName", ()) if kind == "DNS"}
    )


def _within(valid: tuple[float, float], now: float) -> bool:
    return valid[0] <= now < valid[1]


def _state(path: Path) -> tuple[int, int, int]:
    try:
        status = path.stat()
    except OSError:
        return (0, 0, 0)
    return (status.st_mtime_ns, status.st_ino, status.st_size)

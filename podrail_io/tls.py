"""The serving certificate: one kept context, made anew and swapped when the files change.

gunicorn would build a context for every connection (0.7 ms); loading a pair into a live context is
not atomic: a mismatched pair leaves it unable to handshake (Python 3.11, OpenSSL 3.0). So a new one
is built aside, and a pair that cannot be loaded never replaces the last good one.
"""

import logging
import ssl
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

from cryptography import x509

_LOG: Final = logging.getLogger(__name__)
LOOK_SECONDS: Final = 1.0
"""How often the files are looked at: a new pair is served within this time."""

_Signature = tuple[tuple[int, int, int], ...]


class Certificates:
    """The context for new connections, from two files that may be replaced at any time."""

    def __init__(self, certfile: Path, keyfile: Path, clock: Callable[[], float]) -> None:
        self._files = (certfile, keyfile)
        self._clock = clock
        self._lock = threading.Lock()
        self._signature = self._look()
        self._refused: _Signature | None = None
        self._context = self._load()
        self._not_after = self._expiry()
        self._looked = clock()
        self.reload_errors = 0

    @property
    def not_after(self) -> float:
        """When the served certificate expires, in seconds since the epoch."""
        self.context()
        return self._not_after

    def context(self) -> ssl.SSLContext:
        """The context to serve a new connection with."""
        with self._lock:
            if self._clock() - self._looked >= LOOK_SECONDS:
                self._looked = self._clock()
                self._refresh()
            return self._context

    def _refresh(self) -> None:
        signature = self._look()
        if signature == self._signature:
            return
        try:
            self._context, self._not_after = self._load(), self._expiry()
        except (OSError, ValueError) as error:
            # Tried again at each look, but counted and told once for each state of the files.
            if signature != self._refused:
                self._refused = signature
                self.reload_errors += 1
                _LOG.warning("certificate not reloaded", extra={"problem": str(error)})
            return
        self._signature, self._refused = signature, None
        _LOG.info("certificate reloaded", extra={"not_after": self._not_after})

    def _look(self) -> _Signature:
        return tuple(_state(path) for path in self._files)

    def _load(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["http/1.1"])
        # An empty password: without one OpenSSL would ask the terminal for an encrypted key's.
        context.load_cert_chain(*self._files, password="")
        # A server that keeps its first context (gunicorn's gevent worker) gets the newest here.
        context.sni_callback = self._newest
        return context

    def _newest(
        self, connection: ssl.SSLSocket | ssl.SSLObject, _name: str | None, _old: ssl.SSLContext
    ) -> None:
        connection.context = self.context()

    def _expiry(self) -> float:
        leaf = x509.load_pem_x509_certificate(self._files[0].read_bytes())
        return leaf.not_valid_after_utc.timestamp()


def _state(path: Path) -> tuple[int, int, int]:
    try:
        status = path.stat()
    except OSError:
        return (0, 0, 0)
    return (status.st_mtime_ns, status.st_ino, status.st_size)

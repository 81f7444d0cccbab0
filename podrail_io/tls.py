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
        self._context = self._load()
        self._not_after = self._expiry()
        self._looked = clock()
        self.reload_errors = 0

    @property
    def not_after(self) -> float:
        """When the served certificate expires, in seconds since the epoch."""
        return self._not_after

    def context(self) -> ssl.SSLContext:
        """The context to serve a new connection with."""
        with self._lock:
            if self._clock() - self._looked >= LOOK_SECONDS:
                self._looked = self._clock()
                self._refresh()
            return self._context

    def _refresh(self) -> None:
        try:
            signature = self._look()
            if signature == self._signature:
                return
            # Noted before the load, so that a bad pair is complained about once.
            self._signature = signature
            self._context, self._not_after = self._load(), self._expiry()
            _LOG.info("certificate reloaded", extra={"not_after": self._not_after})
        except (OSError, ValueError) as error:
            self.reload_errors += 1
            _LOG.warning("certificate not reloaded", extra={"problem": str(error)})

    def _look(self) -> _Signature:
        statuses = [path.stat() for path in self._files]
        return tuple((one.st_mtime_ns, one.st_ino, one.st_size) for one in statuses)

    def _load(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["http/1.1"])
        context.load_cert_chain(*self._files)
        return context

    def _expiry(self) -> float:
        leaf = x509.load_pem_x509_certificate(self._files[0].read_bytes())
        return leaf.not_valid_after_utc.timestamp()

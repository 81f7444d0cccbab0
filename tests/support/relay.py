"""A listening socket whose connections are led elsewhere, bytes in both directions."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from typing import Final

_CHUNK: Final = 1 << 16


class Relay:
    """Looks into nothing; a function opens where a connection leads to, or raises OSError."""

    def __init__(
        self, listener: socket.socket, lead: Callable[[socket.socket], socket.socket]
    ) -> None:
        self._listener, self._lead = listener, lead
        self._thread = threading.Thread(target=self._accept, name="relay", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Take no more connections; those that there are end with their ends."""
        # A close alone would leave accept waiting.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # Shut down.
            while True:
                inner, _ = self._listener.accept()
                threading.Thread(target=self._carry, args=(inner,), daemon=True).start()

    def _carry(self, inner: socket.socket) -> None:
        with inner, contextlib.suppress(OSError), self._lead(inner) as outer:
            back = threading.Thread(target=_pump, args=(outer, inner), daemon=True)
            back.start()
            _pump(inner, outer)
            back.join()


def _pump(source: socket.socket, target: socket.socket) -> None:
    """Pass everything on, then the end of it; a reset is passed on as an end."""
    with contextlib.suppress(OSError):  # Either end is gone.
        while data := source.recv(_CHUNK):
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)

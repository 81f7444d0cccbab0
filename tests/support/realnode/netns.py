"""Sockets in another network namespace: a socket stays where it was made, its maker comes back."""

from __future__ import annotations

import contextlib
import ctypes
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

HOST: Final = "127.0.0.1"
_NEWNET: Final = 0x40000000
_CHUNK: Final = 1 << 16
_LIBC: Final = ctypes.CDLL(None, use_errno=True)


def of(pid: int, inner: int | None = None) -> Path:
    """The network namespace of a process, or of one that has this number in the first one's view."""
    first = Path("/proc", str(pid))
    return (first if inner is None else first / "root" / "proc" / str(inner)) / "ns" / "net"


@contextlib.contextmanager
def inside(namespace: Path) -> Iterator[None]:
    """Have this thread, and no other, in a network namespace for a block."""
    with _opened(Path("/proc/thread-self/ns/net")) as own, _opened(namespace) as other:
        _enter(other)
        try:
            yield
        finally:
            _enter(own)


@contextlib.contextmanager
def _opened(namespace: Path) -> Iterator[int]:
    found = os.open(namespace, os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield found
    finally:
        os.close(found)


def _enter(namespace: int) -> None:
    # os.setns is there from Python 3.12 on.
    if _LIBC.setns(namespace, _NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")


class Relay:
    """A port of a node's loopback that leads to the same port of this machine's."""

    def __init__(self, namespace: Path, port: int) -> None:
        self._port = port
        with inside(namespace):
            self._listener = socket.create_server((HOST, port))
        self._thread = threading.Thread(target=self._accept, name="relay", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Take no more connections; those that there are end with their ends."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # Shut down.
            while True:
                inner, _ = self._listener.accept()
                threading.Thread(target=self._carry, args=(inner,), daemon=True).start()

    def _carry(self, inner: socket.socket) -> None:
        with inner, contextlib.suppress(ConnectionError), self._outside() as outer:
            back = threading.Thread(target=_pump, args=(outer, inner), daemon=True)
            back.start()
            _pump(inner, outer)
            back.join()

    def _outside(self) -> socket.socket:
        return socket.create_connection((HOST, self._port))


def _pump(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):  # Either end is gone.
        while data := source.recv(_CHUNK):
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)

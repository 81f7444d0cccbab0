"""Sockets in another network namespace: a socket stays where it was made, its maker comes back."""

from __future__ import annotations

import contextlib
import ctypes
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from relay import Relay

HOST: Final = "127.0.0.1"
_NEWNET: Final = 0x40000000
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


def relayed(namespace: Path, port: int) -> Relay:
    """Have a port of a node's loopback lead to the same port of this machine's."""
    with inside(namespace):
        listener = socket.create_server((HOST, port))
    return Relay(listener, lambda _: socket.create_connection((HOST, port)))

"""A Service of this machine: a new connection goes to one of the ready ends, an old one stays."""

from __future__ import annotations

import contextlib
import itertools
import socket
from collections.abc import Iterator
from dataclasses import dataclass, field

from relay import Relay


@dataclass(slots=True)
class Balancer:
    """Chooses as kube-proxy does."""

    listener: socket.socket
    ready: tuple[str, ...] = ()
    """The addresses of those that get new connections."""
    led: dict[str, int] = field(default_factory=dict)
    """How many connections each has got."""
    _turns: Iterator[int] = field(default_factory=itertools.count)

    @property
    def address(self) -> str:
        """Where it listens."""
        host, port = self.listener.getsockname()
        return f"{host}:{port}"

    def lead(self, _near: socket.socket) -> socket.socket:
        """A connection to the one whose turn it is."""
        chosen = self.ready[next(self._turns) % len(self.ready)]
        self.led[chosen] = self.led.get(chosen, 0) + 1
        host, _, port = chosen.rpartition(":")
        return socket.create_connection((host, int(port)))


@contextlib.contextmanager
def balancing(*ready: str) -> Iterator[Balancer]:
    """One on a free port for the length of a block."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)
    balancer = Balancer(listener, ready)
    relay = Relay(listener, balancer.lead)
    try:
        yield balancer
    finally:
        relay.stop()

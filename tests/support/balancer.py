"""A Service of this machine: a new connection goes to one of the ready ends, an old one stays."""

from __future__ import annotations

import contextlib
import itertools
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

CHUNK = 65536


@dataclass(slots=True)
class Balancer:
    """Bytes in both directions, as kube-proxy leads them: it looks into none of them."""

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

    def run(self) -> None:
        """Lead connections until the listener is closed."""
        with contextlib.suppress(OSError):
            while True:
                near, _ = self.listener.accept()
                threading.Thread(target=self._lead, args=(near,), daemon=True).start()

    def _lead(self, near: socket.socket) -> None:
        chosen = self.ready[next(self._turns) % len(self.ready)]
        self.led[chosen] = self.led.get(chosen, 0) + 1
        host, _, port = chosen.rpartition(":")
        with (
            near,
            contextlib.suppress(OSError),
            socket.create_connection((host, int(port))) as far,
        ):
            back = threading.Thread(target=_pump, args=(far, near), daemon=True)
            back.start()
            _pump(near, far)
            back.join()


def _pump(source: socket.socket, target: socket.socket) -> None:
    """Pass everything on, then the end of it; a reset is passed on as an end."""
    with contextlib.suppress(OSError):
        while data := source.recv(CHUNK):
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)


@contextlib.contextmanager
def balancing(*ready: str) -> Iterator[Balancer]:
    """One on a free port for the length of a block."""
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
        balancer = Balancer(listener, ready)
        threading.Thread(target=balancer.run, daemon=True).start()
        yield balancer
        # A close alone would leave accept waiting.
        listener.shutdown(socket.SHUT_RDWR)

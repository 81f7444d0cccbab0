"""For how long something has been the case without a break, by a clock that never goes back.

What is remembered lies in memory only: after a restart everything settles once more.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace

from cryptography import x509

from certs import scene
from certs.scene import Calm, Certificates, Scene, Seconds


class Since:
    """When each of some things began, as long as it goes on."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._began: dict[x509.Certificate, float] = {}

    def seconds(self, holding: Iterable[x509.Certificate]) -> Seconds:
        """For how long each of these has been the case; what is not among them has ended."""
        now = self._clock()
        self._began = {one: self._began.get(one, now) for one in holding}
        return {one: now - began for one, began in self._began.items()}


class Observer:
    """What can only be said after having looked more than once."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._trusted = Since(clock)
        self._idle = Since(clock)

    def look(self, now: Scene, wanted: Certificates) -> Scene:
        """The scene with what is known from the looks before."""
        trusted = self._trusted.seconds(scene.everywhere(now))
        idle = self._idle.seconds(scene.idle(now, wanted))
        return replace(now, calm=Calm(trusted, idle))

"""How often the same thing may be written: seldom if it keeps changing, and if it is refused."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

FIRST_SECONDS: Final = 2.0
"""The least time between two reports on a pod; it doubles while they keep coming."""
LONGEST_SECONDS: Final = 300.0
CALM_SECONDS: Final = 600.0
"""After so long without one a pod begins anew."""
RETRY_SECONDS: Final = 1.0
"""The pause after a refusal; it doubles too."""


@dataclass(frozen=True, slots=True)
class _Last:
    """When something was last tried, and the pause after that."""

    at: float
    pause: float
    failed: bool


class Pace:
    """The last tries; those that are long past are forgotten."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._last: dict[str, _Last] = {}
        self._swept = clock()

    def __len__(self) -> int:
        """How many tries are remembered."""
        return len(self._last)

    def due(self, key: str) -> float:
        """From when on the key may be tried."""
        last = self._last.get(key)
        return self._clock() if last is None else last.at + last.pause

    def done(self, key: str) -> None:
        """Note that the key was written."""
        self._note(key, FIRST_SECONDS, failed=False)

    def failed(self, key: str) -> None:
        """Note that it was not."""
        self._note(key, RETRY_SECONDS, failed=True)

    def _note(self, key: str, first: float, *, failed: bool) -> None:
        now = self._clock()
        if now - self._swept >= CALM_SECONDS:
            self._swept = now
            self._last = {
                key: last for key, last in self._last.items() if now - last.at < CALM_SECONDS
            }
        last = self._last.get(key)
        again = last is not None and last.failed is failed and now - last.at < CALM_SECONDS
        pause = min(last.pause * 2, LONGEST_SECONDS) if again and last is not None else first
        self._last[key] = _Last(now, pause, failed)

"""How fast one reflector asks: short pauses at first, longer ones with each request, a strict law.

In no 30 seconds are there more than ten requests, whatever wakes it; by requests, not by failures:
a watch that is always 410 costs a list each time.
"""

from collections import deque
from collections.abc import Callable
from typing import Final

PAUSES: Final = (0.5, 1.0, 2.0, 2.0, 2.0, 6.0, 9.0, 12.0, 12.0, 16.0, 16.0, 30.0)
"""Seconds after so many requests: short while an API server is being replaced, and later such that
of some watches one is soon due: it wakes the others."""
LONGEST_PAUSE: Final = PAUSES[-1]
WINDOW_SECONDS: Final = 30.0
MOST_REQUESTS: Final = 10
"""In any window."""
AWAKE_SECONDS: Final = 0.5
"""Over which those are spread that one answer of the API server wakes."""


class Pace:
    """The requests so far, and the pauses that follow from them; clock never goes back."""

    def __init__(self, clock: Callable[[], float], chance: Callable[[], float]) -> None:
        self._clock = clock
        self._chance = chance
        self._asked = 0
        self._latest = deque[float](maxlen=MOST_REQUESTS)
        self._told = float("-inf")

    def ask(self) -> None:
        """Count a request that begins now."""
        self._asked += 1
        self._latest.append(self._clock())

    def calm(self, asked: int = 1) -> None:
        """What failed before no longer counts; asked is how many requests still do."""
        self._asked = asked

    def pause(self, requests: int, told: float = 0.0) -> float:
        """The seconds until a round of so many requests, over their upper half.

        told is for how long the server wants to be left alone.
        """
        told = min(told, LONGEST_PAUSE)
        self._told = self._clock() + told
        usual = PAUSES[min(max(self._asked, 1), len(PAUSES)) - 1]
        return max(usual * (0.5 + self._chance() / 2), told, self._full(requests))

    def early(self, requests: int) -> float:
        """The seconds until such a round may begin for whom something wakes out of a pause."""
        spread = AWAKE_SECONDS * self._chance()
        return max(self._full(requests), self._told - self._clock(), spread)

    def _full(self, requests: int) -> float:
        """The seconds until the window has room for them."""
        over = len(self._latest) + requests - MOST_REQUESTS
        return self._latest[over - 1] + WINDOW_SECONDS - self._clock() if over > 0 else 0.0

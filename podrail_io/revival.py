"""Who waits for an API server that failed them, woken as soon as it answers one of them again.

After an outage a pause of many seconds may just have begun. A program has a dozen watches, each
with pauses of its own, so the first of them is soon back, and knows what all the others wait for.
"""

import threading


class Revival:
    """The bells of those who wait; one for each, and all for one API server."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: set[threading.Event] = set()

    def lost(self, bell: threading.Event) -> None:
        """Have this bell rung when the API server answers somebody else."""
        with self._lock:
            self._waiting.add(bell)

    def answered(self, bell: threading.Event) -> None:
        """The API server answered whose bell this is: if it had failed them, ring the others'.

        Whoever had not lost it rings nobody: what the others are refused may be theirs alone.
        """
        with self._lock:
            if bell not in self._waiting:
                return
            self._waiting.remove(bell)
            bell.clear()
            for other in self._waiting:
                other.set()

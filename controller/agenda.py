"""What waits to be written: when each thing is due, and bad news first."""

import heapq


class Agenda:
    """Keys in the order in which their turn comes; one thread's own."""

    def __init__(self) -> None:
        self._due: dict[str, tuple[float, bool]] = {}
        self._later: list[tuple[float, str]] = []
        self._ready: tuple[dict[str, None], dict[str, None]] = ({}, {})

    def __len__(self) -> int:
        """How many keys wait."""
        return len(self._due)

    def put(self, key: str, due: float, *, urgent: bool) -> None:
        """Have the key's turn come once, at this time; an earlier one stays as it is."""
        before = self._due.get(key)
        if before is not None and before[0] <= due and before[1] is urgent:
            return
        self.drop(key)
        self._due[key] = (due, urgent)
        heapq.heappush(self._later, (due, key))

    def drop(self, key: str) -> None:
        """Forget the key."""
        self._due.pop(key, None)
        for ready in self._ready:
            ready.pop(key, None)

    def take(self, now: float) -> str | None:
        """The key whose turn it is, which then waits no more; None if there is none yet."""
        while self._later and self._later[0][0] <= now:
            due, key = heapq.heappop(self._later)
            # One that was dropped, or put to another time, is still in the heap under the old one.
            if key in self._due and self._due[key][0] == due:
                self._ready[0 if self._due[key][1] else 1][key] = None
        for ready in self._ready:
            if ready:
                key = next(iter(ready))
                self.drop(key)
                return key
        return None

"""Which rails of a node are in use, by pod UID: held from the bind, kept as long as the pod runs.

A hold is made when podrail binds a pod and becomes a fact when the watch shows the pod bound; a
hold that never does (the bind failed, someone else bound it) ends by itself. Times are given.
"""

from collections import Counter
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Use:
    """Rails in use on a node; until is None once the watch has shown the pod bound."""

    node: str
    rails: tuple[int, ...]
    until: float | None


class Ledger:
    """The uses of all nodes. Not thread-safe: its owner locks."""

    def __init__(self) -> None:
        self._uses: dict[str, Use] = {}

    def __len__(self) -> int:
        """How many pods it knows."""
        return len(self._uses)

    def hold(self, uid: str, node: str, rails: tuple[int, ...], until: float) -> None:
        """Note rails that are about to be used; a pod seen bound keeps what it has."""
        known = self._uses.get(uid)
        if known is None or known.until is not None:
            self._uses[uid] = Use(node, rails, until)

    def seen(self, uid: str, node: str, rails: tuple[int, ...]) -> None:
        """Note what the watch shows of a bound pod, in place of any hold."""
        self._uses[uid] = Use(node, rails, None)

    def release(self, uid: str) -> None:
        """Forget a pod that has ended or is gone."""
        self._uses.pop(uid, None)

    def abandon(self, uid: str) -> None:
        """Forget the hold of a pod that could not be bound; one seen bound keeps what it has."""
        use = self._uses.get(uid)
        if use is not None and use.until is not None:
            del self._uses[uid]

    def expire(self, now: float) -> None:
        """Forget the holds whose time is over."""
        for uid, use in list(self._uses.items()):
            if use.until is not None and use.until <= now:
                del self._uses[uid]

    def used(self, node: str, apart_from: str, now: float) -> Counter[int]:
        """How many pods use each rail of a node, not counting one pod."""
        return Counter(
            rail
            for uid, use in self._uses.items()
            if use.node == node and uid != apart_from and (use.until is None or use.until > now)
            for rail in use.rails
        )

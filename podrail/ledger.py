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
    """The uses of all nodes. Not thread-safe: its owner locks.

    What a call costs goes with the pods of one node, or with the holds, never with the cluster.
    """

    def __init__(self) -> None:
        self._uses: dict[str, Use] = {}
        self._nodes: dict[str, set[str]] = {}
        self._holds: dict[str, float] = {}

    def __len__(self) -> int:
        """How many pods it knows."""
        return len(self._uses)

    def hold(self, uid: str, node: str, rails: tuple[int, ...], until: float) -> None:
        """Note rails that are about to be used; a pod seen bound keeps what it has."""
        if uid not in self._uses or uid in self._holds:
            self._note(uid, Use(node, rails, until))

    def seen(self, uid: str, node: str, rails: tuple[int, ...]) -> None:
        """Note what the watch shows of a bound pod, in place of any hold."""
        self._note(uid, Use(node, rails, None))

    def release(self, uid: str) -> None:
        """Forget a pod that has ended or is gone."""
        use = self._uses.pop(uid, None)
        self._holds.pop(uid, None)
        if use is not None:
            there = self._nodes[use.node]
            there.discard(uid)
            if not there:
                del self._nodes[use.node]

    def abandon(self, uid: str) -> None:
        """Forget the hold of a pod that could not be bound; one seen bound keeps what it has."""
        if uid in self._holds:
            self.release(uid)

    def expire(self, now: float) -> None:
        """Forget the holds whose time is over."""
        for uid in [uid for uid, until in self._holds.items() if until <= now]:
            self.release(uid)

    def used(self, node: str, apart_from: str, now: float) -> Counter[int]:
        """How many pods use each rail of a node, not counting one pod."""
        return Counter(
            rail
            for uid in self._nodes.get(node, ())
            if uid != apart_from and self._holds.get(uid, now + 1) > now
            for rail in self._uses[uid].rails
        )

    def _note(self, uid: str, use: Use) -> None:
        self.release(uid)
        self._uses[uid] = use
        self._nodes.setdefault(use.node, set()).add(uid)
        if use.until is not None:
            self._holds[uid] = use.until

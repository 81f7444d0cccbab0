"""The pods on each node and the devices that they hold: held from the bind, kept while they run."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from extender.known import Held


@dataclass(frozen=True, slots=True)
class Tenant:
    """A pod on a node; until is None once the watch has shown it bound.

    planned is true for one that is nominated there, and no bind of it has begun.
    """

    node: str
    pod: str
    """namespace/name."""
    held: Held
    since: str = ""
    until: float | None = None
    planned: bool = False


class Tally:
    """The tenants of all nodes. Not thread-safe: its owner locks.

    What a call costs goes with the pods of one node, or with the holds, never with the cluster.
    """

    def __init__(self) -> None:
        self._tenants: dict[str, Tenant] = {}
        self._nodes: dict[str, dict[str, Tenant]] = {}
        self._devices: dict[str, Counter[str]] = {}
        self._holds: dict[str, float] = {}

    def __len__(self) -> int:
        """How many pods it knows."""
        return len(self._tenants)

    def get(self, uid: str) -> Tenant | None:
        """A pod that is on a node, or about to be."""
        return self._tenants.get(uid)

    def on(self, node: str) -> Mapping[str, Tenant]:
        """The pods of a node by UID."""
        return self._nodes.get(node, {})

    def put(self, uid: str, tenant: Tenant) -> None:
        """Note a pod on its node, in place of what was noted of it before."""
        self.drop(uid)
        self._tenants[uid] = tenant
        self._nodes.setdefault(tenant.node, {})[uid] = tenant
        self._devices.setdefault(tenant.node, Counter()).update(dict(tenant.held.devices))
        if tenant.until is not None:
            self._holds[uid] = tenant.until

    def drop(self, uid: str) -> str:
        """Forget a pod; its node, empty if there was none."""
        gone = self._tenants.pop(uid, None)
        self._holds.pop(uid, None)
        if gone is None:
            return ""
        there = self._nodes[gone.node]
        del there[uid]
        self._devices[gone.node].subtract(dict(gone.held.devices))
        if not there:
            del self._nodes[gone.node]
            del self._devices[gone.node]
        return gone.node

    def left(
        self, node: str, devices: Iterable[tuple[str, int]], apart_from: str = ""
    ) -> dict[str, int]:
        """How many of a node's devices no pod holds, not counting one pod."""
        taken = self._devices.get(node) or Counter[str]()
        own = self.on(node).get(apart_from)
        given = {} if own is None else dict(own.held.devices)
        return {name: count - taken.get(name, 0) + given.get(name, 0) for name, count in devices}

    def overdue(self, now: float) -> list[str]:
        """The pods that should have been seen bound by now."""
        return [uid for uid, until in self._holds.items() if until <= now] if self._holds else []

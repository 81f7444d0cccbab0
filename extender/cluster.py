"""What the extender knows of the cluster: its nodes, the pods it may bind, the rails in use."""

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from podrail import marker, names
from podrail.ledger import Ledger
from podrail.topology import Topology
from podrail_io.kube import Api
from podrail_io.reflector import Change, Reflector, World

NODES: Final = "/api/v1/nodes"
PODS: Final = "/api/v1/pods"
_ENDED: Final = frozenset({"Succeeded", "Failed"})


@dataclass(frozen=True, slots=True)
class Node:
    """A node: its labels, and its topology if anything is known of it."""

    labels: Mapping[str, str]
    topology: Topology | None


@dataclass(frozen=True, slots=True)
class Known:
    """A pod: an injected one whole while it waits for a node, afterwards only its rails.

    Of others there is only that they wait: document is None, they are bound as they are.
    """

    uid: str
    node: str
    rails: tuple[int, ...]
    document: Mapping[str, Any] | None


class Cluster:
    """The two reflectors and the ledger that the pods' one feeds."""

    def __init__(self, api: Api, shapes: Mapping[str, Topology], world: World) -> None:
        self._shapes = shapes
        self._world = world
        self._lock = threading.Lock()
        self._ledger = Ledger()
        self.nodes: Reflector[Node] = Reflector(api, NODES, self._node, world)
        self.pods: Reflector[Known] = Reflector(api, PODS, known, world, self._changed)

    def start(self) -> None:
        """Begin to follow the cluster."""
        self.nodes.start()
        self.pods.start()

    @property
    def synced(self) -> bool:
        """True once all nodes and pods have been seen."""
        return self.nodes.synced and self.pods.synced

    def age(self) -> float:
        """Seconds since the older of the two views was confirmed."""
        return max(self.nodes.age(), self.pods.age())

    def hold(
        self, uid: str, node: str, seconds: float, choose: Callable[[Counter[int]], tuple[int, ...]]
    ) -> None:
        """Let choose pick rails by what others use, and hold them, as one step."""
        now = self._world.clock()
        with self._lock:
            self._ledger.expire(now)
            rails = choose(self._ledger.used(node, uid, now))
            self._ledger.hold(uid, node, rails, now + seconds)

    def abandon(self, uid: str) -> None:
        """Give back the rails held for a pod that was not bound."""
        with self._lock:
            self._ledger.abandon(uid)

    def _node(self, document: dict[str, Any]) -> Node:
        labels = document["metadata"].get("labels") or {}
        return Node(labels, self._shapes.get(labels.get(names.INSTANCE_TYPE, "")))

    def _changed(self, change: Change[Known]) -> None:
        with self._lock:
            gone = change.before
            if gone is not None and (change.after is None or change.after.uid != gone.uid):
                self._ledger.release(gone.uid)
            if change.after is not None and change.after.node:
                self._ledger.seen(change.after.uid, change.after.node, change.after.rails)


def known(document: dict[str, Any]) -> Known | None:
    """What is kept of a pod; None for those that ended, or are bound without our marker."""
    metadata, spec = document["metadata"], document.get("spec") or {}
    annotations = metadata.get("annotations") or {}
    if (document.get("status") or {}).get("phase") in _ENDED:
        return None
    node, injected = spec.get("nodeName") or "", names.INJECTED in annotations
    if node:
        return Known(metadata["uid"], node, _rails(annotations), None) if injected else None
    return Known(metadata["uid"], "", (), document if injected else None)


def _rails(annotations: Mapping[str, str]) -> tuple[int, ...]:
    """The rails of a bound pod: as placed, or as admitted if it was bound without the extender."""
    if names.PLACEMENT in annotations:
        return marker.placed_rails(annotations[names.PLACEMENT])
    admitted = marker.injected(annotations[names.INJECTED])
    return admitted.rails if admitted is not None and admitted.injected else ()

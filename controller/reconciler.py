"""Keeps the statuses of FabricProfiles true: looks at all of them whenever anything changed."""

import logging
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from controller import conditions, guard
from controller.conditions import Scenery
from controller.metrics import Metrics
from podrail import profile, profiles
from podrail.multus import nad
from podrail_io.kube import Api, Document, KubeError, StatusError
from podrail_io.lease import SPARE_SECONDS, Lease
from podrail_io.reflector import NOT_FOUND, Reflector, World

_LOG: Final = logging.getLogger(__name__)
MANAGER: Final = "podrail-controller"
"""The field manager of what is written, and the name of the lease."""
NODES: Final = "/api/v1/nodes"
LOOK_SECONDS: Final = 1.0
"""How often it is looked whether there is something to do; changes meanwhile make one round."""
AGAIN_SECONDS: Final = 10.0
"""The pause after a round that could not write everything."""
REST: Final = 9
"""The pause after a round in times of its work: a tenth of one CPU at most, since a round looks at
each node for each profile (5,000 nodes: 0.1 s a profile) and nodes change all the time."""


class View:
    """The profiles, definitions and nodes of the cluster."""

    def __init__(self, api: Api, world: World) -> None:
        self._news = threading.Event()
        self.profiles: Reflector[Document] = self._watch(api, profiles.RESOURCES, _profile, world)
        self.nads: Reflector[nad.Nad] = self._watch(api, nad.DEFINITIONS, nad.read, world)
        self.nodes: Reflector[Document] = self._watch(api, NODES, _node, world)

    def start(self) -> None:
        """Begin to follow the cluster."""
        for each in (self.profiles, self.nads, self.nodes):
            each.start()

    def stop(self) -> None:
        """Follow it no longer."""
        for each in (self.profiles, self.nads, self.nodes):
            each.stop()

    def problems(self) -> Sequence[str]:
        """What has not been seen yet."""
        views = (("profiles", self.profiles), ("networks", self.nads), ("nodes", self.nodes))
        return [f"{name} are not synced" for name, each in views if not each.synced]

    def age(self) -> float:
        """Seconds since the oldest of the views was confirmed."""
        return max(self.profiles.age(), self.nads.age(), self.nodes.age())

    def changed(self) -> bool:
        """True if anything has changed since this was last asked."""
        found = self._news.is_set()
        self._news.clear()
        return found

    def uid(self, node: str) -> str | None:
        """The UID of a node; None if there is no such node."""
        found = self.nodes.get(node)
        return None if found is None else str(found["metadata"]["uid"])

    def scenery(self, site: Scenery) -> Scenery:
        """What is around the profiles now; site says what does not change."""
        return replace(site, nads=self.nads.items(), nodes=tuple(self.nodes.items().values()))

    def _watch(
        self, api: Api, path: str, keep: Callable[[Document], Any], world: World
    ) -> Reflector[Any]:
        return Reflector(api, path, keep, world, lambda _change: self._news.set())


@dataclass(frozen=True, slots=True)
class Times:
    """now is the time as RFC 3339; worked is the CPU time of the calling thread in seconds."""

    now: Callable[[], str]
    worked: Callable[[], float]


class Reconciler:
    """The loop that writes; nothing but the lease's holder does."""

    def __init__(
        self,
        api: Api,
        view: View,
        lease: Lease,
        times: Times,
        site: Scenery,
    ) -> None:
        self._api = api
        self._view = view
        self._lease = lease
        self._times = times
        self._site = site
        self._stopping = threading.Event()
        self.metrics = Metrics(lambda: lease.held, view.age)

    def start(self) -> None:
        """Begin, in a thread of its own."""
        threading.Thread(target=self._run, name="reconciler", daemon=True).start()

    def stop(self) -> None:
        """End after the write under way."""
        self._stopping.set()

    def _run(self) -> None:
        due = True
        pause = LOOK_SECONDS
        while not self._stopping.wait(pause):
            due = self._view.changed() or due
            pause = LOOK_SECONDS
            if not self._lease.held:
                # Whoever becomes active looks at everything anew.
                due = True
            elif due and not self._view.problems():
                began = self._times.worked()
                due = not self._guarded()
                rest = REST * (self._times.worked() - began)
                pause = max(rest, AGAIN_SECONDS if due else LOOK_SECONDS)

    def _guarded(self) -> bool:
        """Whether a round did all it should; no error ends the thread."""
        return guard.guarded(self.round, self.metrics.faults)

    def round(self) -> bool:
        """Write each status that is not what it should be; False if one could not be written."""
        scenery = self._view.scenery(self._site)
        ready: Counter[str] = Counter()
        written = True
        for name, document in self._view.profiles.items().items():
            found = conditions.of(document, scenery)
            ready[found[0].status] += 1
            status = conditions.status(document, found, self._times.now())
            if status is not None:
                written = self._write(name, status) and written
        for state in ("True", "False"):
            self.metrics.profiles.labels(state).set(ready[state])
        return written

    def _write(self, name: str, status: Mapping[str, Any]) -> bool:
        if not self._lease.held:
            return False
        body = {
            "apiVersion": profile.API_VERSION,
            "kind": profile.KIND,
            "metadata": {"name": name},
            "status": status,
        }
        path = f"{profiles.RESOURCES}/{name}/status"
        try:
            self._api.apply(path, body, MANAGER, timeout=SPARE_SECONDS - 1)
        except KubeError as error:
            if isinstance(error, StatusError) and error.status == NOT_FOUND:
                # Deleted meanwhile: the watch will say so.
                return True
            self.metrics.errors.inc()
            _LOG.warning("status not written", extra={"profile": name, "problem": str(error)})
            return False
        self.metrics.writes.inc()
        return True


def _profile(document: Document) -> Document:
    return {**profiles.resource(document), "status": document.get("status")}


def _node(document: Document) -> Document:
    """What multus.lint looks at: not the heartbeats, nor what podrail itself writes often."""
    metadata, status = document["metadata"], document.get("status") or {}
    annotations = metadata.get("annotations") or {}
    kept = {key: annotations[key] for key in annotations if not key.startswith("podrail.dev/")}
    return {
        "metadata": {
            "uid": metadata.get("uid", ""),
            "labels": metadata.get("labels") or {},
            "annotations": kept,
        },
        "status": {"allocatable": status.get("allocatable") or {}},
    }

"""Writes a node's NodeRails and its annotation, no more often than there is something to say."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from nodeagent.metrics import Metrics
from podrail import names
from podrail.errors import MalformedError
from podrail.evidence import noderails
from podrail.evidence.noderails import NodeRails
from podrail_io.slim import CONFLICT, NOT_FOUND, ApiError, SlimApi

_LOG: Final = logging.getLogger(__name__)
MANAGER: Final = "podrail-nodeagent"
"""The field manager of what is written."""
COLLECTION: Final = "/apis/podrail.dev/v1alpha1/noderails"
NODES: Final = "/api/v1/nodes"
HEARTBEAT_SECONDS: Final = 300.0
"""How old observedAt gets while nothing changes."""
STATUS_SECONDS: Final = 1.0
"""The least time between two statuses."""
FREE_SECONDS: Final = 5.0
"""The least time between two annotations: each makes kube-scheduler look at refused pods again."""
FIRST_PAUSE: Final = 2.0
LONGEST_PAUSE: Final = 60.0


@dataclass(frozen=True, slots=True)
class Times:
    """clock never goes back, in seconds; stamp is the time as RFC 3339; chance is in [0, 1)."""

    clock: Callable[[], float]
    stamp: Callable[[], str]
    chance: Callable[[], float]


class Writer:
    """What was written last, and when the next write is due."""

    def __init__(self, api: SlimApi, node: str, times: Times, metrics: Metrics) -> None:
        self._api = api
        self._node = node
        self._times = times
        self._metrics = metrics
        self._status: NodeRails | None = None
        self._free = ""
        self._status_due = self._free_due = float("-inf")
        self._heartbeat = float("inf")
        self._pause = FIRST_PAUSE
        self.written = False

    def before(self) -> NodeRails | None:
        """The object as it is now; None if there is none, or none that can be read.

        Raises:
            ApiError: the API server did not say.
        """
        try:
            found = self._api.get(f"{COLLECTION}/{self._node}")
            return noderails.read(
                {
                    key: found.get(key)
                    for key in ("apiVersion", "kind", "metadata", "spec", "status")
                }
            )
        except ApiError as error:
            if error.status != NOT_FOUND:
                raise
        except MalformedError as error:
            _LOG.warning("NodeRails not read", extra={"problem": str(error)})
        return None

    def write(self, found: NodeRails, free: str) -> None:
        """Write what is due: the status first, since the annotation makes others look at it."""
        now = self._times.clock()
        due = found != self._status or now >= self._heartbeat
        if due and now >= self._status_due:
            self._attempt(lambda: self._write_status(found, now))
        if found == self._status and free != self._free and now >= self._free_due:
            self._attempt(lambda: self._write_free(free, now))

    def _attempt(self, act: Callable[[], None]) -> None:
        try:
            act()
            self._pause = FIRST_PAUSE
        except ApiError as error:
            self._metrics.count("write_errors")
            _LOG.warning("not written", extra={"problem": str(error)})
            self._status_due = self._free_due = self._times.clock() + self._pause
            self._pause = min(self._pause * 2, LONGEST_PAUSE)

    def _write_status(self, found: NodeRails, now: float) -> None:
        stamped = noderails.document(replace(found, observed_at=self._times.stamp()))
        body = {key: stamped[key] for key in ("apiVersion", "kind", "metadata", "status")}
        path = f"{COLLECTION}/{self._node}/status"
        try:
            self._api.apply(path, body, MANAGER)
        except ApiError as error:
            if error.status != NOT_FOUND:
                raise
            self._create(stamped)
            self._api.apply(path, body, MANAGER)
        self._metrics.count("status_writes")
        self._status = found
        self.written = True
        self._status_due = now + STATUS_SECONDS
        # Thousands of agents that a rollout has started together must not stay in step.
        self._heartbeat = now + HEARTBEAT_SECONDS * (0.8 + 0.4 * self._times.chance())

    def _create(self, stamped: Mapping[str, Any]) -> None:
        body = {key: stamped[key] for key in ("apiVersion", "kind", "metadata")}
        try:
            self._api.post(COLLECTION, {**body, "spec": {}})
        except ApiError as error:
            if error.status != CONFLICT:
                raise

    def _write_free(self, free: str, now: float) -> None:
        metadata = {"name": self._node, "annotations": {names.FREE_RAILS: free}}
        body = {"apiVersion": "v1", "kind": "Node", "metadata": metadata}
        self._api.apply(f"{NODES}/{self._node}", body, MANAGER)
        self._metrics.count("annotation_writes")
        self._free = free
        self._free_due = now + FREE_SECONDS

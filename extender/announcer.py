"""Events on pods: told in a thread of their own, so that no bind waits for one or fails with it."""

import logging
import queue
import threading
import zlib
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from podrail.extension import Bind
from podrail_io.kube import Api, KubeError, StatusError

_LOG: Final = logging.getLogger(__name__)
MOST_WAITING: Final = 1000
"""Events that wait to be sent; beyond that they are left out, as an API server in need likes it."""
_SECONDS: Final = 5.0
_EXISTS: Final = 409
_NAME: Final = 200


class Announcer:
    """Sends what it is given to the API server, one event after the other."""

    def __init__(self, api: Api, now: Callable[[], datetime]) -> None:
        self._api = api
        self._now = now
        self._waiting: queue.Queue[dict[str, Any]] = queue.Queue(MOST_WAITING)

    def start(self) -> None:
        """Send from now on, in a thread that never keeps the process alive."""
        threading.Thread(target=self._run, name="announcer", daemon=True).start()

    def shared(self, bound: Bind) -> None:
        """Say that a pod shares rails that were to be its own."""
        message = (
            f"Every rail of node {bound.node} that would suit is used by other pods: the pod "
            "shares rails, and its network traffic may be slower."
        )
        try:
            self._waiting.put_nowait(self._event(bound, "RailsShared", message))
        except queue.Full:
            _LOG.warning("event left out", extra={"uid": bound.uid})

    def send(self) -> None:
        """Send the next event as soon as there is one."""
        event = self._waiting.get()
        path = f"/api/v1/namespaces/{event['metadata']['namespace']}/events"
        try:
            self._api.post(path, event, timeout=_SECONDS)
        except KubeError as error:
            # There is one for each pod and reason: a bind may be tried twice.
            if not (isinstance(error, StatusError) and error.status == _EXISTS):
                _LOG.warning("event not taken", extra={"problem": str(error)})

    def _run(self) -> None:
        while True:
            self.send()

    def _event(self, bound: Bind, reason: str, message: str) -> dict[str, Any]:
        told = self._now().strftime("%Y-%m-%dT%H:%M:%SZ")
        mark = zlib.crc32(f"{bound.uid} {reason}".encode())
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {
                "name": f"{bound.name[:_NAME]}.{mark:08x}",
                "namespace": bound.namespace,
            },
            "involvedObject": {
                "apiVersion": "v1",
                "kind": "Pod",
                "name": bound.name,
                "namespace": bound.namespace,
                "uid": bound.uid,
            },
            "reason": reason,
            "message": message,
            "type": "Warning",
            "source": {"component": "podrail-extender"},
            "reportingComponent": "podrail-extender",
            "firstTimestamp": told,
            "lastTimestamp": told,
            "count": 1,
        }

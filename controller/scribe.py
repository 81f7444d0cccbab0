"""Writes: an Event first, then the annotation that remembers it. Asks for the lease each time."""

import logging
from collections.abc import Mapping
from typing import Any, Final

from controller import events
from controller.events import COMPONENT
from controller.metrics import Metrics
from podrail import names
from podrail.audit.subject import Subject
from podrail_io.kube import Api, KubeError, StatusError
from podrail_io.lease import SPARE_SECONDS, Lease

_LOG: Final = logging.getLogger(__name__)
_GONE: Final = frozenset({404, 409})
"""The pod is no more, or another one has its name: the watch will say so."""
_OVERLOADED: Final = 429
_OURS: Final = range(400, 500)
"""An answer that the same request gets again."""


class AwayError(Exception):
    """The API server cannot be written to just now, or the lease is not ours any more."""


class Scribe:
    """The hand that writes, with little patience."""

    def __init__(self, api: Api, lease: Lease, metrics: Metrics) -> None:
        self._api = api
        self._lease = lease
        self._metrics = metrics

    def tell(self, event: Mapping[str, Any]) -> None:
        """Send an Event; one that is refused for good is left out.

        Raises:
            AwayError: it cannot be sent now.
        """
        try:
            self._apply(events.path(event), event)
        except StatusError as error:
            # A namespace that is being deleted takes none, and what is said of a pod goes on.
            self._metrics.report_errors.inc()
            _LOG.warning("event not taken", extra={"problem": str(error)})

    def annotate(self, pod: Subject, text: str) -> bool:
        """Write the annotation of a pod that is there; False if that was refused.

        Raises:
            AwayError: it cannot be written now.
        """
        metadata = {
            "name": pod.name,
            "namespace": pod.namespace,
            # Not onto a new pod of the same name.
            "uid": pod.uid,
            "annotations": {names.OBSERVED: text},
        }
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}
        try:
            self._apply(f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}", body)
        except StatusError as error:
            if error.status in _GONE:
                return True
            self._metrics.report_errors.inc()
            _LOG.warning("report not taken", extra={"uid": pod.uid, "problem": str(error)})
            return False
        self._metrics.reports.inc()
        return True

    def _apply(self, path: str, body: Mapping[str, Any]) -> None:
        if not self._lease.held:
            raise AwayError
        try:
            self._api.apply(path, body, COMPONENT, timeout=SPARE_SECONDS - 1)
        except KubeError as error:
            status = error.status if isinstance(error, StatusError) else 0
            if status in _OURS and status != _OVERLOADED:
                raise
            self._metrics.report_errors.inc()
            _LOG.warning("API server away", extra={"problem": str(error)})
            raise AwayError from error

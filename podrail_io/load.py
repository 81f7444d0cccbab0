"""What a server is at, as metrics: requests in flight, and those refused before any application."""

from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Final

from prometheus_client import CollectorRegistry, Counter, Gauge

_KEY: Final = "podrail_io.load"


class Load:
    """The load of a process, in a registry."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._waiting = Gauge(
            "podrail_requests_in_flight",
            "Requests that wait for their turn or are being answered in a thread.",
            registry=registry,
        )
        self._refused = Counter(
            "podrail_http_refusals_total",
            "Requests the server itself refused: 429 is overload, others could not be parsed.",
            ["status"],
            registry=registry,
        )
        self.refuse(HTTPStatus.TOO_MANY_REQUESTS, 0)

    def follow(self, waiting: Callable[[], int]) -> None:
        """Have the number of requests in flight from here on."""
        self._waiting.set_function(waiting)

    def refuse(self, status: HTTPStatus, times: int = 1) -> None:
        """Count requests that were refused with a status."""
        self._refused.labels(str(status.value)).inc(times)


def export(app: Any, registry: CollectorRegistry) -> None:
    """Have the load of the server that will serve a Flask application in a registry."""
    app.extensions[_KEY] = Load(registry)


def of(app: Any) -> Load:
    """The load that an application exports; for one that knows nothing of this, nobody reads it."""
    found: Load | None = getattr(app, "extensions", {}).get(_KEY)
    return found or Load(CollectorRegistry())

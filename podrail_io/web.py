"""What every served application has: health, readiness, metrics, limits, and errors as JSON."""

import json
import logging
from collections.abc import Callable, Sequence
from importlib import metadata
from typing import Any, Final

from flask import Flask, Response, request
from prometheus_client import CollectorRegistry, Info
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from werkzeug.exceptions import HTTPException, InternalServerError

from podrail_io import load, prompt, trace
from podrail_io.prompt import WaitError

_LOG: Final = logging.getLogger(__name__)

MOST_BYTES: Final = 8 * 1024 * 1024
"""The API server takes 3 MiB; a review holds the object once or twice and an envelope."""
MOST_MESSAGE: Final = 500
JSON: Final = "application/json"
_KEPT: Final = frozenset({"Allow", "Location"})


def application(
    name: str, problems: Callable[[], Sequence[str]], registry: CollectorRegistry
) -> Flask:
    """An application with /healthz, /readyz (503 while there are problems) and /metrics.

    /healthz says that the main loop goes round, whatever the threads are at; /readyz takes one.
    """
    app = Flask(name, static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = MOST_BYTES
    app.config["PROPAGATE_EXCEPTIONS"] = False
    app.register_error_handler(HTTPException, _http_error)
    app.register_error_handler(Exception, _our_error)
    app.register_error_handler(WaitError, _postpone)
    app.before_request(_begin)
    app.before_request(_check_post)
    app.teardown_request(_end)
    app.add_url_rule("/healthz", "healthz", lambda: answer({"status": "ok"}))
    app.add_url_rule("/readyz", "readyz", lambda: _readiness(problems()))
    app.add_url_rule("/metrics", "metrics", lambda: _metrics(registry))
    prompt.declare(app, "/healthz")
    load.export(app, registry)
    built = Info("podrail_build", "Which podrail this is.", registry=registry)
    built.info({"program": name, "version": metadata.version("podrail")})
    return app


def body() -> bytes:
    """The body of the request at hand."""
    return request.get_data(cache=False)


def answer(document: Any, status: int = 200) -> Response:
    """An answer with a JSON document."""
    return raw(json.dumps(document).encode(), status)


def raw(content: bytes, status: int = 200) -> Response:
    """An answer with JSON that is bytes already; Content-Length is always sent."""
    return Response(content, status, mimetype=JSON)


def refuse(status: int, message: str) -> Response:
    """A short error answer."""
    return answer({"error": message[:MOST_MESSAGE]}, status)


def _begin() -> None:
    trace.begin(request.headers.get("Traceparent", ""))


def _end(_error: BaseException | None) -> None:
    trace.end()


def _check_post() -> Response | None:
    if request.method != "POST":
        return None
    # A chunked body over the limit would reach the handler cut off (werkzeug 3.1).
    if request.content_length is None:
        return refuse(411, "Content-Length is required")
    if request.content_length > MOST_BYTES:
        return refuse(413, f"the body is larger than {MOST_BYTES} bytes")
    if request.mimetype != JSON:
        return refuse(415, f"expected Content-Type {JSON}")
    return None


def _readiness(problems: Sequence[str]) -> Response:
    if problems:
        return answer({"status": "not ready", "problems": list(problems)}, 503)
    return answer({"status": "ready"})


def _metrics(registry: CollectorRegistry) -> Response:
    return Response(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)


def _http_error(error: HTTPException) -> Response:
    refusal = refuse(error.code or 500, f"{error.name}: {error.description}")
    # What belongs to the status: Allow, Location.
    refusal.headers.extend((name, value) for name, value in error.get_headers() if name in _KEPT)
    return refusal


def _postpone(_error: WaitError) -> Response:
    """Nothing anybody reads: the server asks again, in a thread."""
    request.environ[prompt.POSTPONED] = True
    return refuse(503, WaitError.__name__)


def _our_error(error: Exception) -> Response:
    _LOG.error("request failed", exc_info=error, extra={"path": request.path})
    return refuse(500, InternalServerError.__name__)

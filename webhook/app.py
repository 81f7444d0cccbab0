"""The route of the webhook: a body in, the answer of the rules out."""

import logging
import time
from collections.abc import Callable, Sequence
from typing import Final

from flask import Flask, Response

from podrail.admission import decision, review
from podrail.admission.decision import Answer, Directory, Verdict
from podrail.admission.review import Review
from podrail.errors import RequestError
from podrail_io import prompt, web
from podrail_io.prompt import WaitError
from webhook.metrics import Metrics

_LOG: Final = logging.getLogger(__name__)
_ODD: Final = {Verdict.DENIED, Verdict.FAILED}


def create(
    directory: Callable[[], Directory], problems: Callable[[], Sequence[str]], metrics: Metrics
) -> Flask:
    """The WSGI application."""
    app = web.application("podrail-webhook", problems, metrics.registry)

    prompt.declare(app, "/mutate")

    @app.post("/mutate")
    def mutate() -> Response:
        began = time.perf_counter()
        try:
            request = review.read(web.body())
        except RequestError as error:
            metrics.refused.inc()
            return web.refuse(error.status, str(error))
        answer = _answer(request, directory)
        seconds = time.perf_counter() - began
        metrics.count(answer)
        metrics.seconds.observe(seconds)
        _tell(request, answer, seconds)
        return web.raw(answer.body)

    return app


def _tell(request: Review, answer: Answer, seconds: float) -> None:
    """One line an admission: which pod, what became of it and why; nothing else of the pod."""
    level = logging.WARNING if answer.verdict in _ODD else logging.INFO
    marker = answer.marker
    told = {
        "uid": request.uid,
        "namespace": request.namespace,
        "pod": request.name,
        "verdict": answer.verdict.value,
        "code": answer.code,
        "profile": "" if marker is None else marker.profile,
        "operations": answer.operations,
        "ms": round(seconds * 1000, 3),
    }
    _LOG.log(level, "pod admitted", extra=told)


def _answer(request: Review, directory: Callable[[], Directory]) -> Answer:
    try:
        return decision.answer(request, directory())
    except WaitError:
        # On the main loop; the same request comes again in a thread.
        raise
    except Exception:  # noqa: BLE001 - a fault of ours must not stop anybody's pod
        _LOG.exception("admission failed", extra={"uid": request.uid})
        return decision.failed(request.uid)

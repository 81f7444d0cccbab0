"""The routes of the extender: kube-scheduler's calls in, answers of the rules out."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from flask import Flask, Response

from extender.binder import Binder
from extender.judge import Judge
from extender.metrics import Metrics
from podrail import extension
from podrail.errors import RequestError
from podrail.extension import Arguments
from podrail.placement import Misfit
from podrail_io import prompt, web


def create(
    judge: Judge, binder: Binder, metrics: Metrics, problems: Callable[[], Sequence[str]]
) -> Flask:
    """The WSGI application."""
    app = web.application("podrail-extender", problems, metrics.registry)

    def filtered(body: bytes) -> bytes:
        asked = extension.arguments(body)
        metrics.stale.inc(int(judge.stale))
        misfits = judge.filter(asked)
        for reason, times in Counter(misfits.values()).items():
            metrics.misfits.labels(reason.name.lower()).inc(times)
        return _filtered(asked, misfits)

    def prioritized(body: bytes) -> bytes:
        asked = extension.arguments(body)
        return extension.priorities(asked, judge.prioritize(asked))

    def bound(body: bytes) -> bytes:
        return extension.bound(binder.bind(extension.bind(body)))

    for verb, make in (("filter", filtered), ("prioritize", prioritized), ("bind", bound)):
        view = partial(_answer, verb, metrics, make)
        app.add_url_rule(f"/{verb}", verb, view, methods=["POST"])
    # A bind waits for the API server.
    prompt.declare(app, "/filter", "/prioritize")
    return app


def _filtered(asked: Arguments, misfits: Mapping[str, Misfit]) -> bytes:
    """Preemption may look at the nodes that are refused for now, and at no others."""
    temporary = {node: one.value for node, one in misfits.items() if one.temporary}
    refused = {node: one.value for node, one in misfits.items() if not one.temporary}
    return extension.filtered(asked, refused, temporary)


def _answer(verb: str, metrics: Metrics, make: Callable[[bytes], bytes]) -> Response:
    result = "failed"
    with metrics.seconds.labels(verb).time():
        try:
            answer = web.raw(make(web.body()))
            result = "answered"
        except RequestError as error:
            answer = web.refuse(error.status, str(error))
            result = "refused"
        finally:
            metrics.requests.labels(verb, result).inc()
    return answer

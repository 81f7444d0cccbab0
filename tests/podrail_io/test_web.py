from __future__ import annotations

import json
import logging
from importlib import metadata
from typing import TYPE_CHECKING, Any

import pytest
from prometheus_client import CollectorRegistry, Counter

from podrail_io import trace, web

if TYPE_CHECKING:
    from flask import Response
    from flask.testing import FlaskClient

JSON = "application/json"


@pytest.fixture
def problems() -> list[str]:
    """What keeps the application from being ready; a test may add to it."""
    return []


@pytest.fixture
def client(problems: list[str]) -> FlaskClient:
    registry = CollectorRegistry()
    Counter("podrail_calls", "Calls.", registry=registry).inc(3)
    app = web.application("test", lambda: problems, registry)

    @app.post("/echo")
    def _echo() -> Response:
        return web.raw(web.body())

    @app.post("/traced")
    def _traced() -> str:
        here = trace.here()
        return "" if here is None else here.span_id

    @app.post("/fail")
    def _fail() -> Response:
        raise RuntimeError("private detail")

    return app.test_client()


def test_health_says_ok(client: FlaskClient) -> None:
    """The process is alive if it can say so."""
    answer = client.get("/healthz")
    assert (200, {"status": "ok"}) == (answer.status_code, answer.get_json())


def test_readiness_lists_its_problems(client: FlaskClient, problems: list[str]) -> None:
    """Ready is 200; each reason not to be is named with a 503."""
    assert client.get("/readyz").status_code == 200
    problems += ["no nodes yet", "certificate expired"]
    answer = client.get("/readyz")
    assert (503, problems) == (answer.status_code, answer.get_json()["problems"])


def test_metrics_are_those_of_the_registry(client: FlaskClient) -> None:
    """/metrics is the registry in Prometheus's text format."""
    answer = client.get("/metrics")
    assert b"podrail_calls_total 3.0\n" in answer.data
    assert answer.content_type.startswith("text/plain; version=")


def test_metrics_say_which_podrail_it_is(client: FlaskClient) -> None:
    """Program and version, as a gauge that is always 1."""
    version = metadata.version("podrail")
    told = f'podrail_build_info{{program="test",version="{version}"}} 1.0'
    assert told in client.get("/metrics").text.splitlines()


def test_a_request_is_served_in_its_trace(client: FlaskClient) -> None:
    """And the next one, which has none, in none."""
    given = {"Traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}
    assert ["00f067aa0ba902b7", ""] == [
        client.post("/traced", data=b"{}", content_type=JSON, headers=headers).text
        for headers in (given, {})
    ]
    assert trace.here() is None


def test_the_body_is_the_bytes_sent(client: FlaskClient) -> None:
    """A handler gets the body as bytes and answers with a Content-Length."""
    answer = client.post("/echo", data=b'{"a":\xff}', content_type=JSON)
    assert (b'{"a":\xff}', 7) == (answer.data, answer.content_length)


@pytest.mark.parametrize(
    ("method", "path", "request_", "status"),
    [
        ("GET", "/nothing", {}, 404),
        ("GET", "/echo", {}, 405),
        ("POST", "/echo", {"content_type": JSON, "headers": {"Transfer-Encoding": "chunked"}}, 411),
        ("POST", "/echo", {"content_type": JSON, "content_length": web.MOST_BYTES + 1}, 413),
        ("POST", "/echo", {"content_type": "text/plain", "data": b"{}"}, 415),
        ("POST", "/echo", {"data": b"{}"}, 415),
        ("POST", "/fail", {"content_type": JSON, "data": b"{}"}, 500),
    ],
    ids=["path", "method", "no length", "too large", "wrong type", "no type", "our fault"],
)
def test_every_error_is_small_json(
    client: FlaskClient, method: str, path: str, request_: dict[str, Any], status: int
) -> None:
    """Whatever goes wrong the answer is {"error": "..."}, with a length and without a traceback."""
    answer = client.open(path, method=method, **request_)
    assert (status, JSON) == (answer.status_code, answer.mimetype)
    assert ["error"] == list(json.loads(answer.data))
    assert len(answer.data) == answer.content_length < 1000
    assert b"private detail" not in answer.data


def test_a_content_type_may_have_parameters(client: FlaskClient) -> None:
    """A charset after the media type changes nothing."""
    assert client.post("/echo", data=b"{}", content_type=JSON + "; charset=utf-8").data == b"{}"


def test_a_wrong_method_is_told_the_right_ones(client: FlaskClient) -> None:
    """RFC 9110 section 15.5.6: a 405 names the methods that are allowed."""
    assert {"POST", "OPTIONS"} == set(client.get("/echo").headers["Allow"].split(", "))


def test_our_fault_is_logged_with_its_traceback(
    client: FlaskClient, caplog: pytest.LogCaptureFixture
) -> None:
    """A 500 tells the caller nothing and the log everything."""
    with caplog.at_level(logging.ERROR):
        client.post("/fail", data=b"{}", content_type=JSON)
    assert ["private detail"] == [str(one.exc_info[1]) for one in caplog.records if one.exc_info]

"""The webhook at its HTTP surface: every body gets an answer, and nobody's pod is stopped by us."""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import Mapping
from typing import Any

import bodies
import builders
import fuzz
import hypothesis
import jsonpatch
import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from podrail import names
from podrail.admission.decision import Directory
from podrail_io import web
from webhook import app
from webhook.metrics import Metrics

MIB = 1024 * 1024


def labels(_namespace: str) -> Mapping[str, str]:
    """The labels of every namespace: none."""
    return {}


class Webhook:
    """The application behind Flask's test client, and what it counts."""

    def __init__(self, directory: Directory | None = None, *problems: str) -> None:
        self.metrics = Metrics(None)
        found = directory or Directory(builders.shipped(), labels)
        made = app.create(lambda: found, lambda: problems, self.metrics)
        self.client: FlaskClient = made.test_client()

    def post(self, body: bytes) -> TestResponse:
        """The answer to a body; the test client would send no length with an empty one."""
        length = {"CONTENT_LENGTH": str(len(body))}
        return self.client.post(
            "/mutate", data=body, content_type=web.JSON, environ_overrides=length
        )

    def response(self, body: bytes) -> dict[str, Any]:
        """The response in the review that answers a body."""
        answer = self.post(body)
        assert 200 == answer.status_code
        sent: dict[str, Any] = json.loads(answer.data)["response"]
        return sent

    def count(self, name: str, **labels: str) -> float | None:
        """The value of a metric."""
        return self.metrics.registry.get_sample_value(f"podrail_{name}", labels)


def test_a_labelled_pod_gets_a_patch_that_applies() -> None:
    """The whole way: a review in, a patch out that gives the pod its networks."""
    document = builders.document()
    sent = Webhook().response(builders.review(document))
    after = jsonpatch.JsonPatch(json.loads(base64.b64decode(sent["patch"]))).apply(document)
    networks = after["metadata"]["annotations"][names.NETWORKS].split(",")
    assert 8 == len(networks)
    assert ("train", 8 + 1) == (
        after["spec"]["containers"][0]["name"],
        len(after["spec"]["containers"][0]["resources"]["limits"]),
    )


def test_answers_are_json_with_a_length() -> None:
    """kube-apiserver reads the media type, and Go's client the length."""
    answer = Webhook().post(builders.review(builders.document()))
    assert (web.JSON, len(answer.data)) == (answer.mimetype, answer.content_length)


RANDOM = Webhook()


def check(answer: TestResponse) -> None:
    """A review or a refusal, as JSON and without a word about our insides."""
    assert (web.JSON, len(answer.data)) == (answer.mimetype, answer.content_length)
    assert b"Traceback" not in answer.data
    told = json.loads(answer.data)
    if answer.status_code == 200:
        assert isinstance(told["response"]["allowed"], bool)
        assert "internal error" not in str(told["response"].get("warnings"))
    else:
        assert (400, ["error"]) == (answer.status_code, list(told))


@fuzz.examples(2000)
@hypothesis.given(bodies.ANY)
def test_random_bodies_are_answered(body: bytes) -> None:
    """2,000 bodies, none of which is our fault: a review or a 400, and then the next."""
    check(RANDOM.post(body))


def test_the_application_answers_after_the_random_bodies() -> None:
    """The same application still injects, and has never had to blame itself."""
    assert "patch" in RANDOM.response(builders.review(builders.document()))
    assert 0 == RANDOM.count("admission_requests_total", result="failed", reason="")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"\xff\xfe",
        b'{"a":NaN}',
        builders.review({"metadata": float("nan")}),
        builders.review(builders.document(), uid=float("inf")),
        b"[" * 100_000,
        b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
        builders.review(builders.document()).replace(b'"spec": {', b'"spec": ' + b'{"a":' * 120, 1),
        b"9" * 5000,
        b'{"apiVersion":"v1","kind":"Pod"}',
    ],
    ids=["empty", "null", "not utf-8", "nan", "nan in a pod", "infinity", "deep list",
         "deep object", "deep and cut off", "long number", "a pod"],
)  # fmt: skip
def test_what_is_no_review_is_refused_and_counted(body: bytes) -> None:
    """400 with a reason."""
    webhook = Webhook()
    answer = webhook.post(body)
    assert 400 == answer.status_code
    check(answer)
    assert 1 == webhook.count("requests_refused_total")


def test_a_deep_pod_is_refused() -> None:
    """Whole JSON, but deeper than any object of Kubernetes."""
    deep: Any = "x"
    for _ in range(200):
        deep = {"a": deep}
    answer = Webhook().post(builders.review(builders.document(affinity=deep)))
    assert (400, "the body is nested deeper than 100 levels") == (
        answer.status_code,
        answer.get_json()["error"],
    )


@pytest.mark.parametrize(
    "document",
    [
        builders.document(annotations={"note": "x" * 3 * MIB}),
        builders.document(
            builders.container(env=[{"name": f"V{n}", "value": "x" * 20} for n in range(60_000)])
        ),
    ],
    ids=["one long annotation", "60,000 variables"],
)
def test_a_pod_of_three_mebibytes_is_injected(document: dict[str, Any]) -> None:
    """As large as the API server takes objects."""
    body = builders.review(document)
    assert len(body) > 3 * MIB
    assert "patch" in Webhook().response(body)


@pytest.mark.parametrize(
    ("method", "path", "given", "status"),
    [
        ("POST", "/mutate", {"data": b" " * (8 * MIB + 1), "content_type": web.JSON}, 413),
        ("POST", "/mutate", {"content_length": 10**15, "content_type": web.JSON}, 413),
        ("POST", "/mutate", {"content_type": web.JSON, "headers": {"Transfer-Encoding": "chunked"}}, 411),
        ("POST", "/mutate", {"data": builders.review({}), "content_type": "text/plain"}, 415),
        ("POST", "/mutate", {"data": builders.review({})}, 415),
        ("GET", "/mutate", {}, 405),
        ("DELETE", "/mutate", {}, 405),
        ("POST", "/mutate/", {"data": b"{}", "content_type": web.JSON}, 404),
        ("POST", "/validate", {"data": b"{}", "content_type": web.JSON}, 404),
        ("GET", "/", {}, 404),
        ("GET", "/../../etc/passwd", {}, 404),
        ("GET", "/%00%ff", {}, 404),
    ],
    ids=["over 8 MiB", "claims 1 PB", "no length", "wrong type", "no type", "get", "delete",
         "slash", "other path", "root", "up", "odd bytes"],
)  # fmt: skip
def test_a_wrong_request_is_refused_before_it_is_read(
    method: str, path: str, given: dict[str, Any], status: int
) -> None:
    """The status says what is wrong; the answer is small JSON, and the next review is served."""
    webhook = Webhook()
    answer = webhook.client.open(path, method=method, **given)
    assert (status, web.JSON, ["error"]) == (
        answer.status_code,
        answer.mimetype,
        list(json.loads(answer.data)),
    )
    assert "patch" in webhook.response(builders.review(builders.document()))


def broken(_namespace: str) -> Mapping[str, str]:
    """A look-up with a fault of ours."""
    raise RuntimeError("private detail")


def test_a_fault_of_ours_stops_nobodys_pod(caplog: pytest.LogCaptureFixture) -> None:
    """Allowed with a warning and without a patch; the log has the traceback, the author does not."""
    webhook = Webhook(Directory(builders.shipped(), broken))
    with caplog.at_level(logging.ERROR):
        sent = webhook.response(builders.review(builders.document()))
    assert {"uid", "allowed", "warnings"} == set(sent)
    assert ([True], 1) == ([sent["allowed"]], len(sent["warnings"]))
    assert "private detail" not in str(sent)
    assert ["private detail"] == [str(one.exc_info[1]) for one in caplog.records if one.exc_info]
    assert 1 == webhook.count("admission_requests_total", result="failed", reason="")


def test_an_unlabelled_pod_is_not_touched() -> None:
    """No patch, no warning."""
    sent = Webhook().response(builders.review(builders.document(fabric=None)))
    assert {"uid", "allowed"} == set(sent)


@pytest.mark.parametrize(
    ("document", "told"),
    [
        (builders.document(fabric="h100-typo"), "no fabric profile 'h100-typo'; there are "),
        (builders.document(annotations={names.NETWORKS: '[{"name":'}), names.NETWORKS),
        (
            builders.document(builders.container("a"), builders.container("b")),
            "containers a, b",
        ),
        (
            builders.document(builders.container(limits={"nvidia.com/rail0": "0.5"})),
            "expected a whole number of devices, got '0.5'",
        ),
    ],
    ids=["unknown profile", "malformed networks", "two GPU containers", "half a device"],
)
def test_the_authors_mistake_is_refused_with_what_to_change(
    document: dict[str, Any], told: str
) -> None:
    """allowed: false and 422 inside a 200, as kubectl prints it."""
    sent = Webhook().response(builders.review(document))
    assert (False, 422) == (sent["allowed"], sent["status"]["code"])
    assert told in sent["status"]["message"]


def test_every_review_is_counted_by_its_verdict() -> None:
    """Verdicts are there from the start, at nought."""
    webhook = Webhook()
    assert 0 == webhook.count("admission_requests_total", result="injected", reason="")
    for document in (
        builders.document(),
        builders.document(fabric=None),
        builders.document(fabric="x"),
    ):
        webhook.post(builders.review(document))
    webhook.post(b"{}")
    counts = {
        verdict: webhook.count("admission_requests_total", result=verdict, reason=reason)
        for verdict, reason in (
            ("injected", ""),
            ("not_opted_in", ""),
            ("denied", "UnknownProfile"),
            ("failed", ""),
        )
    }
    assert {"injected": 1, "not_opted_in": 1, "denied": 1, "failed": 0} == counts
    assert (3, 1) == (webhook.count("admission_duration_seconds_count"), webhook.count("requests_refused_total"))  # fmt: skip


def test_metrics_are_served_as_text() -> None:
    """/metrics shows the counters of this process."""
    webhook = Webhook()
    webhook.post(builders.review(builders.document()))
    told = webhook.client.get("/metrics").text
    assert 'podrail_admission_requests_total{reason="",result="injected"} 1.0\n' in told


def test_a_refused_pod_is_logged_with_its_code(caplog: pytest.LogCaptureFixture) -> None:
    """Without what its author wrote."""
    with caplog.at_level(logging.WARNING):
        Webhook().post(builders.review(builders.document(fabric="typo")))
    found = [vars(one) for one in caplog.records]
    assert [("denied", "UnknownProfile", "team")] == [
        (one["verdict"], one["code"], one["namespace"]) for one in found
    ]


def test_an_admission_is_one_line(caplog: pytest.LogCaptureFixture) -> None:
    """Which pod, what became of it, by which profile and how much; nothing else of the pod."""
    document = builders.document(annotations={"private": "detail"})
    document["metadata"]["generateName"] = "worker-"
    with caplog.at_level(logging.INFO):
        Webhook().post(builders.review(document))
    (found,) = (vars(one) for one in caplog.records if one.name == "webhook.app")
    expected = {
        "message": "pod admitted",
        "levelname": "INFO",
        "namespace": "team",
        "pod": "worker-",
        "verdict": "injected",
        "code": "",
        "profile": document["metadata"]["labels"][names.FABRIC],
    }
    assert expected == {key: found[key] for key in expected}
    assert (True, True) == (found["operations"] > 1, found["ms"] > 0)
    assert "detail" not in str(found)


def test_what_pods_were_given_is_counted() -> None:
    """Networks and devices by their number; a pod that was skipped adds nothing."""
    webhook = Webhook()
    webhook.post(builders.review(builders.document()))
    given = [webhook.count("injections_total", kind=one) for one in ("networks", "resources")]
    webhook.post(builders.review(builders.document(builders.container(gpus=0))))
    assert [8, 8] == given
    assert given == [
        webhook.count("injections_total", kind=one) for one in ("networks", "resources")
    ]


def test_readiness_repeats_the_problems() -> None:
    """503 with each reason; 200 without one; health does not depend on it."""
    unready = Webhook(None, "namespaces are not synced").client
    answer = unready.get("/readyz")
    assert (503, ["namespaces are not synced"]) == (
        answer.status_code,
        answer.get_json()["problems"],
    )
    assert 200 == unready.get("/healthz").status_code
    assert 200 == Webhook().client.get("/readyz").status_code

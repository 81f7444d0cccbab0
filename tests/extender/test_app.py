"""The extender at its HTTP surface, through Flask's test client."""

from __future__ import annotations

import json
import logging
from typing import Any

import fuzz
import hypothesis
import pytest
import staging
from hypothesis import strategies as st

HALVES = staging.halves()
ARGUMENTS = {"Pod": staging.injected(HALVES, gpus=8), "Nodes": None, "NodeNames": ["a", "b", "c"]}


def stage() -> staging.Stage:
    """An extender that knows three nodes."""
    made = staging.Stage(HALVES)
    made.sees_nodes(a="good", b="bad", c="small")
    return made


def test_filter_answers_by_name_with_constant_reasons() -> None:
    """The whole document, as kube-scheduler decodes it."""
    found = stage()
    assert {
        "NodeNames": ["a", "b"],
        "FailedNodes": {},
        "FailedAndUnresolvableNodes": {
            "c": "podrail: the machine type has fewer GPUs than the pod asks for"
        },
        "Error": "",
    } == found.post("filter", ARGUMENTS)
    assert 1 == found.count("nodes_refused_total", reason="too_few_gpus")


def test_prioritize_answers_whole_numbers() -> None:
    """A bare list with a host for each name."""
    answer = stage().client.post("/prioritize", json={**ARGUMENTS, "NodeNames": ["a", "b"]})
    assert b'[{"Host":"a","Score":10},{"Host":"b","Score":4}]' == answer.data


@pytest.mark.parametrize("verb", ["filter", "prioritize", "bind"])
def test_every_answer_carries_its_length(verb: str) -> None:
    """A chunked reply costs kube-scheduler the connection."""
    body = {"PodName": "p", "PodNamespace": "n", "PodUID": "u", "Node": "a"} | ARGUMENTS
    found = stage()
    found.sees_pod({**staging.stranger(), "metadata": {"name": "p", "namespace": "n", "uid": "u"}})
    answer = found.client.post(f"/{verb}", json=body)
    assert (200, str(len(answer.data))) == (answer.status_code, answer.headers["Content-Length"])


def test_a_call_with_an_old_view_is_counted() -> None:
    """The only sign of a stale extender that anybody can see."""
    found = stage()
    found.now += 301
    assert ["a", "b", "c"] == found.post("filter", ARGUMENTS)["NodeNames"]
    assert 1 == found.count("stale_calls_total")


@pytest.mark.parametrize("verb", ["filter", "prioritize", "bind"])
@pytest.mark.parametrize(
    "body", [b"{", b"[]", b'{"Pod":NaN}', b"[" * 5000, b'{"Pod":{}}', b"\xff"], ids=repr
)
def test_a_body_that_is_no_request_gets_a_short_json_answer(verb: str, body: bytes) -> None:
    """4xx: kube-scheduler goes on without us."""
    answer = stage().client.post(f"/{verb}", data=body, content_type="application/json")
    assert 400 == answer.status_code
    assert {"error"} == json.loads(answer.data).keys()
    assert len(answer.data) < 1000


@pytest.mark.parametrize("verb", ["filter", "prioritize"])
@pytest.mark.parametrize(
    "pod",
    [
        {"metadata": {"annotations": ["a"]}, "spec": {}},
        {"metadata": {"labels": {"a": 1}}, "spec": {}},
        {"metadata": {"ownerReferences": ["x"]}, "spec": {}},
        {"metadata": {}, "spec": {"containers": 5}},
        {"metadata": {}, "spec": {"containers": [{"resources": {"limits": 8}}]}},
    ],
    ids=["annotations", "labels", "owners", "containers", "limits"],
)
def test_a_pod_of_the_wrong_form_is_refused_with_its_path(verb: str, pod: Any) -> None:
    """The API server never sends one; anybody else gets a 400 and no traceback."""
    answer = stage().client.post(f"/{verb}", json={**ARGUMENTS, "Pod": pod})
    assert 400 == answer.status_code
    assert json.loads(answer.data)["error"].startswith("Pod.")


ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2)
    ),
    max_leaves=4,
)


def changed(document: Any, steps: list[int], value: object) -> Any:
    """The document with one part, found by the steps, put in place of another."""
    if not steps or not isinstance(document, dict | list) or not document:
        return value
    keys = list(document) if isinstance(document, dict) else list(range(len(document)))
    key = keys[steps[0] % len(keys)]
    copy = document.copy()
    copy[key] = changed(document[key], steps[1:], value)
    return copy


@fuzz.examples(300)
@hypothesis.given(
    st.sampled_from(["filter", "prioritize"]), st.lists(st.integers(0, 9), max_size=7), ODD
)
def test_no_document_makes_the_extender_fail(verb: str, steps: list[int], value: object) -> None:
    """One part of a good request replaced by anything: an answer or a refusal, never a 5xx."""
    answer = STAGE.client.post(
        f"/{verb}",
        data=json.dumps(changed(ARGUMENTS, steps, value)),
        content_type="application/json",
    )
    assert answer.status_code in {200, 400}


STAGE = stage()


def test_a_fault_of_our_own_is_a_short_answer_and_a_logged_traceback(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """kube-scheduler falls back to its own binder; the log says where it broke."""
    found = stage()

    def broken() -> None:
        raise ZeroDivisionError

    found.api.takes = broken
    document = {**staging.stranger(), "metadata": {"name": "p", "namespace": "n", "uid": "u"}}
    found.sees_pod(document)
    with caplog.at_level(logging.ERROR):
        body = {"PodName": "p", "PodNamespace": "n", "PodUID": "u", "Node": "a"}
        answer = found.client.post("/bind", json=body)
    assert (500, {"error": "InternalServerError"}) == (answer.status_code, answer.json)
    assert "ZeroDivisionError" in caplog.text
    assert 200 == found.client.get("/healthz").status_code


def test_calls_are_counted_by_what_came_of_them() -> None:
    """Answered, refused as no request, or failed by a fault of ours."""
    found = stage()

    def broken() -> None:
        raise ZeroDivisionError

    found.api.takes = broken
    found.sees_pod({**staging.stranger(), "metadata": {"name": "p", "namespace": "n", "uid": "u"}})
    found.post("filter", ARGUMENTS)
    found.client.post("/filter", json={})
    found.client.post(
        "/bind", json={"PodName": "p", "PodNamespace": "n", "PodUID": "u", "Node": "a"}
    )
    assert [1, 1, 1] == [
        found.count("extender_requests_total", verb=verb, result=result)
        for verb, result in (("filter", "answered"), ("filter", "refused"), ("bind", "failed"))
    ]
    assert 2 == found.count("extender_duration_seconds_count", verb="filter")


def test_nodes_are_counted_by_what_is_known_of_them() -> None:
    """As it is at each scrape."""
    found, counts = stage(), {"catalog": 2}
    found.metrics.export_nodes(lambda: counts)
    counts["none"] = 1
    assert (2, 1) == (found.count("nodes", state="catalog"), found.count("nodes", state="none"))


def test_the_metrics_name_no_pod_and_no_node() -> None:
    """Labels are verbs, kinds and reasons only; age and sync of the view are there."""
    found = stage()
    found.post("filter", ARGUMENTS)
    text = found.client.get("/metrics").text
    assert "worker-0" not in text
    assert 'verb="filter"' in text
    assert "podrail_cache_synced 1.0" in text
    assert "podrail_cache_age_seconds 0.0" in text

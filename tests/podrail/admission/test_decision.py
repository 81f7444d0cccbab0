"""The answer to an AdmissionReview, whoever is at fault."""

from __future__ import annotations

import base64
import json
from typing import Any

import builders
import hypothesis
import jsonpatch
import pytest
from hypothesis import strategies as st

from podrail import names, profile
from podrail.admission import decision, review
from podrail.admission.decision import Answer, Directory, Verdict
from podrail.admission.injection import Injection
from podrail.errors import RequestError


def answer(body: bytes, labels: dict[str, str] | None = None, *, seen: bool = True) -> Answer:
    """The answer in a cluster whose only namespace has these labels."""
    directory = Directory(builders.shipped(), lambda _name: (labels or {}) if seen else None)
    return decision.answer(review.read(body), directory)


def response(found: Answer) -> dict[str, Any]:
    """The response inside the answer."""
    parsed = json.loads(found.body)
    assert ("admission.k8s.io/v1", "AdmissionReview") == (parsed["apiVersion"], parsed["kind"])
    assert "705ab4f5-6393-11e8-b7cc-42010a800002" == parsed["response"]["uid"]
    sent: dict[str, Any] = parsed["response"]
    return sent


def test_an_opted_in_pod_is_allowed_with_a_patch_that_applies() -> None:
    """The patch is a JSON Patch of the pod that was sent."""
    document = builders.document()
    found = answer(builders.review(document))
    sent = response(found)
    operations = json.loads(base64.b64decode(sent["patch"]))
    after = jsonpatch.JsonPatch(operations).apply(document)
    assert (Verdict.INJECTED, True, "JSONPatch") == (
        found.verdict,
        sent["allowed"],
        sent["patchType"],
    )
    assert names.INJECTED in after["metadata"]["annotations"]
    assert sent["warnings"][0].startswith("podrail: injected sriov-rails into container train")


def test_a_second_review_of_the_patched_pod_has_no_patch() -> None:
    """Reinvocation finds nothing to do."""
    document = builders.document()
    operations = json.loads(base64.b64decode(response(answer(builders.review(document)))["patch"]))
    after = jsonpatch.JsonPatch(operations).apply(document)
    assert "patch" not in response(answer(builders.review(after)))


@pytest.mark.parametrize(
    ("document", "labels"),
    [
        (builders.document(fabric=None), {}),
        (builders.document(fabric="none"), {names.FABRIC: "tcp"}),
        (builders.document(fabric=None), {names.FABRIC: "none"}),
    ],
)
def test_a_pod_that_has_not_opted_in_is_allowed_untouched(document: Any, labels: Any) -> None:
    """Neither patch nor warning."""
    found = answer(builders.review(document), labels)
    assert (Verdict.NOT_OPTED_IN, {"uid", "allowed"}) == (found.verdict, set(response(found)))


def test_the_namespaces_label_opts_its_pods_in() -> None:
    """A pod without a label has its namespace's profile."""
    found = answer(builders.review(builders.document(fabric=None)), {names.FABRIC: "tcp"})
    assert Verdict.INJECTED is found.verdict


def test_a_namespace_that_is_not_known_yet_lets_the_pod_pass_with_a_warning() -> None:
    """The policy decides what becomes of it."""
    found = answer(builders.review(builders.document(fabric=None)), seen=False)
    assert Verdict.NAMESPACE_NOT_SEEN is found.verdict
    assert "NamespaceNotSeen" in response(found)["warnings"][0]


def test_an_unknown_profile_of_the_pods_own_label_is_refused() -> None:
    """The message lists the profiles that there are."""
    found = answer(builders.review(builders.document(fabric="h100-typo")))
    message = response(found)["status"]["message"]
    assert (Verdict.DENIED, "UnknownProfile") == (found.verdict, found.code)
    assert f"'h100-typo'; there are {', '.join(sorted(builders.shipped()))}" in message


def test_an_unknown_profile_of_the_namespace_refuses_only_pods_with_gpus() -> None:
    """Others are skipped with a marker."""
    labels = {names.FABRIC: "typo"}
    with_gpu = answer(builders.review(builders.document(fabric=None)), labels)
    without = builders.document(builders.container(gpus=0), fabric=None)
    assert Verdict.DENIED is with_gpu.verdict
    assert Verdict.SKIPPED is answer(builders.review(without), labels).verdict


def test_a_profile_that_is_not_for_the_namespace_is_refused() -> None:
    """Its namespaceSelector decides."""
    only = builders.fabric("gold", namespaceSelector={"matchLabels": {"tier": "gold"}})
    directory = Directory({"gold": only}, lambda _name: {"tier": "tin"})
    found = decision.answer(
        review.read(builders.review(builders.document(fabric="gold"))), directory
    )
    assert "ProfileNotForNamespace" == found.code


@pytest.mark.parametrize(
    ("of_the_job", "remembered", "expected", "told"),
    [
        (None, (), "106", False),
        (2, (), "106", False),
        (1, (1,), "96", False),
        (1, (), "106", True),
    ],
    ids=["first pod", "same generation", "older, remembered", "older, forgotten"],
)
def test_a_job_keeps_the_generation_of_its_first_pod(
    of_the_job: int | None, remembered: tuple[int, ...], expected: str, told: bool
) -> None:
    """While a pod of it lives; if that generation is forgotten a warning says that ranks differ."""

    def generation(number: int, value: str) -> Any:
        document = builders.profile_document(settings=[{"name": "NCCL_IB_TC", "value": value}])
        document["metadata"]["generation"] = number
        return profile.read(document)

    older = {("fabric", 1): generation(1, "96")} if remembered else {}
    directory = Directory(
        {"fabric": generation(2, "106")},
        generation=lambda name, job: of_the_job if (name, job) == ("fabric", "team/x") else None,
        earlier=lambda name, number: older.get((name, number)),
    )
    labels = {"batch.kubernetes.io/job-name": "x"}
    found = decision.decide(builders.pod(fabric="fabric", labels=labels), directory)
    assert isinstance(found, Injection)
    assert f"NCCL_IB_TC={expected}\n" == found.pod.annotations[names.NCCL_CONF]
    assert told == any("ProfileChangedMidJob" in warning for warning in found.warnings)


def test_a_suspended_profile_stops_every_job_at_once() -> None:
    """Also those that began with an earlier generation."""
    off = builders.fabric("fabric", mode="Suspended")
    directory = Directory({"fabric": off}, generation=lambda _name, _job: 7)
    found = decision.decide(builders.pod(fabric="fabric"), directory)
    assert isinstance(found, Injection)
    assert "Suspended" == found.marker.reason


def test_a_profile_that_stands_in_wins_over_labels_but_not_over_opting_out() -> None:
    """For the command's --profile."""
    tcp = builders.shipped()["tcp"]
    found = decision.decide(builders.pod(fabric="no-such"), Directory({}), tcp)
    assert isinstance(found, Injection)
    out = decision.decide(builders.pod(fabric="none"), Directory({}), tcp)
    assert decision.Untouched(Verdict.NOT_OPTED_IN) == out


@pytest.mark.parametrize(
    ("document", "code"),
    [
        (
            builders.document(builders.container("a"), builders.container("b")),
            "SeveralGpuContainers",
        ),
        (builders.document(annotations={names.NETWORKS: '[{"name":'}), "MalformedNetworks"),
        (
            builders.document(builders.container(limits={"nvidia.com/rail0": "0.5"})),
            "MalformedQuantity",
        ),
        ({"metadata": {"labels": {names.FABRIC: 7}}}, "MalformedPod"),
        ({"metadata": []}, "MalformedPod"),
        ({"spec": {"containers": {}}}, "MalformedPod"),
        ({"spec": {"containers": [{"name": 5}]}}, "MalformedPod"),
        ({"spec": {"containers": [{"env": "x"}]}}, "MalformedPod"),
        ({"spec": {"containers": [{"resources": {"limits": []}}]}}, "MalformedPod"),
        ("pod", "MalformedPod"),
    ],
)
def test_the_users_mistake_is_refused_with_its_path(document: Any, code: str) -> None:
    """allowed: false, with a message that says where and what."""
    found = answer(builders.review(document))
    sent = response(found)
    assert (code, False, "patch" in sent) == (found.code, sent["allowed"], False)
    assert sent["status"]["message"].startswith("podrail: ")


@pytest.mark.parametrize(
    "change", [{"operation": "UPDATE"}, {"resource": {"resource": "nodes"}}, {"resource": 5}]
)
def test_anything_but_the_creation_of_a_pod_passes(change: dict[str, Any]) -> None:
    """The registration sends nothing else, and nothing else is touched."""
    assert Verdict.NOT_OPTED_IN is answer(builders.review(builders.document(), **change)).verdict


@pytest.mark.parametrize("uid", [None, "", 5, "x" * 200, "a\nb"])
def test_a_review_without_a_usable_uid_is_a_request_error(uid: object) -> None:
    """There is nobody to answer."""
    with pytest.raises(RequestError, match=r"request\.uid"):
        review.read(builders.review({}, uid=uid))


@pytest.mark.parametrize(
    "body",
    [b"null", b"[]", b"{}", b'{"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview"}',
     b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":[]}'],
)  # fmt: skip
def test_what_is_no_review_is_a_request_error(body: bytes) -> None:
    """Another kind, another version, no request."""
    with pytest.raises(RequestError):
        review.read(body)


@pytest.mark.parametrize(
    ("object_", "request_", "name"),
    [
        ({"metadata": {"name": "p"}}, {"name": "p"}, "p"),
        ({"metadata": {"generateName": "p-"}}, {"name": ""}, "p-"),
        ({"metadata": {"generateName": 5}}, {"name": 5}, ""),
        ({"metadata": []}, {}, ""),
        ([], {}, ""),
    ],
    ids=["name", "generated", "no texts", "no metadata", "no object"],
)
def test_a_pod_is_called_by_its_name_or_what_it_begins_with(
    object_: Any, request_: dict[str, Any], name: str
) -> None:
    """For the log; whatever stands there is no error."""
    assert name == review.read(builders.review(object_, **request_)).name


def test_our_own_failure_lets_the_pod_pass_without_a_marker() -> None:
    """The policy decides, and the author reads whose fault it was."""
    sent = json.loads(decision.failed("u").body)["response"]
    assert (True, None) == (sent["allowed"], sent.get("patch"))
    assert "internal error" in sent["warnings"][0]


class Unequal(dict[str, Any]):
    """A document that no patch leads to."""

    __hash__ = None

    def __eq__(self, other: object) -> bool:
        return False


def test_a_patch_that_is_not_proven_is_not_sent() -> None:
    """The pod passes unchanged instead."""
    given = review.Review("u", "team", "pods", "CREATE", Unequal(builders.document()))
    directory = Directory(builders.shipped(), lambda _name: {})
    assert decision.failed("u") == decision.answer(given, directory)


def test_a_long_warning_is_cut_where_the_api_server_would_cut_it() -> None:
    """At 256 characters."""
    sent = json.loads(review.allow("u", ("x" * 500,)))["response"]
    assert [256] == [len(warning) for warning in sent["warnings"]]


KEYS = st.sampled_from(["metadata", "labels", "annotations", "spec", "containers", "name", "env", "limits",
                        "resources", "volumes", names.FABRIC, names.NETWORKS, "nvidia.com/gpu"])  # fmt: skip
VALUES = (
    st.none()
    | st.booleans()
    | st.integers(-1, 9)
    | st.sampled_from(["tcp", "8", "a,b", "[{}]", "\ud800", ""])
)
TREES = st.recursive(
    VALUES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


@hypothesis.settings(max_examples=300, deadline=None)
@hypothesis.given(TREES, st.dictionaries(KEYS, TREES, max_size=4))
def test_any_pod_document_gets_an_answer(spec: Any, metadata: Any) -> None:
    """Whatever stands where a pod should be, the answer is an AdmissionReview."""
    document = {
        "metadata": {**metadata, "labels": {names.FABRIC: "sriov-rails"}},
        "spec": {"containers": [spec]},
    }
    sent = response(answer(builders.review(document)))
    assert isinstance(sent["allowed"], bool)

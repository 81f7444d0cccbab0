"""The benchmark's bodies are what the figures say they are."""

from __future__ import annotations

import json

import builders
import payloads
import pytest
from payloads import Size

from podrail import extension, names
from podrail.admission import decision, patch, review
from podrail.admission.decision import Directory, Verdict

SIZES = [
    pytest.param(payloads.SMALL, 5_500, 6_500, id="6 KB"),
    pytest.param(payloads.LARGE, 57_000, 63_000, id="60 KB"),
]


@pytest.mark.parametrize(("size", "least", "most"), SIZES)
def test_a_review_has_its_size(size: Size, least: int, most: int) -> None:
    """Within a tenth of the size it is called by, on one line."""
    body = payloads.review(size)
    assert least <= len(body) <= most
    assert b"\n" not in body


@pytest.mark.parametrize("size", [payloads.SMALL, payloads.LARGE], ids=lambda size: size.name)
def test_a_review_is_injected_whole(size: Size) -> None:
    """Eight networks and eight resources: the measured path is the longest one."""
    directory = Directory(builders.shipped(), lambda _namespace: {})
    request = review.read(payloads.review(size))
    answer = decision.answer(request, directory)
    # The answer was proven by applying it to the request's own document.
    marker = json.loads(request.object["metadata"]["annotations"][names.INJECTED])
    assert (Verdict.INJECTED, payloads.PROFILE) == (answer.verdict, marker["profile"])
    assert (8, 8) == (len(marker["networks"]), len(marker["resources"]))


def test_the_creation_is_the_reviews_pod() -> None:
    """What the API server is sent has nothing in it that the webhook would not see."""
    written, shown = json.loads(payloads.creation(payloads.SMALL)), payloads.shown(payloads.SMALL)
    added = [one for one in patch.diff(shown, {**shown, **written}) if one["op"] == "add"]
    assert [] == added


def test_a_question_names_every_node() -> None:
    """ExtenderArgs of an injected pod, each name once, half of them of each shape."""
    asked = extension.arguments(payloads.arguments(50))
    shapes = [one["metadata"]["labels"][names.INSTANCE_TYPE] for one in payloads.cluster(50)]
    assert names.INJECTED in asked.pod["metadata"]["annotations"]
    assert 50 == len(set(asked.nodes))
    assert [25, 25] == [shapes.count(one) for one in sorted(set(shapes))]


def test_other_pods_come_with_the_same_names_in_another_order() -> None:
    """Chunks of the square root of their number, each in the order of the cluster."""
    first, second = (json.loads(one) for one in payloads.others(49, 2))
    assert {first["Pod"]["metadata"]["uid"]} < {"uid-0", second["Pod"]["metadata"]["uid"]}
    assert sorted(first["NodeNames"]) == sorted(second["NodeNames"])
    assert first["NodeNames"] != second["NodeNames"]
    chunks = [first["NodeNames"][at : at + 7] for at in range(0, 49, 7)]
    assert chunks == [sorted(some) for some in chunks]

"""An explanation as a plain document."""

from __future__ import annotations

import json

import builders
import placing
import scenes

from podrail import account, explanation, marker
from podrail.marker import Injected, Reason

RAILS = builders.shipped()["sriov-rails"]


def test_each_reason_comes_with_what_to_do() -> None:
    """Out of the catalogue; a code that is not in it, of a later version, keeps its message."""
    reasons = (Reason("NoGpu", "spec", "none"), Reason("FromTomorrow", "spec", "new"))
    found = account.injected(Injected("p", 1, reasons=reasons))["reasons"]
    assert [("skipped", "user", True), (None, None, False)] == [
        (one["severity"], one["who"], bool(one["remedy"])) for one in found
    ]
    assert "new" == found[1]["message"]


def test_the_marker_is_told_whole() -> None:
    """But for the version of its format."""
    given = Injected("p", 3, rails=(0, 1), kept=("env/X",))
    expected = {**given.document(), "reasons": []}
    del expected["v"]
    assert expected == account.injected(given)


def test_an_explanation_is_json() -> None:
    """Every part with its weight; the best nodes, the nearest misses, the refusals."""
    pod = placing.injected(
        RAILS, builders.container(), labels={"batch.kubernetes.io/job-name": "j"}
    )
    world = scenes.snap(*(scenes.node(name) for name in "abcd"), scenes.node("s", gpus=2))
    found = explanation.explain(pod, placing.wish(pod), RAILS, world)
    document = account.placed(found)
    assert document == json.loads(json.dumps(document))
    assert (["a", "b", "c"], ["s"], {"total": 5, "fit": 4}) == (
        [one["node"] for one in document["best"]],
        [one["node"] for one in document["misses"]],
        document["nodes"],
    )
    assert {"key": "team/j", "rule": "job", "size": None, "atLeast": 1, "index": None, "bound": 0} == document["job"]  # fmt: skip
    assert ["part", "value", "weight", "adds", "means"] == list(document["best"][0]["parts"][0])
    assert marker.injected(pod["metadata"]["annotations"]["podrail.dev/injected"]) == found.wish.marker  # fmt: skip


def test_what_no_node_offers_has_a_code_and_says_who_asks_for_it() -> None:
    """The profile, or the pod itself."""
    pod = placing.injected(RAILS, builders.container(limits={"x.io/nic": "1"}))
    node = scenes.node("a")
    del node["status"]["allocatable"]["nvidia.com/rail3"]
    found = explanation.explain(pod, placing.wish(pod), RAILS, scenes.snap(node))
    assert [
        ("ResourceNotAdvertised", "nvidia.com/rail3", "sriov-rails"),
        ("ResourceNotAdvertised", "x.io/nic", None),
    ] == [(one["code"], one["resource"], one["profile"]) for one in account.placed(found)["absent"]]

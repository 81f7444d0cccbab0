"""What became of a pod."""

from __future__ import annotations

import json
from typing import Any

import builders
import pytest
import scenes

from podrail import fate, names

PLACED = {
    "v": 1,
    "rails": [0, 1],
    "tier": "PIX",
    "expected": 0.9,
    "evidence": "catalog",
    "score": {"total": 8},
    "conflict": False,
}


def test_a_bound_pod_tells_what_was_expected() -> None:
    """As the placement marker has it."""
    document = builders.document(annotations={names.PLACEMENT: json.dumps(PLACED)})
    found = fate.of(scenes.bound(document, "n1", phase="Running"))
    assert ("Running", "n1", "") == (found["phase"], found["node"], found["waiting"])
    assert {
        "rails": [0, 1], "tier": "PIX", "expected": 0.9, "evidence": "catalog",
        "points": 8, "of": 10, "conflict": False,
    } == found["placement"]  # fmt: skip


@pytest.mark.parametrize(
    "text", [None, "", "{", "[]", '{"v":2}', "[" * 100_000], ids=lambda one: str(one)[:6]
)
def test_a_marker_that_cannot_be_read_is_none(text: str | None) -> None:
    """Somebody may have edited it."""
    annotations = None if text is None else {names.PLACEMENT: text}
    assert fate.of(builders.document(annotations=annotations))["placement"] is None


def test_a_marker_without_a_score_has_no_points() -> None:
    """Bound while nothing was known of the node."""
    text = json.dumps({**PLACED, "score": None})
    found = fate.of(builders.document(annotations={names.PLACEMENT: text}))
    assert found["placement"]["points"] is None


@pytest.mark.parametrize(
    ("condition", "told"),
    [
        ({"type": "PodScheduled", "status": "False", "message": "0/3 nodes"}, "0/3 nodes"),
        ({"type": "PodScheduled", "status": "False", "reason": "Gated"}, "Gated"),
        ({"type": "PodScheduled", "status": "True"}, ""),
        ({"type": "Ready", "status": "False", "message": "no"}, ""),
    ],
)
def test_a_pod_that_waits_says_for_what(condition: dict[str, Any], told: str) -> None:
    """In kube-scheduler's words."""
    pod = {**builders.document(), "status": {"conditions": [condition]}}
    assert told == fate.of(pod)["waiting"]


def test_an_empty_document_has_no_fate() -> None:
    """Nothing is known, and nothing is an error."""
    assert {"phase": "", "node": "", "scheduler": "", "placement": None, "waiting": ""} == fate.of(
        {}
    )

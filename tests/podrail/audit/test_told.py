"""What has been said of a pod, as its annotation remembers it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podrail.audit import told
from podrail.audit.told import MOST_TIMES, NOTHING, Times, Told


def test_an_outcome_is_told_once_more() -> None:
    """Its count grows, its first time stays."""
    before = Told(1, "A", (Times("A", 2, "then"),))
    assert Times("A", 3, "then") == before.again("A", "now")
    assert Times("B", 1, "now") == before.again("B", "now")
    full = Told(1, "A", (Times("A", MOST_TIMES, "then"),))
    assert MOST_TIMES == full.again("A", "now").count


def annotation(**fields: object) -> str:
    """A report."""
    entry = {"outcome": "A", "count": 2, "first": "then"}
    return json.dumps({"v": 1, "n": 4, "outcome": "A", "told": [entry], **fields})


def test_an_annotation_is_read_back() -> None:
    """Of its text a digest."""
    text = annotation()
    assert Told(4, "A", (Times("A", 2, "then"),), told.digest(text)) == told.read(text)


@pytest.mark.parametrize(
    "text",
    [None, "", "x", "[]", annotation(v=2), annotation(n=-1), annotation(told=[{"count": "x"}])],
)
def test_what_is_not_ours_says_nothing(text: str | None) -> None:
    """It is then written anew."""
    assert told.read(text) is NOTHING


@given(st.text() | st.recursive(st.none() | st.integers(), st.lists, max_leaves=4).map(json.dumps))
def test_any_text_is_answered(text: str) -> None:
    """No annotation makes it raise."""
    assert told.read(text) is NOTHING

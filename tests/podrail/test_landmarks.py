"""The table of label keys, and a document that adds to it."""

from __future__ import annotations

import checkout
import pytest

from podrail import landmarks, locality
from podrail.errors import MalformedError
from podrail.landmarks import SHIPPED, Family


def test_a_document_comes_before_the_shipped_keys() -> None:
    """Its families win between equals; shipped ones stay for other nodes."""
    found = landmarks.read(
        {
            "families": [{"name": "ours", "leaf": ["example.com/leaf"]}],
            "zone": ["example.com/hall"],
            "domain": ["example.com/nvlink"],
            "unknown": ["TBD"],
        }
    )
    labels = {"example.com/leaf": "l", "topology.kubernetes.io/rack": "r", "example.com/hall": "h"}
    place = locality.of(labels, found)
    assert ("ours", "l", "h") == (place.family, place.leaf, place.zone)
    assert "rack" == locality.of({**labels, "example.com/leaf": "tbd"}, found).family
    assert SHIPPED.families == found.families[1:]


def test_the_shipped_keys_can_be_left_out() -> None:
    """Then only the document's own keys count."""
    document = {"shipped": False, "families": [{"name": "own", "ladder": ["a", "b"]}]}
    assert (Family("own", ladder=("a", "b")),) == landmarks.read(document).families
    assert () == landmarks.read(document).zone


def test_every_problem_of_a_document_is_told_with_its_path() -> None:
    """Unknown fields, keys that no label can have, a family that is both or neither."""
    document = {
        "families": [
            {"name": "both", "leaf": ["a"], "ladder": ["b"]},
            {"leaf": ["-", "not a key"], "spine": []},
            {"name": "neither"},
        ],
        "zones": [],
    }
    with pytest.raises(MalformedError) as caught:
        landmarks.read(document)
    assert {
        "families[0].ladder",
        "families[1].name",
        "families[1].leaf[1]",
        "families[1].spine",
        "families[2].ladder",
        "zones",
    } == {problem.path for problem in caught.value.problems}


def test_the_page_has_the_table() -> None:
    """docs/user/locality.md ends with the table: write landmarks.table() there after a change."""
    page = checkout.text(checkout.ROOT / "docs/user/locality.md")
    assert page.endswith(landmarks.table())


def test_the_page_has_the_worth_of_each_level() -> None:
    """The numbers on the page are those of the code."""
    page = checkout.text(checkout.ROOT / "docs/user/locality.md")
    for level, worth in locality.SAME.items():
        assert f"| {level.name.lower()} | {worth} | {locality.APART[level]} |" in page

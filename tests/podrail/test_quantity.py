"""Quantities of devices."""

from __future__ import annotations

import pytest

from podrail import quantity


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("8", 8),
        (8, 8),
        ("0", 0),
        ("1k", 1000),
        ("8000m", 8),
        ("1Ki", 1024),
        ("2e1", 20),
        ("8.", 8),
        ("+8", 8),
        (8.0, 8),
    ],
)
def test_whole_quantities_are_counts(value: object, expected: int) -> None:
    """Every spelling of a whole number that Kubernetes takes is that number."""
    assert expected == quantity.whole(value)


@pytest.mark.parametrize(
    "value", ["1.5", "500m", "-1", "", "$GPUS", "8x", "NaN", True, None, [], 1.5, "9" * 40, "1e999"]
)
def test_anything_else_is_an_error_that_shows_the_value(value: object) -> None:
    """Fractions, negatives and words are no counts."""
    with pytest.raises(ValueError, match="expected a"):
        quantity.whole(value)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [("5120Mi", "5Gi", True), ("64Gi", "64G", False), ("x", "x", False), (None, "1", False)],
)
def test_one_amount_has_many_spellings(one: object, other: object, expected: bool) -> None:
    """The API server stores its own; what is no quantity equals none."""
    assert expected == quantity.same(one, other)

"""Reading and changing plain documents."""

from __future__ import annotations

import pytest

from podrail import document
from podrail.errors import RequestError


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"\xff",
        b'{"a":NaN}',
        b'{"a":Infinity}',
        b"[" * 101 + b"]" * 101,
        b"[" * 100_000,
        b'{"a":' * 5000 + b"1" + b"}" * 5000,
        b"1" * 5000,
    ],
    ids=lambda body: repr(body[:12]),
)
def test_what_is_no_json_within_limits_is_a_request_error(body: bytes) -> None:
    """Not JSON, not a number, or too deep: a 400 with a short message."""
    with pytest.raises(RequestError) as caught:
        document.read(body)
    assert caught.value.status == 400
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("body", [b"[" * 100 + b"]" * 100, b'{"a":[1,{"b":null}]}', b"7"])
def test_json_within_limits_is_read(body: bytes) -> None:
    """A hundred levels are read."""
    document.read(body)


def test_put_shares_what_lies_beside_the_path() -> None:
    """Only the objects on the way are copied."""
    before = {"a": {"b": 1}, "c": {"d": 2}}
    after = document.put(before, ("a", "x", "y"), 3)
    assert {"a": {"b": 1, "x": {"y": 3}}, "c": {"d": 2}} == after
    assert after["c"] is before["c"]
    assert before == {"a": {"b": 1}, "c": {"d": 2}}


def test_put_replaces_nulls_and_list_items() -> None:
    """A null on the way becomes an object; an index names an item."""
    assert {"a": {"b": [1, 5]}} == document.put({"a": {"b": [1, 2]}}, ("a", "b", 1), 5)
    assert {"a": {"b": 5}} == document.put({"a": None}, ("a", "b"), 5)

"""JSON Patches: few operations, in the right places, proven before they are sent."""

from __future__ import annotations

import json
from typing import Any

import pytest

from podrail.admission import patch


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({"a": 1}, {"a": 1, "b/c~d": 2}, [("add", "/b~1c~0d")]),
        ({"a": 1, "b": 2}, {"a": 1}, [("remove", "/b")]),
        ({"a": None}, {"a": {"b": 1}}, [("replace", "/a")]),
        ({"a": [1]}, {"a": [1, 2]}, [("add", "/a/-")]),
        ({"a": [1, 2, 3]}, {"a": [1]}, [("remove", "/a/2"), ("remove", "/a/1")]),
        ({"a": 1}, {"a": True}, [("replace", "/a")]),
        ({"env": [1]}, {"env": [1, 2, 3, 4, 5]}, [("replace", "/env")]),
        ({"env": [1]}, {"env": [1, 2]}, [("add", "/env/-")]),
        ({"volumes": [1]}, {"volumes": [1, 2, 3, 4, 5]}, [("add", "/volumes/-")] * 4),
        ([], {}, [("replace", "")]),
        (json.loads("[2.5]"), json.loads("[2.5]"), []),
    ],
)
def test_operations_are_few_and_local(
    before: Any, after: Any, expected: list[tuple[str, str]]
) -> None:
    """A part of a container is sent whole when much of it changes, nothing else is."""
    assert expected == [(one["op"], one["path"]) for one in patch.diff(before, after)]


@pytest.mark.parametrize(
    "operations",
    [
        [{"op": "replace", "path": "/x", "value": 1}],
        [{"op": "frob", "path": "/a"}],
        [{"op": "add", "path": "/a", "value": 3}],
    ],
    ids=["no such place", "no such operation", "another result"],
)
def test_a_patch_that_does_not_lead_there_is_not_proven(operations: Any) -> None:
    """Invalid, inapplicable or with another result."""
    assert not patch.proven(operations, {"a": 1}, {"a": 2})

"""What else a pod of the fabric gets: the node selector."""

from __future__ import annotations

from typing import Any, Final

import builders
import pytest

from podrail import injection

SPEC: Final[dict[str, Any]] = {
    "attachment": "None",
    "rails": {"count": 0, "gpus": 8},
    "extras": {"nodeSelector": {"rdma": "true", "pool": "gpu"}},
}


@pytest.mark.parametrize(
    ("given", "expected", "kept"),
    [
        (None, {"rdma": "true", "pool": "gpu"}, ()),
        ({"zone": "a"}, {"zone": "a", "rdma": "true", "pool": "gpu"}, ()),
        ({"pool": "gpu"}, {"pool": "gpu", "rdma": "true"}, ()),
        ({"pool": "mine"}, {"pool": "mine", "rdma": "true"}, ("nodeSelector/pool",)),
    ],
    ids=["none", "another key", "the same value", "another value"],
)
def test_the_users_node_selector_stays(
    given: dict[str, str] | None, expected: dict[str, str], kept: tuple[str, ...]
) -> None:
    """Only missing keys are added; a value that differs is noted as kept."""
    found = injection.inject(builders.pod(nodeSelector=given), builders.fabric(**SPEC))
    assert (expected, kept) == (found.pod.spec["nodeSelector"], found.marker.kept)

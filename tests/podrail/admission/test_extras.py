"""What else a pod of the fabric gets: node selector and shared memory."""

from __future__ import annotations

import json
from typing import Any, Final

import builders
import pytest

from podrail.admission import injection
from podrail.pod import read

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


def test_shared_memory_that_comes_back_spelled_otherwise_is_still_ours() -> None:
    """The API server stores 65536Mi as 64Gi; a second pass neither adds nor keeps anything."""
    profile = builders.fabric(**{**SPEC, "extras": {"shmSize": "65536Mi"}})
    once = injection.inject(builders.pod(), profile)
    stored = json.loads(json.dumps(once.pod.document).replace("65536Mi", "64Gi"))
    again = injection.inject(read(stored, "team"), profile)
    assert (stored, once.marker) == (again.pod.document, again.marker)


def test_a_volume_of_the_users_under_that_name_is_not_taken_for_ours() -> None:
    """Ours comes beside it under another name."""
    profile = builders.fabric(**{**SPEC, "extras": {"shmSize": "64Gi"}})
    mine = [{"name": "podrail-shm", "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}}]
    found = injection.inject(builders.pod(volumes=mine), profile)
    assert ["podrail-shm", "podrail-shm-2"] == [one["name"] for one in found.pod.spec["volumes"]]

"""What the author of a pod is told was done."""

from __future__ import annotations

import builders
import pytest

from podrail.admission import injection, review


@pytest.mark.parametrize("count", [1, 8, 64])
def test_every_resource_that_was_added_is_told(count: int) -> None:
    """In as many warnings as that takes, none longer than the API server lets through."""
    listed = [
        {"name": f"nvidia.com/a-rather-long-name-{rail}", "rail": rail} for rail in range(count)
    ]
    profile = builders.fabric(
        attachment="SriovVF", rails={"count": count, "gpus": 8}, resources=listed
    )
    found = injection.inject(builders.pod(), profile)
    told = " ".join(found.warnings)
    assert [] == [one["name"] for one in listed if f"{one['name']}: 1" not in told]
    assert review.WARNING >= max(map(len, found.warnings))

"""A FabricProfile that is refused, by the reader and by the definition in the cluster alike."""

from __future__ import annotations

from typing import Any

import builders
import pytest
from controlplane.plane import Cluster

from podrail import profile
from podrail.errors import MalformedError


def early(cluster: Cluster, spec: dict[str, Any], expected: str) -> None:
    """Assert that a profile with this spec is refused by both, with these words by the cluster."""
    document = builders.profile_document("bad", **spec)
    with pytest.raises(MalformedError):
        profile.read(document)
    answer = cluster.client.try_create(document, dryRun="All", fieldValidation="Strict")
    assert 422 == answer.status
    assert expected in answer.message

"""The documents of a cluster, sorted and checked."""

from __future__ import annotations

from typing import Any

import builders
import pytest
import scenes

from podrail import dump
from podrail.errors import MalformedError
from podrail.gang.jobsize import Owner

JOB = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "llm", "namespace": "team"}}


def test_documents_are_told_apart_by_kind() -> None:
    """Lists are opened, what owns pods is kept by its name, other kinds are passed over."""
    service = {"kind": "Service", "metadata": {"name": "s"}}
    rails = {"apiVersion": "podrail.dev/v1alpha1", "kind": "NodeRails", "metadata": {"name": "n"}}
    items = {"kind": "List", "items": [scenes.node("n"), builders.document(), JOB, service]}
    found = dump.read([items, rails, 5])
    assert (1, 1, {Owner("Job.batch", "team", "llm"): JOB}, (rails,)) == (
        len(found.nodes),
        len(found.pods),
        found.owners,
        found.rails,
    )


@pytest.mark.parametrize(
    ("document", "told"),
    [
        (
            {"kind": "Node", "metadata": {"name": "n"}, "spec": []},
            "node n: spec: expected an object",
        ),
        ({"kind": "Pod", "spec": {"nodeName": 5}}, "spec.nodeName: expected a string, got 5"),
    ],
    ids=["node", "pod"],
)
def test_what_is_no_node_or_pod_is_refused(document: dict[str, Any], told: str) -> None:
    """With the field and what was expected."""
    with pytest.raises(MalformedError, match=told):
        dump.read([document])

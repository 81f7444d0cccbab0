"""Which pods are kept, and what of them."""

from __future__ import annotations

import tracemalloc
from typing import Any

import audited
import builders
import pytest

from podrail import names
from podrail.audit import subject
from podrail.audit.told import NOTHING

DAEMON = {"kind": "DaemonSet", "apiVersion": "apps/v1", "name": "d", "uid": "u"}


def bare(fabric: str | None = "tcp", gpus: int = 8, **metadata: Any) -> dict[str, Any]:
    """A pod that the webhook has not seen."""
    found = builders.document(builders.container(gpus=gpus), fabric=fabric)
    found["metadata"] |= {"namespace": "team", "uid": "u", **metadata}
    return found


def test_a_pod_with_markers_is_kept_with_what_they_say() -> None:
    """Its node and start too."""
    found = audited.pod()
    assert ("team/worker-0", "n1", "podrail", audited.STARTED, NOTHING) == (
        found.key,
        found.node,
        found.scheduler,
        found.started,
        found.told,
    )
    assert ("team", "worker-0") == (found.namespace, found.name)
    assert found.promise is not None
    assert found.forecast is not None


def test_a_pod_that_waits_has_no_node() -> None:
    """Nor a start."""
    found = subject.kept(bare())
    assert found is not None
    assert ("", None, ("nvidia.com/gpu",)) == (found.node, found.started, found.devices)


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        pytest.param(bare(), True, id="own label"),
        pytest.param(bare(None), True, id="devices"),
        pytest.param(bare("tcp", 0), True, id="label without devices"),
        pytest.param(bare("none"), False, id="opted out"),
        pytest.param(bare(None, 0), False, id="nobody's"),
        pytest.param(bare(deletionTimestamp="x"), False, id="ending"),
        pytest.param({**bare(), "status": {"phase": "Failed"}}, False, id="ended"),
        pytest.param(bare(annotations={names.MIRROR: "x"}), False, id="mirror"),
        pytest.param(bare(ownerReferences=[DAEMON]), False, id="daemon"),
        pytest.param(bare(ownerReferences=[{**DAEMON, "kind": "Job"}]), True, id="job"),
        pytest.param(bare(annotations={names.INJECTED: "{}"}), True, id="broken marker"),
        pytest.param(
            {"metadata": {"name": "p", "namespace": "n", "uid": "u"}}, False, id="without a spec"
        ),
    ],
)
def test_only_what_may_be_reported_on_is_kept(pod: dict[str, Any], *, expected: bool) -> None:
    """As the policy of the webhook has it, and no pod that is gone."""
    assert expected == (subject.kept(pod) is not None)


def test_fifty_thousand_pods_take_little() -> None:
    """Under a KiB each, the key and the annotation's digest included; equal parts are one."""
    documents = [audited.document(name=f"worker-{at}") for at in range(10)]
    subject.kept(documents[0])
    tracemalloc.start()
    kept = [
        subject.kept({**one, "metadata": {**one["metadata"], "uid": f"{at:036}"}})
        for at in range(100)
        for one in documents
    ]
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert 1000 == len(kept)
    assert taken / len(kept) < 1024

"""What the extender keeps of a pod's document."""

from __future__ import annotations

from typing import Any

import pytest
import staging

from extender import known
from extender.known import Held, Known
from podrail import names

HALVES = staging.halves()


def bound(document: dict[str, Any], **annotations: str) -> dict[str, Any]:
    """The pod on node n."""
    merged = {**document["metadata"].get("annotations", {}), **annotations}
    return {
        **document,
        "metadata": {**document["metadata"], "annotations": merged},
        "spec": {**document["spec"], "nodeName": "n"},
    }


def test_a_waiting_pod_is_kept_with_what_its_bind_needs() -> None:
    """Names, markers and requests; of commands, variables and managed fields there is nothing."""
    pod = staging.injected(HALVES)
    pod["metadata"]["managedFields"] = [{"manager": "kubectl"}]
    pod["spec"]["containers"][0]["command"] = ["train"]
    found = known.kept(pod)
    assert found is not None
    assert found.document is not None
    assert "managedFields" not in found.document["metadata"]
    (container,) = found.document["spec"]["containers"]
    assert {"name", "resources"} == container.keys()
    assert pod["metadata"]["annotations"] == found.document["metadata"]["annotations"]


def test_a_bound_pod_is_kept_by_what_it_holds() -> None:
    """Devices, the rails as placed, the GPUs if they are sure, and its place in its job."""
    labels = {"batch.kubernetes.io/job-name": "j", "batch.kubernetes.io/job-completion-index": "3"}
    pod = staging.injected(HALVES, labels=labels)
    marker = '{"v":1,"rails":[6,7],"gpuSets":[{"gpus":[4,5],"p":1.0}]}'
    found = known.kept(bound(pod, **{names.PLACEMENT: marker}))
    assert found is not None
    assert ("n", None) == (found.node, found.document)
    held = found.held
    assert ((("nvidia.com/gpu", 4),), (6, 7), (4, 5)) == (held.devices, held.rails, held.gpus)
    assert held.job is not None
    assert ("team/j", 3) == (held.job.key, held.job.index)


def test_when_a_pod_was_bound_comes_from_its_condition() -> None:
    """The API server writes it with the Binding."""
    told = {"type": "PodScheduled", "lastTransitionTime": "2026-11-30T10:00:00Z"}
    pod = {**bound(staging.injected(HALVES)), "status": {"conditions": [told]}}
    found = known.kept(pod)
    assert found is not None
    assert told["lastTransitionTime"] == found.since


def test_of_a_strange_pod_it_is_known_that_it_waits_or_which_devices_it_holds() -> None:
    """So that its bind need not wait for a watch to bring it, and no GPU is taken for free."""
    stranger = staging.stranger()
    assert Known(staging.UID, "") == known.kept(stranger)
    assert Held((("nvidia.com/gpu", 8),)) == getattr(known.kept(bound(stranger)), "held", None)


@pytest.mark.parametrize("limits", [{}, {"cpu": "4"}, {"example.com/x": "much"}], ids=str)
def test_a_strange_pod_without_devices_is_not_kept(limits: dict[str, str]) -> None:
    """Tens of thousands of them cost nothing."""
    pod = staging.stranger()
    pod["spec"]["containers"][0]["resources"] = {"limits": limits}
    assert known.kept(bound(pod)) is None


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_ended_is_not_kept(phase: str) -> None:
    """It has given its devices back."""
    assert known.kept({**bound(staging.injected(HALVES)), "status": {"phase": phase}}) is None


@pytest.mark.parametrize(
    ("manager", "node", "expected"),
    [
        (known.NOMINATOR, "n", True),
        ("kube-scheduler", "n", False),
        (known.NOMINATOR, "", False),
    ],
    ids=["ours", "a preemption's", "withdrawn"],
)
def test_whose_nomination_it_is_is_known_by_the_manager_of_the_field(
    manager: str, node: str, expected: bool
) -> None:
    """So that a restart knows its own; either way the pod has its node and is like no other."""
    pod = staging.injected(HALVES)
    pod["metadata"]["managedFields"] = [{"manager": "kubectl"}, {"manager": manager}]
    pod["status"] = {"nominatedNodeName": node} if node else {}
    found = known.kept(pod)
    assert found is not None
    assert (expected, not node) == (found.nominated, bool(found.kind))

"""Which pods are alike to kube-scheduler, and which are a matter of their own."""

from __future__ import annotations

from typing import Any

import builders
import pytest

from podrail import names
from podrail.gang import alike

CLAIM = {"name": "data", "persistentVolumeClaim": {"claimName": "shared"}}
TOKEN = {"name": "kube-api-access-x7k2p", "projected": {"sources": []}}


def document(name: str = "worker-0", **spec: Any) -> dict[str, Any]:
    """An injected pod that waits."""
    found = builders.document(builders.container(gpus=8), fabric="f", name=name, **spec)
    found["metadata"] |= {"namespace": "team", "uid": name}
    found["metadata"]["annotations"] = {names.INJECTED: "{}"}
    return found


def test_pods_of_one_template_are_alike() -> None:
    """Whatever their names, their labels and the volumes that each gets for its own token."""
    one, other = document("worker-0"), document("worker-1", volumes=[TOKEN])
    other["metadata"]["labels"] = {"index": "1"}
    assert "" != alike.kind(one)
    assert alike.kind(one) == alike.kind(other)


@pytest.mark.parametrize(
    "spec",
    [
        {"priority": 7},
        {"nodeSelector": {"pool": "a"}},
        {"tolerations": [{"operator": "Exists"}]},
        {"schedulerName": "other"},
        {"volumes": [CLAIM]},
        {"initContainers": [builders.container(gpus=1)]},
        {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {}}}},
    ],
    ids=lambda spec: next(iter(spec)),
)
def test_pods_with_other_wishes_are_not(spec: dict[str, Any]) -> None:
    """Each of these may let another node pass."""
    found = alike.kind(document(**spec))
    assert found not in {"", alike.kind(document())}


@pytest.mark.parametrize(
    "spec",
    [
        {"schedulingGates": [{"name": "queue"}]},
        {"schedulingGroup": {"podGroupName": "g"}},
        {"resourceClaims": [{"name": "nics"}]},
        {"topologySpreadConstraints": [{"maxSkew": 1}]},
        {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{}]}}},
        {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{}]}}},
        {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{}]}}},
    ],
    ids=["gated", "group", "claims", "spread", "affinity", "anti-affinity", "preference"],
)
def test_a_pod_with_more_to_weigh_than_nodes_is_like_none(spec: dict[str, Any]) -> None:
    """Where it goes depends on other pods, on other objects, or on what it likes itself."""
    assert "" == alike.kind(document(**spec))


def test_nor_is_one_that_ends_or_has_its_node() -> None:
    """Whoever nominated that: a preemption's node is not to be taken from it."""
    ending, nominated = document(), document()
    ending["metadata"]["deletionTimestamp"] = "2026-11-30T10:00:00Z"
    nominated["status"] = {"nominatedNodeName": "n"}
    assert ("", "") == (alike.kind(ending), alike.kind(nominated))


def test_a_pod_that_was_gated_or_found_no_node_is_like_the_others() -> None:
    """Kueue's pods keep that condition until they are bound, and nodes may come."""
    told = {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}
    assert alike.kind(document()) == alike.kind(document() | {"status": {"conditions": [told]}})

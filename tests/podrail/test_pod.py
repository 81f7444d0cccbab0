"""The parts of a pod that podrail reads have the types of core/v1, or the pod is refused."""

from __future__ import annotations

from typing import Any

import builders
import pytest

from podrail import pod
from podrail.errors import PodError


def spec(**fields: Any) -> dict[str, Any]:
    """A pod with nothing but these fields in its spec."""
    return {"spec": fields}


def first(**fields: Any) -> dict[str, Any]:
    """A pod whose only container has these fields."""
    return spec(containers=[fields])


@pytest.mark.parametrize(
    ("document", "path"),
    [
        (None, "pod"),
        ([], "pod"),
        ({"metadata": "x"}, "metadata"),
        ({"metadata": {"labels": []}}, "metadata.labels"),
        ({"metadata": {"annotations": {"a": 1}}}, "metadata.annotations['a']"),
        ({"metadata": {"ownerReferences": {}}}, "metadata.ownerReferences"),
        ({"metadata": {"ownerReferences": [5]}}, "metadata.ownerReferences[0]"),
        ({"spec": []}, "spec"),
        (spec(containers="x"), "spec.containers"),
        (spec(initContainers=[None]), "spec.initContainers[0]"),
        (spec(schedulerName=5), "spec.schedulerName"),
        (spec(dnsPolicy=[]), "spec.dnsPolicy"),
        (spec(nodeSelector={"a": None}), "spec.nodeSelector['a']"),
        (spec(securityContext=5), "spec.securityContext"),
        (spec(volumes=["x"]), "spec.volumes[0]"),
        (first(name=5), "spec.containers[0].name"),
        (first(resources=5), "spec.containers[0].resources"),
        (first(resources={"requests": []}), "spec.containers[0].resources.requests"),
        (first(securityContext=[]), "spec.containers[0].securityContext"),
        (
            first(securityContext={"capabilities": {"add": "ALL"}}),
            "spec.containers[0].securityContext.capabilities.add",
        ),
        (first(env=[5]), "spec.containers[0].env[0]"),
        (first(env=[{"name": 5}]), "spec.containers[0].env[0].name"),
        (first(envFrom={}), "spec.containers[0].envFrom"),
        (first(volumeMounts=[[]]), "spec.containers[0].volumeMounts[0]"),
    ],
    ids=str,
)
def test_a_part_of_another_type_is_refused_with_its_path(document: object, path: str) -> None:
    """The API server validates only after the webhooks."""
    with pytest.raises(PodError) as caught:
        pod.read(document, "team")
    assert ("MalformedPod", path) == (caught.value.code, caught.value.path)


@pytest.mark.parametrize(
    "document",
    [{}, {"metadata": None, "spec": None}, spec(containers=None, volumes=None), first(env=None)],
    ids=str,
)
def test_what_is_absent_or_null_is_empty(document: dict[str, Any]) -> None:
    """As in Kubernetes."""
    found = pod.read(document, "team")
    assert ({}, {}, []) == (dict(found.labels), dict(found.annotations), list(found.running)[1:])


def test_running_are_the_apps_containers_and_native_sidecars() -> None:
    """Init containers that end are not (KEP-753)."""
    found = builders.pod(
        builders.container("a"),
        initContainers=[{"name": "i"}, {"name": "s", "restartPolicy": "Always"}],
    )
    assert ["a", "s"] == [one["name"] for one in found.running]

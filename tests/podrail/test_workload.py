"""Pod templates in workload documents."""

from __future__ import annotations

from typing import Any

import builders
import pytest

from podrail import workload

TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [builders.container()]}}


def kubeflow(kind: str, key: str) -> dict[str, Any]:
    """A training job with two roles."""
    return {
        "kind": kind,
        "spec": {key: {"Launcher": {"template": TEMPLATE}, "Worker": {"template": TEMPLATE}}},
    }


@pytest.mark.parametrize(
    ("document", "paths"),
    [
        (builders.document(), [""]),
        ({"kind": "Job", "spec": {"template": TEMPLATE}}, ["spec.template"]),
        (
            kubeflow("MPIJob", "mpiReplicaSpecs"),
            ["spec.mpiReplicaSpecs.Launcher.template", "spec.mpiReplicaSpecs.Worker.template"],
        ),
        (
            kubeflow("PyTorchJob", "pytorchReplicaSpecs"),
            [
                "spec.pytorchReplicaSpecs.Launcher.template",
                "spec.pytorchReplicaSpecs.Worker.template",
            ],
        ),
        (
            {
                "kind": "List",
                "items": [builders.document(), {"kind": "Job", "spec": {"template": TEMPLATE}}],
            },
            ["items[0]", "items[1].spec.template"],
        ),
        ({"kind": "ConfigMap"}, []),
        ({"kind": "Job", "spec": None}, []),
        ({"kind": "Job", "spec": {"template": "x"}}, []),
        ([], []),
        (None, []),
    ],
)
def test_each_template_is_found_once_with_its_path(document: Any, paths: list[str]) -> None:
    """A path is written as people write it."""
    assert paths == [template.dotted for template in workload.templates(document, "team")]


def test_a_template_is_a_pod_in_the_workloads_namespace() -> None:
    """The namespace of the document wins over the one given."""
    job = {"kind": "Job", "metadata": {"namespace": "ml"}, "spec": {"template": TEMPLATE}}
    found = workload.templates(job, "team")[0]
    assert ("ml", "Pod", TEMPLATE["spec"]) == (
        found.namespace,
        found.pod["kind"],
        found.pod["spec"],
    )


@pytest.mark.parametrize(
    ("kind", "expected"), [("Job", True), ("List", True), ("Deployment", False)]
)
def test_kinds_whose_templates_are_not_known_are_told_apart(kind: str, expected: bool) -> None:
    """So that a command can say so instead of printing nothing."""
    assert expected == workload.known({"kind": kind})


def test_what_is_no_document_is_not_known() -> None:
    """A list or text has no kind."""
    assert not workload.known(["Pod"])

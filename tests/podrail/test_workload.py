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
        (
            {
                "kind": "JobSet",
                "spec": {"replicatedJobs": [{"template": {"spec": {"template": TEMPLATE}}}]},
            },
            ["spec.replicatedJobs[0].template.spec.template"],
        ),
        (
            {
                "kind": "LeaderWorkerSet",
                "spec": {
                    "leaderWorkerTemplate": {
                        "leaderTemplate": TEMPLATE,
                        "workerTemplate": TEMPLATE,
                    }
                },
            },
            [
                "spec.leaderWorkerTemplate.leaderTemplate",
                "spec.leaderWorkerTemplate.workerTemplate",
            ],
        ),
        (
            {
                "kind": "RayJob",
                "spec": {
                    "rayClusterSpec": {
                        "headGroupSpec": {"template": TEMPLATE},
                        "workerGroupSpecs": [{"template": TEMPLATE}],
                    }
                },
            },
            [
                "spec.rayClusterSpec.headGroupSpec.template",
                "spec.rayClusterSpec.workerGroupSpecs[0].template",
            ],
        ),
        (
            {
                "kind": "AppWrapper",
                "spec": {
                    "components": [{"template": {"kind": "Job", "spec": {"template": TEMPLATE}}}]
                },
            },
            ["spec.components[0].template.spec.template"],
        ),
        ({"kind": "TrainJob", "spec": {"runtimeRef": {"name": "torch"}}}, []),
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

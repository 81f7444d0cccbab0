"""Every example at a real API server, as users would apply it: whole objects of all kinds.

What becomes of their pods is told by test_platforms.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import checkout
import operators
import pytest
from controlplane.binaries import NotRun
from controlplane.client import collection
from controlplane.installed import Installed, documents, eventually
from controlplane.plane import Cluster

pytestmark = pytest.mark.cluster

FILES = sorted(
    path
    for folder in ("profiles", "workloads")
    for path in (checkout.ROOT / "examples" / folder).glob("*.yaml")
)
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@pytest.fixture(scope="module")
def served(
    cluster: Cluster, installed: Installed, address: str
) -> Iterator[Mapping[tuple[str, str], Any]]:
    """The definitions of the operators' kinds by group and kind, while the cluster serves them."""
    try:
        defined = operators.definitions(os.environ)  # noqa: TID251 - a child lives in our environment
    except NotRun as missing:
        pytest.skip(str(missing))
    for one in defined:
        cluster.client.create(one)
    for one in defined:
        name = one["metadata"]["name"]
        eventually(partial(established, cluster, name), f"{name} is served", 60)
    installed.register(address)
    yield {(one["spec"]["group"], one["spec"]["names"]["kind"]): one["spec"] for one in defined}
    installed.unregister()
    for one in defined:
        cluster.client.delete(f"{DEFINITIONS}/{one['metadata']['name']}")


def established(cluster: Cluster, name: str) -> bool:
    """Whether a definition has the condition, and its objects can be listed."""
    found = cluster.client.get(f"{DEFINITIONS}/{name}")
    met = {one["type"] for one in found["status"]["conditions"] if one["status"] == "True"}
    spec = found["spec"]
    versions = [one["name"] for one in spec["versions"] if one["served"]]
    root = f"/apis/{spec['group']}/{versions[-1]}/{spec['names']['plural']}"
    return "Established" in met and cluster.client.call("GET", root).status == 200


def place(document: Mapping[str, Any], defined: Mapping[tuple[str, str], Any], space: str) -> str:
    """The path under which an object is created."""
    version = document["apiVersion"]
    spec = defined.get((version.split("/")[0], document["kind"]))
    if spec is None:
        return collection(document, space)
    within = f"namespaces/{space}/" if spec["scope"] == "Namespaced" else ""
    return f"/apis/{version}/{within}{spec['names']['plural']}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_an_example_is_accepted_to_the_last_field(
    cluster: Cluster, served: Mapping[tuple[str, str], Any], path: Path
) -> None:
    """Under strict validation, which refuses a field that the kind does not have."""
    for one in documents(path):
        target = f"{place(one, served, 'default')}?dryRun=All&fieldValidation=Strict"
        answer = cluster.client.call("POST", target, one)
        assert 201 == answer.status, f"{one['kind']}: {answer.message}"


def test_a_field_that_no_kind_has_is_refused(
    cluster: Cluster, served: Mapping[tuple[str, str], Any]
) -> None:
    """The test above can fail, inside a pod template of an operator's kind, too."""
    (job,) = documents(checkout.ROOT / "examples" / "workloads" / "mpijob.yaml")
    job["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"]["nodeSelectors"] = {}
    target = f"{place(job, served, 'default')}?dryRun=All&fieldValidation=Strict"
    answer = cluster.client.call("POST", target, job)
    assert 400 == answer.status
    assert "nodeSelectors" in answer.message

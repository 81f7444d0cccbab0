"""Claims at a real control plane: pods ask for GPUs, and get each with a NIC of its own root."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import builders
import drivers
import pytest
import refused
from controlplane import binaries, nodes
from controlplane.installed import Installed, eventually
from controlplane.plane import Cluster
from controlplane.processes import Child

from podrail import catalog, names, profiles
from podrail.dra import template as claims
from podrail_io import files

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("registered", "drivers_run", "made")]
RESOURCES = "/apis/resource.k8s.io/v1"
SHAPE = "hgx-h100-8nic"
EXTENDED = 36
"""The minor version from which kube-scheduler claims for limits unless told not to (kube_features.go)."""
P4D = {
    "attachment": "Dra",
    "rails": {"count": 4, "gpus": 8},
    "claim": {"nicSelector": 'device.attributes["dra.net"].rdma'},
}


@pytest.fixture(scope="module")
def drivers_run(cluster: Cluster) -> Iterator[None]:
    """Four nodes with the slices of their drivers, and no device plugin."""
    shapes = catalog.read(files.package_documents(*catalog.SHIPPED))
    published = {
        "paired": drivers.slices("paired", shapes[SHAPE]),
        "parted": drivers.slices("parted", shapes[SHAPE], apart=True),
        "p4d": drivers.captured("p4d", "p4d.24xlarge"),
        "gb200": drivers.captured("gb200", "BM.GPU.GB200-v3.4"),
    }
    made = [("deviceclasses", one) for one in drivers.classes("nvidia.com/gpu")]
    made += [("resourceslices", one) for some in published.values() for one in some]
    for kind, one in made:
        answer = cluster.client.call("POST", f"{RESOURCES}/{kind}", one)
        assert 201 == answer.status, answer.message
    cluster.client.create_all(nodes.node(name, SHAPE, {}, dra="yes") for name in published)
    yield
    for name in published:
        cluster.client.delete(f"/api/v1/nodes/{name}")
    for kind, one in made:
        cluster.client.delete(f"{RESOURCES}/{kind}/{one['metadata']['name']}")


@pytest.fixture(scope="module")
def made(installed: Installed) -> Iterator[Child]:
    """The controller, which makes the templates."""
    running = installed.controller()
    yield running
    running.stop()


def claimant(name: str, gpus: int, node: str, fabric: str = "dra-pairs") -> dict[str, Any]:
    """A pod that claims GPUs, for one node."""
    return builders.document(
        builders.container(gpus=0),
        fabric=fabric,
        name=name,
        annotations={names.GPUS: str(gpus)},
        nodeSelector={"kubernetes.io/hostname": node},
    )


def bound(cluster: Cluster, namespace: str, name: str) -> dict[str, Any]:
    """The pod once it has a node."""
    path = f"/api/v1/namespaces/{namespace}/pods/{name}"
    eventually(lambda: "nodeName" in cluster.client.get(path)["spec"], f"{name} is bound")
    return cluster.client.get(path)


def allocated(cluster: Cluster, namespace: str, pod: Mapping[str, Any]) -> dict[str, list[Any]]:
    """The attributes of the devices that the pod's claim of ours was given, by request."""
    (claim,) = (one for one in pod["status"]["resourceClaimStatuses"] if one["name"] == "podrail")
    path = f"{RESOURCES}/namespaces/{namespace}/resourceclaims/{claim['resourceClaimName']}"
    results = cluster.client.get(path)["status"]["allocation"]["devices"]["results"]
    devices = {
        (one["spec"]["driver"], one["spec"]["pool"]["name"], device["name"]): device["attributes"]
        for one in cluster.client.items(f"{RESOURCES}/resourceslices")
        for device in one["spec"]["devices"]
    }
    found: dict[str, list[Any]] = {}
    for one in results:
        attributes = devices[one["driver"], one["pool"], one["device"]]
        found.setdefault(one["request"], []).append(attributes)
    return found


def roots(devices: Mapping[str, list[Any]], kind: str) -> list[list[str]]:
    """The PCIe roots of the devices of each bundle, in the order of the bundles."""
    some = sorted(name for name in devices if name.startswith(kind))
    return [[device[drivers.ROOT]["string"] for device in devices[name]] for name in some]


def test_each_claimed_gpu_comes_with_a_nic_of_its_root(cluster: Cluster, namespace: str) -> None:
    """Injected, its template made, its claim made of that and allocated, the pod bound to the node."""
    free = builders.document(
        builders.container(gpus=0),
        fabric="dra-pairs",
        annotations={names.GPUS: "4"},
        nodeSelector={"dra": "yes"},
    )
    created = cluster.client.create(free, namespace)
    (entry,) = created["spec"]["resourceClaims"]
    assert [{"name": entry["name"]}] == created["spec"]["containers"][0]["resources"]["claims"]
    pod = bound(cluster, namespace, "worker-0")
    devices = allocated(cluster, namespace, pod)
    gpus, nics = roots(devices, "gpu-"), roots(devices, "nic-")
    assert pod["spec"]["nodeName"] in {"paired", "p4d"}
    assert (4, gpus) == (len(gpus), nics)
    assert all(devices[f"nic-{at}"][0]["dra.net/rdma"]["bool"] for at in range(4))


def test_a_node_whose_pairs_cannot_match_stays_out(cluster: Cluster, namespace: str) -> None:
    """Eight GPUs and eight NICs are free there, on roots of their own."""
    cluster.client.create(claimant("waits", 1, "parted"), namespace)
    path = f"/api/v1/namespaces/{namespace}/pods/waits"

    def refused() -> bool:
        conditions = cluster.client.get(path)["status"].get("conditions", ())
        return any("cannot allocate all claims" in one.get("message", "") for one in conditions)

    eventually(refused, "the scheduler refuses the node")
    assert "nodeName" not in cluster.client.get(path)["spec"]


def test_pods_share_a_node_until_its_pairs_are_given_out(cluster: Cluster, namespace: str) -> None:
    """Four and four of eight pairs are different ones; a template serves both pods."""
    for name in ("a", "b"):
        cluster.client.create(claimant(name, 4, "paired"), namespace)
    pods = [bound(cluster, namespace, name) for name in ("a", "b")]
    given = [roots(allocated(cluster, namespace, pod), "nic-") for pod in pods]
    assert 8 == len({root for one in itertools.chain(*given) for root in one})
    path = f"{RESOURCES}/namespaces/{namespace}/resourceclaimtemplates"
    (template,) = cluster.client.items(path)
    assert "podrail-controller" == template["metadata"]["labels"]["app.kubernetes.io/managed-by"]
    assert "ownerReferences" not in template["metadata"]
    wanted = claims.every(builders.shipped()["dra-pairs"])[template["metadata"]["name"]]
    assert wanted.spec["spec"] == template["spec"]["spec"]


@pytest.mark.skipif(
    binaries.MINOR < EXTENDED, reason="NOT RUN: no DRAExtendedResource before Kubernetes 1.36"
)
def test_limits_of_a_whole_node_stay_and_get_its_nics(cluster: Cluster, namespace: str) -> None:
    """The GPUs are a claim that kube-scheduler makes (extended resource), the NICs are ours."""
    whole = builders.document(fabric="dra-pairs", nodeSelector={"kubernetes.io/hostname": "paired"})
    cluster.client.create(whole, namespace)
    pod = bound(cluster, namespace, "worker-0")
    limits = pod["spec"]["containers"][0]["resources"]["limits"]
    assert "8" == limits["nvidia.com/gpu"]
    assert 8 == len(allocated(cluster, namespace, pod)["nics"])
    path = f"{RESOURCES}/namespaces/{namespace}/resourceclaims"
    special = pod["status"]["extendedResourceClaimStatus"]["resourceClaimName"]
    results = cluster.client.get(f"{path}/{special}")["status"]["allocation"]["devices"]["results"]
    assert 8 == len(results)


@pytest.mark.parametrize("gpus", [2, 8])
def test_gpus_of_another_kind_are_refused(cluster: Cluster, namespace: str, gpus: int) -> None:
    """Limits cannot be paired, and beside a claim they would be GPUs twice."""
    annotations = {names.GPUS: "8"} if gpus == 8 else None
    pod = builders.document(
        builders.container(gpus=gpus), fabric="dra-pairs", annotations=annotations
    )
    answer = cluster.client.try_create(pod, namespace)
    assert 422 == answer.status
    assert names.GPUS in answer.message


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"attachment": "EFA", "claim": {}}, "expected no claim with an attachment other than Dra"),
        ({"attachment": "Dra", "partial": "SameNuma"}, "expected partial AllRails or Deny"),
        ({"attachment": "Dra", "claim": {"match": "pcieRoot"}}, "spec.claim.match"),
    ],
)
def test_a_profile_that_cannot_claim_is_refused_early(
    cluster: Cluster, spec: dict[str, Any], expected: str
) -> None:
    """By the definition, as the reader would."""
    refused.early(cluster, spec, expected)


def test_a_nic_of_two_gpus_is_claimed_with_both(cluster: Cluster, namespace: str) -> None:
    """p4d as captured: three GPUs get the EFA devices of two roots, and not the node's own NIC."""
    cluster.client.create(builders.profile_document("p4d", **P4D))
    path = f"{profiles.RESOURCES}/p4d"

    def claims() -> bool:
        answer = cluster.client.try_create(claimant("x", 3, "p4d", "p4d"), namespace, dryRun="All")
        return answer.status == 201 and "resourceClaims" in answer.body["spec"]

    eventually(claims, "the profile is known")
    cluster.client.create(claimant("worker-0", 3, "p4d", "p4d"), namespace)
    devices = allocated(cluster, namespace, bound(cluster, namespace, "worker-0"))
    owner = cluster.client.get(path)["metadata"]["uid"]
    (template,) = cluster.client.items(f"{RESOURCES}/namespaces/{namespace}/resourceclaimtemplates")
    cluster.client.delete(path)
    assert [2, 1] == [len(one) for one in roots(devices, "gpu-")]
    assert [set(one) for one in roots(devices, "gpu-")] == [
        set(one) for one in roots(devices, "nic-")
    ]
    assert [owner] == [one["uid"] for one in template["metadata"]["ownerReferences"]]


def test_on_gb200_gpus_and_nics_are_of_one_numa_node(cluster: Cluster, namespace: str) -> None:
    """As captured: no attribute is shared, the groups of the profile stand in for it."""
    cluster.client.create(claimant("worker-0", 2, "gb200", "dra-gb200"), namespace)
    devices = allocated(cluster, namespace, bound(cluster, namespace, "worker-0"))
    halves = {"pci0008:00": 0, "pci0009:00": 0, "pci0018:00": 1, "pci0019:00": 1}
    gpus = {halves[root] for one in roots(devices, "gpu-") for root in one}
    nics = [nic["dra.net/numaNode"]["int"] for at in range(2) for nic in devices[f"nic-{at}"]]
    assert 4 == len(nics)
    assert gpus == set(nics)
    assert 1 == len(gpus)

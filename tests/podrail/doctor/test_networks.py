"""Whether the networks and resources of the profiles in use are there."""

from __future__ import annotations

from typing import Any

import builders
import installations
import nads
import pytest
from installations import told

from podrail.doctor import networks
from podrail.doctor.cluster import Cluster

NAD = "NetworkAttachmentDefinition"


def test_profiles_are_in_use_by_labels_resources_or_wish() -> None:
    """Of pods and namespaces."""
    own = {"kind": "FabricProfile", "metadata": {"name": "tcp"}}
    found = installations.cluster(own, builders.document(fabric="sriov-pool"), asked=("nebius",))
    assert ["ok: macvlan-rails, nebius, sriov-pool, tcp"] == told(networks.profiles, found)


def test_a_profile_that_cannot_be_read_fails() -> None:
    """It is not in force, whoever names it; and no profile at all is no fault."""
    found = installations.cluster(without=["Namespace"], problems=("FabricProfile x: spec.a: no",))
    first, second = told(networks.profiles, found)
    assert "fail: FabricProfile x: spec.a: no" == first
    assert second.startswith("unknown: none: no pod or namespace has the label")


def test_definitions_in_order_are_ok() -> None:
    """And nothing is said where nobody uses a network."""
    assert ["ok: as the profiles say"] == told(networks.networks, installations.cluster())
    assert [] == told(networks.networks, installations.cluster(without=["Namespace"]))


def test_what_is_alike_is_told_once() -> None:
    """With how many more there are, and the code."""
    found = installations.cluster(*(nads.rail(at) for at in range(6)), without=[NAD])
    (only,) = told(networks.networks, found)
    assert only.startswith(
        "fail: macvlan-rails: there is no NetworkAttachmentDefinition default/ra"
    )
    assert only.endswith("or correct the name (and 1 more like this) [NadMissing]")


def test_what_only_may_go_wrong_is_a_warning() -> None:
    """Such as an MTU that differs."""
    odd = nads.rail(7, mtu=1500)
    found = installations.cluster(*(nads.rail(at, mtu=9000) for at in range(7)), odd, without=[NAD])
    (only,) = told(networks.networks, found)
    assert only.startswith("warn: macvlan-rails: the rails' MTU is 9000")


def test_definitions_that_were_not_looked_at_are_not_missing() -> None:
    """The reason is told."""
    found = installations.cluster(without=[NAD], unseen={NAD: "403"})
    assert ["unknown: 403"] == told(networks.networks, found)


def bare(**status: Any) -> dict[str, Any]:
    """A node with this allocatable."""
    return {**installations.node(), "status": {"allocatable": status}}


@pytest.mark.parametrize(
    ("found", "line"),
    [
        (installations.cluster(), "ok: by 1 node with GPUs"),
        (installations.cluster(without=["Node"]), "unknown: there is no Node in what was given"),
        (
            installations.cluster(bare(cpu="8"), without=["Node"]),
            "fail: no node has amd.com/gpu or nvidia.com/gpu to give",
        ),
        (
            installations.cluster(bare(**{"nvidia.com/gpu": "8"}), without=["Node"]),
            "fail: macvlan-rails: none of the 1 nodes with nvidia.com/gpu has rdma/hca_shared_",
        ),
    ],
    ids=["there", "no nodes", "no GPUs", "no plugin"],
)
def test_whether_a_resource_is_advertised(found: Cluster, line: str) -> None:
    """By a node that has the profile's GPUs."""
    assert told(networks.resources, found)[0].startswith(line)
    assert told(networks.networks, found)[0].startswith("ok: ")


def test_resources_nobody_asks_for_are_not_looked_at() -> None:
    """No profile, no resource."""
    assert [] == told(networks.resources, installations.cluster(without=["Namespace"]))


def multus(*words: str) -> dict[str, Any]:
    """The pod of a thin Multus."""
    container = {"name": "m", "image": "x/multus-cni:v4.3.0", "args": list(words)}
    return {"kind": "Pod", "metadata": {"name": "m"}, "spec": {"containers": [container]}}


def told_podrail(value: str) -> dict[str, Any]:
    """The webhook's pod, told of Multus."""
    env = [{"name": "PODRAIL_NAMESPACE_ISOLATION", "value": value}]
    return installations.program("webhook", containers=[{"name": "w", "env": env}])


@pytest.mark.parametrize(
    ("pods", "line"),
    [
        ([multus()], "ok: namespaceIsolation is off"),
        (
            [multus("--namespace-isolation=true", "--global-namespaces=b,a"), told_podrail("true")],
            "ok: namespaceIsolation is on; open to all: a, b",
        ),
        ([multus("-namespace-isolation"), told_podrail("false")], "warn: namespaceIsolation is on"),
        ([multus("--namespace-isolation=false"), told_podrail("true")], "warn: namespaceIsolation"),
        ([], "unknown: no ConfigMap or pod of Multus was found"),
    ],
    ids=["off", "on", "podrail not told", "podrail told wrongly", "no Multus"],
)
def test_podrail_has_to_be_told_of_isolation(pods: list[Any], line: str) -> None:
    """By the flags of a thin Multus, and the webhook's own setting."""
    found = installations.cluster(*pods, without=["Pod"], parsed=())
    assert told(networks.isolation, found)[0].startswith(line)


def test_the_configmap_of_a_thick_multus_is_read() -> None:
    """Its globalNamespaces are default unless it says otherwise."""
    config = installations.parsed({"namespaceIsolation": True}, "kube-system/m", "c.json")
    found = installations.cluster(told_podrail("true"), without=["Pod"], parsed=(config,))
    assert ["ok: namespaceIsolation is on; open to all: default"] == told(networks.isolation, found)
    assert found.isolation.enforced


def test_isolation_matters_to_networks_only() -> None:
    """TCP over the pod network needs none."""
    found = installations.cluster(without=["Namespace"], asked=("tcp",))
    assert [] == told(networks.isolation, found)
    assert not installations.cluster(without=["Pod"], parsed=()).isolation.enforced

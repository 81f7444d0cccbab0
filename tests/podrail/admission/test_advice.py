"""What a pod's author is told of the surroundings: every source of findings is asked."""

from __future__ import annotations

from typing import Any

import builders
import pytest

from podrail import names
from podrail.admission import injection, netpolicy
from podrail.admission.vicinity import Vicinity
from podrail.multus import nad

POLICY = netpolicy.read({"metadata": {"namespace": "team", "name": "lock"}, "spec": {}})


def told(vicinity: Vicinity, fabric: str = "sriov-rails", **pod: Any) -> dict[str, str]:
    """The reasons by code, each with its path."""
    found = injection.inject(builders.pod(**pod), builders.shipped()[fabric], vicinity)
    return {reason.code: reason.path for reason in found.marker.reasons}


def test_nothing_is_said_of_what_is_not_known() -> None:
    """Offline there is no cluster to look at."""
    assert {"ImageConfHidden"} == set(told(Vicinity()))


def test_networks_that_are_not_there_are_told_with_their_place() -> None:
    """The path is the element's."""
    assert f"metadata.annotations['{names.NETWORKS}'][7]" == told(Vicinity(nads={}))["NadMissing"]


def test_a_network_that_is_there_is_not_told() -> None:
    """Its resource is among what the pod asks for."""
    config = '{"cniVersion":"1.0.0","type":"sriov"}'
    documents = [
        {
            "metadata": {
                "namespace": "default",
                "name": f"rail{rail}",
                "annotations": {nad.RESOURCE: f"nvidia.com/rail{rail}"},
            },
            "spec": {"config": config},
        }
        for rail in range(8)
    ]
    nads = {one.key: one for one in map(nad.read, documents)}
    assert not {"NadMissing", "ResourceMismatch"} & set(told(Vicinity(nads=nads)))


def test_a_pod_on_the_hosts_network_needs_no_networks() -> None:
    """Multus is not called for it."""
    assert "NadMissing" not in told(Vicinity(nads={}), hostNetwork=True)


@pytest.mark.parametrize(("fabric", "expected"), [("sriov-rails", True), ("tcp", False)])
def test_a_policy_is_told_where_there_are_rails(fabric: str, expected: bool) -> None:
    """It does not see them."""
    found = told(Vicinity(policies=(POLICY,)), fabric)
    assert expected == ("PolicyDoesNotCoverRails" in found)


def test_a_mesh_is_told_by_the_namespaces_labels_or_annotations() -> None:
    """Istio looks at labels, Linkerd at annotations."""
    assert "MeshSidecar" in told(Vicinity({"istio-injection": "enabled"}))
    assert "MeshSidecar" in told(Vicinity(annotations={"linkerd.io/inject": "enabled"}))


@pytest.mark.parametrize(("fabric", "expected"), [("sriov-rails", True), ("tcp", False)])
def test_values_that_nccl_misreads_are_told_at_their_entry(fabric: str, expected: bool) -> None:
    """RDMA switched off is only strange where the fabric has it."""
    env = [{"name": "PATH", "value": "/bin"}, {"name": "NCCL_IB_DISABLE", "value": "1"}]
    pod = builders.pod(builders.container(env=env))
    found = injection.inject(pod, builders.shipped()[fabric])
    paths = [one.path for one in found.marker.reasons if one.code == "NcclMisread"]
    assert (["spec.containers[0].env[1]"] if expected else []) == paths


def test_findings_of_one_kind_are_one_warning() -> None:
    """Eight missing networks are told once; the marker has each with its place."""
    pod = builders.pod()
    found = injection.inject(pod, builders.shipped()["sriov-rails"], Vicinity(nads={}))
    told = [one for one in found.warnings if "NetworkAttachmentDefinition" in one]
    assert 1 == len(told)
    assert told[0].endswith("(and 7 more like this)")
    assert 8 == sum(one.code == "NadMissing" for one in found.marker.reasons)


def test_a_value_of_the_profiles_own_is_not_the_users_mistake() -> None:
    """A second pass finds it in the container's env, and says no more than the first."""
    setting = {"name": "NCCL_IB_GID_INDEX", "value": "3", "carrier": "env"}
    fabric = builders.fabric(attachment="SriovVF", settings=[setting])
    once = injection.inject(builders.pod(), fabric)
    twice = injection.inject(once.pod, fabric)
    assert once.marker == twice.marker
    assert "NcclMisread" not in {reason.code for reason in twice.marker.reasons}

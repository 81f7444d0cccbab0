"""How pods get to the fabric: by the platform's own way, by networks, by bare devices."""

from __future__ import annotations

from typing import Any

import nads
import pytest
import shown

from podrail.discovery import platform, scene

COREWEAVE = {"node.coreweave.cloud/type": "gd"}
AKS = {"kubernetes.azure.com/agentpool": "gpu"}


def network(
    name: str, plugin: str = "sriov", resource: str = "", namespace: str = "default"
) -> Any:
    """A NetworkAttachmentDefinition of a plugin."""
    return nads.document(name, nads.chain({"type": plugin}), resource, namespace)


def count(found: dict[str, Any]) -> list[tuple[str, str, int]]:
    """The resources of a spec with their counts."""
    each = [
        (one["name"], one.get("count", {"per": "Rail", "value": 1})) for one in found["resources"]
    ]
    return [(name, one["per"], one["value"]) for name, one in each]


@pytest.mark.parametrize(
    ("labels", "given", "expected"),
    [
        (AKS, 8, ("SriovVF", "GPU", 1)),
        (COREWEAVE, 8, ("SharedDevice", "Pod", 1)),
        ({}, 8, ("SriovVF", "GPU", 1)),
        ({}, 4, ("SriovVF", "Node", 4)),
        ({}, 1000, ("SharedDevice", "Pod", 1)),
    ],
    ids=["AKS", "CoreWeave", "as many as GPUs", "fewer", "many"],
)
def test_one_resource_means_different_things(
    labels: dict[str, str], given: int, expected: tuple[str, str, int]
) -> None:
    """rdma/ib is a count, a flag, or a share."""
    found = shown.spec(shown.gpus({"rdma/ib": given}, labels))
    ((_, per, value),) = count(found)
    assert expected == (found["attachment"], per, value)


def test_devices_without_networks_ask_whether_it_is_infiniband() -> None:
    """RoCE needs an address; the platforms that are known have InfiniBand."""
    (line,) = [
        one for one in shown.draft(shown.gpus({"rdma/ib": 8})).lines if one.field == "attachment"
    ]
    assert "Is this InfiniBand?" in line.question
    (line,) = [
        one
        for one in shown.draft(shown.gpus({"rdma/ib": 8}, AKS)).lines
        if one.field == "attachment"
    ]
    assert "" == line.question


def test_bare_resources_are_rails_in_the_order_of_their_names() -> None:
    """A resource for each NIC, as rdma_shared_device_a and b of the Network Operator."""
    found = shown.spec(
        shown.gpus({"rdma/rdma_shared_device_a": 63, "rdma/rdma_shared_device_b": 63})
    )
    assert [0, 1] == [one["rail"] for one in found["resources"]]
    assert ("SharedDevice", 2, "AllRails") == (
        found["attachment"],
        found["rails"]["count"],
        found["partial"],
    )
    own = shown.spec(shown.gpus({"x.y/railx": 8, "x.y/raily": 8}))
    assert ("SriovVF", "SameNuma") == (own["attachment"], own["partial"])


def test_a_policy_says_whether_devices_are_shared() -> None:
    """Before any count does."""
    shared = {"configList": [{"resourceName": "nic", "selectors": {}}]}
    found = shown.spec(
        shown.gpus({"rdma/nic": 8}), shown.cluster_policy(rdmaSharedDevicePlugin=shared)
    )
    assert "SharedDevice" == found["attachment"]
    own = {"resourceList": [{"resourcePrefix": "rdma", "resourceName": "nic"}]}
    found = shown.spec(shown.gpus({"rdma/nic": 63}), shown.cluster_policy(sriovDevicePlugin=own))
    assert "SriovVF" == found["attachment"]


def test_one_vf_of_each_nic_out_of_a_pool_of_many() -> None:
    """The policy tells how many NICs there are; else a question does."""
    node = shown.gpus({"openshift.io/vf": 64})
    nad = network("vf", resource="openshift.io/vf")
    ports = [f"ens{at}" for at in range(4)]
    found = shown.spec(node, nad, shown.policy("vf", *ports))
    assert [("openshift.io/vf", "Node", 4)] == count(found)
    assert 4 == found["networks"][0]["repeat"]
    (line,) = [one for one in shown.draft(node, nad).lines if one.field == "networks"]
    assert (8, True) == (line.value["repeat"], bool(line.question))


def test_a_pool_of_a_known_machine_has_its_nics() -> None:
    """The catalog counts them."""
    azure = {**AKS, "node.kubernetes.io/instance-type": "Standard_ND96isr_H100_v5"}
    nad = network("vf", resource="x.y/vf")
    assert 8 == shown.spec(shown.gpus({"x.y/vf": 64}, azure), nad)["networks"][0]["repeat"]


def test_networks_that_share_a_pool() -> None:
    """Each takes one of it."""
    nets = [network(f"rail{at}", resource="x.y/vf") for at in range(4)]
    found = shown.spec(shown.gpus({"x.y/vf": 8}), *nets)
    assert [("x.y/vf", "Rail", 1)] == count(found)
    assert {"x.y/vf"} == {one["resource"] for one in found["networks"]}
    assert "Proportional" == found["partial"]


def test_networks_without_their_resource_are_asked_about() -> None:
    """Multus would call the plugin without a device."""
    several = shown.draft(shown.gpus({"x.y/vf": 8}), network("rail0"), network("rail1"))
    single = shown.draft(shown.gpus({"x.y/vf": 8}), network("net"))
    for found in (several, single):
        lines = [line for line in found.lines if line.field == "networks"]
        assert all("which resource is it" in line.question for line in lines)


def test_a_rail_without_devices_now_is_asked_about() -> None:
    """Its plugin may be broken."""
    nets = [network(f"rail{at}", resource=f"x.y/rail{at}") for at in range(2)]
    found = shown.draft(shown.gpus({"x.y/rail0": 8}), *nets)
    lines = [line for line in found.lines if line.field == "resources"]
    assert ["", "No node gives x.y/rail1 now: look at its device plugin."] == [
        line.question for line in lines
    ]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"rdma/a_shared": 63, "rdma/b_shared": 63}, [0, 1]),
        ({"rdma/a_shared": 63, "rdma/b_shared": 63, "rdma/c_shared": 63}, [None, None, None]),
        ({"rdma/hca": 8}, [None]),
    ],
    ids=["one for each", "another number", "perhaps the pod's own"],
)
def test_tokens_beside_networks(given: dict[str, int], expected: list[int | None]) -> None:
    """As many tokens as networks are the rails'; of another number each is asked about."""
    nets = [network(f"rail{at}", "macvlan") for at in range(2)]
    found = shown.draft(shown.gpus(given), *nets)
    lines = [line for line in found.lines if line.field == "resources"]
    assert expected == [line.value.get("rail") for line in lines]
    assert all(line.question or len(lines) == 1 for line in lines)


def test_a_plugin_that_nobody_knows() -> None:
    """What its resource is counts; what it gives is a question."""
    found = shown.draft(shown.gpus({"x.y/rail": 8}), network("net", "odd", "x.y/rail"))
    (line,) = [one for one in found.lines if one.field == "attachment"]
    assert ("SriovVF", True) == (line.value, bool(line.question))


def test_a_network_of_many_nics_without_a_resource() -> None:
    """Nothing is counted then."""
    found = shown.spec(shown.gpus(), network("multi", "multi-nic"))
    assert "resources" not in found
    assert 1 == found["rails"]["count"]


def test_efa_without_huge_pages_asks_for_none() -> None:
    """A node that has none to give would never fit."""
    found = shown.spec(shown.gpus({"vpc.amazonaws.com/efa": 8}))
    assert [("vpc.amazonaws.com/efa", "Node", 8)] == count(found)


@pytest.mark.parametrize(
    ("resource", "expected"),
    [
        ("cpu", False),
        ("nvidia.com/gpu", False),
        ("nvidia.com/mig-1g.10gb", False),
        ("networking.gke.io.networks/rdma-0", True),
        ("networking.gke.io.networks/rdma-0.IP", False),
        ("listed.example/thing", True),
        ("example.com/mlx-rdma", True),
        ("example.com/fpga", False),
    ],
)
def test_which_resources_are_of_a_fabric(resource: str, expected: bool) -> None:
    """Those that somebody names, and those whose names say so."""
    assert expected == scene.is_fabric(resource, {"listed.example/thing"}, ())


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ({"node.kubernetes.io/instance-type": "BM.GPU.H100.8"}, "oke"),
        ({"node.kubernetes.io/instance-type": "mine"}, ""),
        ({"cloud.google.com/gke-nodepool": "a"}, "gke"),
        ({}, ""),
    ],
)
def test_a_platform_is_known_by_its_labels_or_machine_types(
    labels: dict[str, str], expected: str
) -> None:
    """And by nothing else."""
    assert expected == platform.known(labels)


def test_vendors_are_read_with_and_without_a_class() -> None:
    """Node feature discovery writes both."""
    key = "feature.node.kubernetes.io/pci-{}.present"
    found = platform.vendors([key.format("0207_15b3"), key.format("1dd8"), key.format("10de")])
    assert ("15b3", "1dd8") == found


def test_a_shared_rail_without_a_token_of_its_own() -> None:
    """Only what a network names is counted."""
    nets = [network("rail0", "macvlan", "x.y/rail0"), network("rail1", "macvlan")]
    found = shown.spec(shown.gpus({"x.y/rail0": 63}), *nets)
    assert [("x.y/rail0", "Rail", 1)] == count(found)
    assert 2 == len(found["networks"])


@pytest.mark.parametrize(
    ("labels", "resource", "expected"),
    [
        (AKS, "rdma/ib", None),
        (COREWEAVE, "rdma/ib", None),
        ({}, "x.y/rdma", None),
        ({}, "rdma/shared", "default/storage"),
    ],
    ids=["AKS", "CoreWeave", "the pod's own", "shared"],
)
def test_a_lone_network_beside_devices_that_need_none(
    labels: dict[str, str], resource: str, expected: str | None
) -> None:
    """It is asked about where it is left out: storage has networks, too."""
    found = shown.draft(shown.gpus({resource: 8}, labels), network("storage", "macvlan"))
    named = [line.value["name"] for line in found.lines if line.field == "networks"]
    assert ([expected] if expected else []) == named
    asked = any("networks default/storage" in one for one in found.questions)
    assert asked != bool(expected)

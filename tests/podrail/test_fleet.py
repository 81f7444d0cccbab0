"""The nodes that a fabric's pods may run on."""

from __future__ import annotations

import builders
import nads
import pytest

from podrail import fleet


def test_only_nodes_with_gpus_that_the_selector_admits_count() -> None:
    """A node without GPUs, or of another pool, cannot run the fabric's pods."""
    profile = builders.fabric(
        extras={"nodeSelector": {"pool": "train"}}, resources=[{"name": "rdma/hca"}]
    )
    admitted, other, without = nads.nodes(3, rdma__hca=63)
    admitted["metadata"]["labels"] = {"pool": "train"}
    without["metadata"]["labels"] = {"pool": "train"}
    del without["status"]["allocatable"]["nvidia.com/gpu"]
    found = fleet.of(profile, [admitted, other, without])
    assert (1, 63) == (len(found.machines), found.total("rdma/hca"))


def test_huge_pages_and_what_is_no_count_are_numbers() -> None:
    """A node's own mistakes are no fault of the profile's."""
    node = nads.node()
    node["status"]["allocatable"].update({"a.b/c": "many", "hugepages-2Mi": "5120Mi"})
    found = fleet.of(builders.fabric(), [node, {}], {"a.b/c", "hugepages-2Mi"})
    assert (0, 5120 * 2**20) == (found.total("a.b/c"), found.total("hugepages-2Mi"))


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        ({"flannel.alpha.coreos.com/backend-type": "vxlan"}, 50),
        ({"flannel.alpha.coreos.com/backend-type": "host-gw"}, None),
        ({"projectcalico.org/IPv4VXLANTunnelAddr": "10.1.77.0"}, 50),
        ({"projectcalico.org/IPv4IPIPTunnelAddr": "10.1.77.0"}, 20),
        ({"projectcalico.org/IPv4Address": "10.129.0.11/24"}, None),
        ({"k8s.ovn.org/node-encap-ips": '["10.4.1.81"]'}, 58),
        ({}, None),
    ],
)
def test_an_overlay_is_told_by_the_nodes_annotations(
    annotations: dict[str, str], expected: int | None
) -> None:
    """Flannel names its backend; Calico and OVN-Kubernetes annotate a tunnel where there is one."""
    machine = fleet.of(builders.fabric(), [nads.node(annotations=annotations)]).machines[0]
    assert expected == (machine.overlay.cost if machine.overlay else None)

"""What the operators' objects say of pools of NICs."""

from __future__ import annotations

from typing import Any

import pytest
import shown

from podrail.discovery import pools
from podrail.discovery.pools import Pool


def read(*documents: dict[str, Any]) -> tuple[Pool, ...]:
    """The pools of these documents."""
    kinds = {pools.POLICY: tuple(one for one in documents if one["kind"] == pools.POLICY)}
    rest = tuple(one for one in documents if one["kind"] == pools.CLUSTER_POLICY)
    return pools.read({**kinds, pools.CLUSTER_POLICY: rest})


def test_a_policy_of_the_sriov_operator() -> None:
    """It has no prefix, which is the operator's own setting; ranges of VFs are cut off."""
    (found,) = read(shown.policy("rail0", "ens1#0-3", linkType="IB"))
    assert ("15b3", ("ens1",), "ib", True) == (found.vendor, found.ports, found.link, found.rdma)
    assert (True, True, False) == tuple(
        found.gives(one) for one in ("nvidia.com/rail0", "openshift.io/rail0", "x/rail1")
    )


def test_the_plugins_of_a_nic_cluster_policy() -> None:
    """Shared ones are below rdma/ unless they say otherwise."""
    found = read(
        shown.cluster_policy(
            rdmaSharedDevicePlugin={
                "configList": [{"resourceName": "shared_a", "selectors": {"linkTypes": ["ether"]}}]
            },
            sriovDevicePlugin={
                "resourceList": [
                    {
                        "resourcePrefix": "nvidia.com",
                        "resourceName": "hostdev",
                        "selectors": [{"vendors": ["15b3"], "isRdma": True}],
                    }
                ]
            },
        )
    )
    assert [("rdma", "shared_a", True, "eth"), ("nvidia.com", "hostdev", False, "")] == [
        (one.prefix, one.name, one.shared, one.link) for one in found
    ]
    assert found[1].gives("nvidia.com/hostdev")
    assert not found[1].gives("intel.com/hostdev")
    assert ("15b3", True) == (found[1].vendor, found[1].rdma)


@pytest.mark.parametrize(
    "document",
    [
        {"kind": pools.CLUSTER_POLICY},
        {"kind": pools.CLUSTER_POLICY, "spec": {"sriovDevicePlugin": {"config": "{"}}},
        {"kind": pools.CLUSTER_POLICY, "spec": {"sriovDevicePlugin": {"config": "[" * 100_000}}},
        {"kind": pools.POLICY, "spec": {"resourceName": 3, "isRdma": "yes"}},
    ],
    ids=["empty", "no JSON", "deep", "types"],
)
def test_what_cannot_be_read_is_no_pool(document: dict[str, Any]) -> None:
    """Others' documents are not ours to correct."""
    assert () == read(document)

"""Where a node is, and how close two nodes are."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podrail import landmarks, locality
from podrail.locality import NEUTRAL, Place

AWS = "topology.k8s.aws/network-node-layer-"
OCI = "oci.oraclecloud.com/"
OLD = "network.topology.nvidia.com/"
NEW = "fabric.topograph.run/tier-"
ZONE = {"topology.kubernetes.io/zone": "z"}
LEVELS = ("zone", "fabric", "block", "leaf", "domain")
PLACES = st.builds(
    Place,
    zone=st.sampled_from(["", "z", "y"]),
    fabric=st.sampled_from(["", "f", "g"]),
    block=st.sampled_from(["", "b", "c"]),
    leaf=st.sampled_from(["", "l", "m"]),
    domain=st.sampled_from(["", "d", "e"]),
)


@pytest.mark.parametrize(
    ("labels", "family", "names"),
    [
        ({f"{AWS}1": "a", f"{AWS}2": "b", f"{AWS}3": "c"}, "aws", ("a", "a/b", "a/b/c")),
        (
            {f"{AWS}{n}": name for n, name in enumerate("abcd", 1)},
            "aws",
            ("b", "b/c", "b/c/d"),
        ),
        (
            {
                "cloud.google.com/gce-topology-block": "b",
                "cloud.google.com/gce-topology-subblock": "s",
                "cloud.google.com/gce-topology-host": "h",
            },
            "gke",
            ("", "b", "b/s"),
        ),
        (
            {
                f"{OCI}rdma.hpc_island_id": "i",
                f"{OCI}rdma.network_block_id": "n",
                f"{OCI}rdma.local_block_id": "l",
                f"{OCI}rdma.host_id": "h",
            },
            "oci",
            ("i", "i/n", "i/n/l"),
        ),
        (
            {
                "ib.coreweave.cloud/fabric": "f",
                "ib.coreweave.cloud/superpod": "1",
                "backend.coreweave.cloud/leafgroup": "2",
            },
            "coreweave",
            ("f", "f/1", "f/1/2"),
        ),
        ({f"{OLD}leaf": "l", f"{OLD}spine": "s"}, "topograph-old", ("", "s", "s/l")),
        (
            {f"{OLD}block": "l", f"{OLD}spine": "s", f"{OLD}datacenter": "d"},
            "topograph-old",
            ("d", "d/s", "d/s/l"),
        ),
        ({f"{NEW}0": "l", f"{NEW}1": "s"}, "topograph", ("", "s", "s/l")),
        (
            {
                "topology.nebius.com/gpu-cluster-id": "g",
                "topology.nebius.com/tier-2": "b",
                "topology.nebius.com/tier-1": "l",
            },
            "nebius",
            ("g", "g/b", "g/b/l"),
        ),
        ({"kubernetes.azure.com/agentpool": "gpu"}, "", ("gpu", "", "")),
        ({"topology.kubernetes.io/rack": "r1"}, "rack", ("", "", "r1")),
        ({}, "", ("", "", "")),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_cloud_s_labels_name_fabric_block_and_leaf(
    labels: dict[str, str], family: str, names: tuple[str, str, str]
) -> None:
    """And it is said whose labels they were."""
    found = locality.of({**labels, **ZONE})
    assert (family, "z", *names) == (found.family, *found.names[:4])


@pytest.mark.parametrize(
    "key",
    [
        "nvidia.com/gpu.clique",
        "accelerator.topograph.run/domain",
        f"{OLD}accelerator",
        "ds.coreweave.com/nvlink.domain",
        "topology.k8s.aws/ultraserver-id",
        f"{OCI}host.gpu_memory_fabric_id",
        "topology.nebius.com/nvl-instance-group-id",
    ],
)
def test_an_nvlink_domain_is_the_level_inside_the_leaf(key: str) -> None:
    """It belongs to no family, and GFD's clique comes first."""
    assert Place(domain="d") == locality.of({key: "d"})
    assert "c" == locality.of({key: "d", "nvidia.com/gpu.clique": "c"}).domain


def test_the_family_that_names_the_closest_level_counts() -> None:
    """A rack beats a block alone; where they name the same levels the first one counts."""
    rack = {"topology.kubernetes.io/rack": "r"}
    assert "rack" == locality.of({"cloud.google.com/gce-topology-block": "b", **rack}).family
    both = locality.of({f"{AWS}1": "a", f"{AWS}2": "b", f"{AWS}3": "c", **rack})
    assert ("aws", "a/b/c") == (both.family, both.leaf)


def test_a_fabric_may_come_from_another_family() -> None:
    """Racks say nothing of where InfiniBand ends, and Azure's pools nothing else."""
    found = locality.of({"topology.kubernetes.io/rack": "r", "agentpool": "gpu"})
    assert ("rack", "gpu", "r") == (found.family, found.fabric, found.leaf)


@pytest.mark.parametrize("value", ["no-imds-data", "Unknown", "NONE", ""])
def test_a_placeholder_is_no_name(value: str) -> None:
    """OCI writes no-imds-data where its metadata service did not answer."""
    labels = {f"{OCI}rdma.local_block_id": value, f"{OCI}rdma.network_block_id": "n"}
    assert ("n", "") == (locality.of(labels).block, locality.of(labels).leaf)


def test_the_same_rack_name_in_two_blocks_is_not_one_rack() -> None:
    """Leaves are named with what is around them."""
    rack = {"topology.kubernetes.io/rack": "1"}
    one, other = (locality.of({**rack, "topology.kubernetes.io/block": b}) for b in "ab")
    assert one.leaf != other.leaf


DEEP = Place("z", "f", "b", "l", "d")


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (Place("z", "f", "b", "l", "d"), 1.0),
        (Place("z", "f", "b", "l", "e"), 0.9),
        (Place("z", "f", "b", "m", "e"), 0.7),
        (Place("z", "f", "c", "m", "e"), 0.4),
        (Place("z", "g", "c", "m", "e"), 0.2),
        (Place("y", "g", "c", "m", "e"), 0.0),
        (Place(), NEUTRAL),
        (Place(zone="z"), NEUTRAL),
        (Place(fabric="f"), NEUTRAL),
        (Place(block="b"), 0.7),
        (Place(leaf="m"), NEUTRAL),
        (Place(block="c"), 0.4),
        (Place(fabric="g"), 0.2),
        (Place(zone="y"), 0.0),
        (Place(zone="y", leaf="l"), 0.9),
    ],
)
def test_closeness_follows_the_table(other: Place, expected: float) -> None:
    """Unknown is neutral within what is sure, and a closer common level beats a wider label."""
    assert expected == locality.closeness(DEEP, other)


@given(PLACES, PLACES)
def test_closeness_is_symmetric_and_more_knowledge_of_the_same_never_hurts(
    one: Place, other: Place
) -> None:
    """From 0 to 1, and as close to itself as to anything."""
    found = locality.closeness(one, other)
    assert 0 <= found <= 1
    assert found == locality.closeness(other, one)
    assert locality.closeness(one, one) >= NEUTRAL
    for level, name in zip(LEVELS, one.names, strict=True):
        if name and not getattr(other, level):
            assert locality.closeness(one, replace(other, **{level: name})) >= found


def test_no_key_stands_for_two_things() -> None:
    """Each label key is in one family and one level."""
    keys = [
        key
        for family in landmarks.SHIPPED.families
        for some in (family.leaf, family.block, family.fabric, family.ladder)
        for key in some
    ]
    keys += [*landmarks.SHIPPED.zone, *landmarks.SHIPPED.domain]
    assert [] == [one for one, other in itertools.pairwise(sorted(keys)) if one == other]

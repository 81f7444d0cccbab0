"""What can be told of a fabric's traffic."""

from __future__ import annotations

from dataclasses import replace

import builders
import evidence
import installations
import pytest
from installations import told

from podrail.doctor import traffic
from podrail.doctor.cluster import Cluster
from podrail.evidence.noderails import Host, Netdev
from podrail.topology import Role


def wired(fabric: str, link: str = "", **settings: str) -> Cluster:
    """A cluster without storage NICs, whose profile marks its traffic so."""
    topology = evidence.seen()
    kept = [replace(nic, link=link) for nic in topology.nics if nic.role is not Role.STORAGE]
    bare = replace(
        topology, nics=tuple(kept), tiers=tuple(row[: len(kept)] for row in topology.tiers)
    )
    document = builders.profile_document(
        fabric,
        attachment="SharedDevice",
        resources=[{"name": "rdma/hca"}],
        settings=[{"name": name, "value": value} for name, value in settings.items()],
    )
    profile = builders.fabric(fabric, **document["spec"])
    node = {**installations.node(), "metadata": {"name": "n1", "labels": {}}}
    return installations.cluster(
        node, installations.rails(observed=bare), without=["Node", "NodeRails", "Namespace"],
        profiles={fabric: profile}, asked=(fabric,),
    )  # fmt: skip


def steered(*netdevs: Netdev, flows: int | None = None) -> list[str]:
    """What is said of the fabric tcp on a node whose agent tells of these."""
    rails = installations.rails(host=Host(netdevs=netdevs, flows=flows))
    return told(traffic.steering, installations.cluster(rails, without=["NodeRails"], asked=("tcp",)))  # fmt: skip


def test_how_to_look_for_steering_is_told_where_no_agent_does() -> None:
    """RDMA needs none."""
    found = installations.cluster(asked=("tcp",))
    (only,) = told(traffic.steering, found)
    assert only.startswith("unknown: tcp goes over TCP, and no agent tells")
    assert [] == told(traffic.steering, installations.cluster())


@pytest.mark.parametrize(
    ("netdevs", "flows", "line"),
    [
        ([Netdev("eth0", 1, 0, 0), Netdev("eth1", 8, 0, 0)], 0, "warn: tcp goes over TCP, and one CPU receives all that these do, which have one queue and no RPS: n1 eth0"),
        ([Netdev("eth0", 1, 1, 0)], 0, "ok: several queues or RPS on 1 node whose agents tell it; RFS on 0"),
        ([Netdev("eth0", 8, 8, 8)], 32768, "ok: several queues or RPS on 1 node whose agents tell it; RFS on 1"),
        ([Netdev("eth0", 8, 8, 8)], None, "ok: several queues or RPS on 1 node whose agents tell it; RFS on 1"),
        ([Netdev("eth0", 8, 8, 8)], 0, "warn: RFS is set by half, and does nothing, on n1"),
        ([Netdev("eth0", 8, 8, 0)], 32768, "warn: RFS is set by half, and does nothing, on n1"),
    ],
    ids=["one CPU", "RPS", "RFS", "sysctl not seen", "no flows of sockets", "no flows of queues"],
)  # fmt: skip
def test_steering_is_judged_by_what_agents_tell(
    netdevs: list[Netdev], flows: int | None, line: str
) -> None:
    """One queue needs RPS; RFS needs both of its settings."""
    assert [line] == steered(*netdevs, flows=flows)


def test_nics_that_go_into_pods_are_seen_by_no_agent() -> None:
    """TCP over VFs, with or without agents."""
    document = builders.profile_document(
        "f",
        attachment="SriovVF",
        resources=[{"name": "x.io/vf"}],
        settings=[{"name": "NCCL_IB_DISABLE", "value": "1"}],
    )
    profile = builders.fabric("f", **document["spec"])
    found = installations.cluster(without=["Namespace"], profiles={"f": profile}, asked=("f",))
    (only,) = told(traffic.steering, found)
    assert only.startswith("unknown: f gives pods NICs of their own for TCP")


def test_storage_with_nics_of_its_own_is_well() -> None:
    """Whatever the classes are."""
    assert ["ok: storage has NICs of its own on 1 node"] == told(
        traffic.priority, installations.cluster()
    )


@pytest.mark.parametrize(
    ("link", "settings", "line"),
    [
        ("Ethernet", {}, "warn: f leaves training in the default priority"),
        ("Ethernet", {"NCCL_IB_TC": "0"}, "warn: f leaves training"),
        ("Ethernet", {"NCCL_IB_TC": "106"}, "ok: f: NCCL_IB_TC=106 (DSCP 26); keep storage off it"),
        ("InfiniBand", {"NCCL_IB_TC": "106"}, "warn: f leaves training"),
        ("InfiniBand", {"NCCL_IB_SL": "3"}, "ok: f: NCCL_IB_SL=3; keep storage off it"),
        ("", {"NCCL_IB_SL": "3"}, "ok: f: NCCL_IB_SL=3"),
    ],
    ids=["unmarked", "zero", "RoCE", "a class on InfiniBand", "a level", "link not known"],
)
def test_where_nics_are_shared_training_has_a_class(
    link: str, settings: dict[str, str], line: str
) -> None:
    """By the variable that counts on the kind of link."""
    assert told(traffic.priority, wired("f", link, **settings))[0].startswith(line)


def test_a_fabric_without_classes_of_nccls_is_not_judged() -> None:
    """TCP and EFA."""
    found = installations.cluster(without=["Namespace"], asked=("tcp", "eks-p5"))
    assert [] == told(traffic.priority, found)


def test_nodes_of_which_nothing_is_known_say_nothing_of_nics() -> None:
    """Then only the settings count."""
    node = {**installations.node(), "metadata": {"name": "n1", "labels": {}}}
    found = installations.cluster(node, without=["Node", "NodeRails"])
    assert told(traffic.priority, found)[0].startswith("warn: macvlan-rails")

"""Whether nodes are known, and whether their kubelets and limits suit the profiles."""

from __future__ import annotations

from typing import Any

import builders
import evidence
import installations
import pytest
from installations import told

from podrail.doctor import nodes
from podrail.evidence.noderails import Host, Kubelet


def test_every_node_with_gpus_is_told_of() -> None:
    """Within fifteen minutes."""
    assert ["ok: 1 node with GPUs, each told of within 15 min"] == told(
        nodes.agents, installations.cluster()
    )


@pytest.mark.parametrize(
    ("rails", "line"),
    [
        (installations.rails("other"), "warn: 1 node with GPUs, 1 without NodeRails: n1"),
        (
            installations.rails(observed_at="2026-11-30T11:00:00Z"),
            "warn: 1 agent not heard for 15 min: n1",
        ),
        (
            {**installations.rails(), "status": {"gpus": 8}},
            "warn: NodeRails of n1 cannot be read",
        ),
    ],
    ids=["no agent", "old", "broken"],
)
def test_an_agent_that_is_not_heard_is_named(rails: dict[str, Any], line: str) -> None:
    """What it would tell is then a guess."""
    found = installations.cluster(rails, without=["NodeRails"])
    assert told(nodes.agents, found)[0].startswith(line)


@pytest.mark.parametrize("seen", ["", "yesterday", "2026-11-30T11:00:00"])
def test_an_age_that_is_not_told_is_not_judged(seen: str) -> None:
    """A time without a zone is none either."""
    found = installations.cluster(installations.rails(observed_at=seen), without=["NodeRails"])
    assert told(nodes.agents, found)[0].startswith("ok: ")


def test_a_dump_has_no_age() -> None:
    """And agents that were not looked at are unknown."""
    old = installations.rails(observed_at="2020-01-01T00:00:00Z")
    assert told(nodes.agents, installations.cluster(old, without=["NodeRails"], now=None))[
        0
    ].startswith("ok: ")
    found = installations.cluster(without=["NodeRails"], now=None)
    assert ["unknown: there is no NodeRails in what was given"] == told(nodes.agents, found)


def restricted(policy: str = "restricted") -> dict[str, Any]:
    """A node whose kubelet has a policy."""
    return installations.rails(kubelet=Kubelet(policy, "pod"))


def with_rails() -> dict[str, Any]:
    """A node with a resource for each rail."""
    found = installations.node()
    found["status"]["allocatable"].update({f"nvidia.com/rail{rail}": "1" for rail in range(8)})
    return found


def test_a_kubelet_that_never_admits_a_whole_node_fails() -> None:
    """Rails counted one by one lie on both NUMA nodes, and restricted wants all on one."""
    found = installations.cluster(
        with_rails(), restricted("single-numa-node"), without=["NodeRails", "Node", "Namespace"],
        asked=("sriov-rails",),
    )  # fmt: skip
    (only,) = told(nodes.kubelet, found)
    assert only.startswith("fail: sriov-rails: the kubelet of n1 refuses every pod that has all")


@pytest.mark.parametrize(("version", "slow"), [("v1.35.4", True), ("v1.36.3", False)])
def test_a_kubelet_that_takes_long_over_four_numa_nodes_is_warned_of(
    version: str, slow: bool
) -> None:
    """Up to 1.35 it goes through all permutations of hints: one resource a rail, eight rails."""
    shape = "Standard_ND96asr_v4"
    node = with_rails()
    node["status"]["nodeInfo"] = {"kubeletVersion": version}
    rails = installations.rails(observed=evidence.seen("n1", shape))
    found = installations.cluster(
        node, rails, without=["NodeRails", "Node", "Namespace"], asked=("sriov-rails",)
    )
    (only,) = told(nodes.kubelet, found)
    assert slow == only.startswith("warn: sriov-rails: n1: kubelet 1.35 goes through ")


def test_a_policy_that_suits_is_told() -> None:
    """With how many nodes have it; without agents nothing is known."""
    assert ["ok: best-effort on 1; none refuses the pods of a profile in use"] == told(
        nodes.kubelet, installations.cluster()
    )
    found = installations.cluster(without=["NodeRails"])
    assert ["unknown: no agent tells the policy of any kubelet"] == told(nodes.kubelet, found)


@pytest.mark.parametrize("without", ["Namespace", "Node"])
def test_without_profiles_or_nodes_no_kubelet_is_judged(without: str) -> None:
    """Nor is locked memory."""
    found = installations.cluster(without=[without])
    assert [] == told(nodes.kubelet, found)
    assert [] == told(nodes.memlock, found)


def test_a_profile_that_refuses_the_trial_is_no_fault_of_kubelets() -> None:
    """A fabric for nodes of four GPUs denies eight."""
    denying = builders.fabric(
        "deny", rails={"count": 4, "gpus": 16}, partial="Deny", resources=[{"name": "a.b/vf"}]
    )
    found = installations.cluster(profiles={"deny": denying}, asked=("deny",))
    assert told(nodes.kubelet, found)[0].startswith("ok: ")
    assert {} == nodes.asked(denying, 8)


def test_a_trial_on_the_hosts_network_is_one_there() -> None:
    """Else it would be skipped."""
    found = nodes.trial(builders.shipped()["oke-host"], 8)
    assert found is not None
    assert found["spec"]["hostNetwork"] is True


@pytest.mark.parametrize(
    ("memlock", "lock", "line"),
    [
        ("unlimited", False, "ok: enough on 1 node whose agents tell it"),
        (str(1 << 40), False, "ok: enough"),
        ("8388608", False, "warn: pods of f may lock 8192 KiB on 1 node, such as n1"),
        ("65536", True, "warn: containers that do not run as root may lock 64 KiB on 1 node"),
        ("", False, "unknown: no agent tells the limit"),
    ],
    ids=["unlimited", "enough", "containerd's", "IPC_LOCK", "not told"],
)
def test_locked_memory(memlock: str, lock: bool, line: str) -> None:
    """IPC_LOCK lifts the limit for root only."""
    fabric = builders.fabric(
        "f",
        attachment="SharedDevice",
        resources=[{"name": "rdma/hca"}],
        extras={"ipcLock": lock},
    )
    rails = installations.rails(host=Host(memlock=memlock))
    found = installations.cluster(
        rails, without=["NodeRails"], profiles={"f": fabric}, asked=("f",)
    )
    assert told(nodes.memlock, found)[0].startswith(line)


@pytest.mark.parametrize(
    ("name", "over"),
    [("tcp", False), ("ipoib-rails", False), ("oke-host", True), ("coreweave-ib", True),
     ("dra-pairs", True), ("sriov-rails", True)],
)  # fmt: skip
def test_which_fabrics_go_over_rdma(name: str, over: bool) -> None:
    """Those that give pods something to do it with."""
    assert over == nodes.over_rdma(builders.shipped()[name])

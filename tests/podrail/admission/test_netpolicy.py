"""NetworkPolicies that select pods with rails."""

from __future__ import annotations

from typing import Any

import builders
import pytest

from podrail.admission import netpolicy


def policy(name: str, selector: Any) -> netpolicy.Policy:
    """A policy of namespace team."""
    metadata = {"name": name, "namespace": "team"}
    spec = {"podSelector": selector, "policyTypes": ["Ingress"]}
    return netpolicy.read({"metadata": metadata, "spec": spec})


POLICIES = (
    policy("deny-all", {}),
    policy("web", {"matchLabels": {"app": "web"}}),
    policy("train", {"matchExpressions": [{"key": "app", "operator": "In", "values": ["train"]}]}),
    policy("odd", {"matchExpressions": [{"key": "app", "operator": "Near"}]}),
)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ({}, ("deny-all",)),
        ({"app": "web"}, ("deny-all", "web")),
        ({"app": "train"}, ("deny-all", "train")),
    ],
)
def test_a_policy_selects_by_its_pod_selector(
    labels: dict[str, str], expected: tuple[str, ...]
) -> None:
    """An empty selector selects all pods; one that cannot be read selects none."""
    assert expected == netpolicy.selecting(POLICIES, labels)


def test_a_selected_pod_with_rails_gets_a_reason() -> None:
    """The message names the policies and says what they do not see."""
    pod = builders.pod(labels={"app": "train"})
    reason = netpolicy.warnings(pod, builders.shipped()["sriov-rails"], POLICIES)[0]
    assert "PolicyDoesNotCoverRails" == reason.code
    assert "deny-all, train selects this pod, and sees neither RDMA" in reason.message


@pytest.mark.parametrize(("profile", "policies"), [("tcp", POLICIES), ("sriov-rails", ())])
def test_there_is_no_reason_without_rails_or_policies(
    profile: str, policies: tuple[netpolicy.Policy, ...]
) -> None:
    """TCP over the pod network is what policies are for."""
    assert () == netpolicy.warnings(builders.pod(), builders.shipped()[profile], policies)


def test_a_long_list_of_policies_is_cut() -> None:
    """Three names, then how many more."""
    many = tuple(policy(f"p{number}", {}) for number in range(9))
    message = netpolicy.warnings(builders.pod(), builders.shipped()["sriov-pool"], many)[0].message
    assert "NetworkPolicy p0, p1, p2 and 6 more selects" in message

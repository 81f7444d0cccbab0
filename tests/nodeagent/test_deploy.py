"""What deploy/nodeagent says, without a cluster: rights, mounts, privileges."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import yaml

from nodeagent.settings import Settings

DEPLOY: Final = Path(__file__).resolve().parents[2] / "deploy/nodeagent"


def documents(name: str) -> list[dict[str, Any]]:
    return [one for one in yaml.safe_load_all((DEPLOY / name).read_text()) if one]


def container() -> dict[str, Any]:
    (daemonset,) = documents("daemonset.yaml")
    (only,) = daemonset["spec"]["template"]["spec"]["containers"]
    return dict(only)


def test_an_agent_may_no_more_than_it_needs() -> None:
    """The role in full; whoever adds a right changes this test and says why."""
    (role,) = [one for one in documents("rbac.yaml") if one["kind"] == "ClusterRole"]
    rules = [(one["apiGroups"], one["resources"], one["verbs"]) for one in role["rules"]]
    assert [
        ([""], ["nodes"], ["list", "watch", "patch"]),
        (["podrail.dev"], ["noderails"], ["get", "create"]),
        (["podrail.dev"], ["noderails/status"], ["patch"]),
    ] == rules


def test_every_policy_is_bound_and_denies() -> None:
    """One that is not bound is no policy."""
    found = documents("rbac.yaml")
    policies = {
        one["metadata"]["name"] for one in found if one["kind"] == "ValidatingAdmissionPolicy"
    }
    bound = {
        one["spec"]["policyName"]: one["spec"]["validationActions"]
        for one in found
        if one["kind"] == "ValidatingAdmissionPolicyBinding"
    }
    assert {name: ["Deny"] for name in policies} == bound
    assert 2 == len(policies)


def test_nothing_of_the_host_can_be_written() -> None:
    """No privilege, no capability, every mount read-only, no namespace of the host."""
    only = container()
    assert all(mount["readOnly"] for mount in only["volumeMounts"])
    assert {
        "runAsUser": 0,
        "privileged": False,
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    } == only["securityContext"]
    (daemonset,) = documents("daemonset.yaml")
    shared = {"hostNetwork", "hostPID", "hostIPC"}
    assert set() == shared & set(daemonset["spec"]["template"]["spec"])


def test_the_settings_are_settings_and_lie_where_the_mounts_are() -> None:
    """Every variable is read, every path is mounted."""
    only = container()
    variables = {one["name"]: one.get("value", "n1") for one in only["env"]}
    found = Settings.from_environ({**variables, "PODRAIL_SERVER": "http://x"})
    mounts = {Path(mount["mountPath"]) for mount in only["volumeMounts"]}
    assert {found.sys, found.resources.parent, found.kubelet_config} == mounts
    assert "n1" == found.node

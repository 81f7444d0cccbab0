"""Fabric profiles: what is read, and every problem at once."""

from __future__ import annotations

from typing import Any

import builders
import pytest

from podrail import profile, profiles
from podrail.errors import MalformedError
from podrail.fabric import Attachment, Partial, Per
from podrail.nccl.settings import Carrier


def problems(**spec: Any) -> list[str]:
    """The problems of a profile with this spec."""
    with pytest.raises(MalformedError) as caught:
        builders.fabric(**spec)
    return [str(problem) for problem in caught.value.problems]


def test_every_shipped_profile_is_sound_and_says_what_it_is() -> None:
    """The four plain fabrics are among them."""
    shipped = builders.shipped()
    assert {"sriov-rails", "sriov-pool", "macvlan-rails", "tcp"} <= set(shipped)
    assert all(one.description for one in shipped.values())


def test_an_empty_spec_is_a_sound_profile_that_attaches_nothing() -> None:
    """Every field has a default."""
    found = builders.fabric()
    assert (Attachment.NONE, Partial.ALL_RAILS, ("nvidia.com/gpu",)) == (
        found.attachment,
        found.partial,
        found.gpu_resources,
    )


def test_defaults_follow_the_other_fields() -> None:
    """A rail names its interface, a count its rail, and NCCL's variables go into the file."""
    found = builders.fabric(
        attachment="SriovVF",
        rails={"count": 2},
        networks=[{"name": "ns/a", "rail": 1}],
        resources=[{"name": "x.io/r", "rail": 1}],
        settings=[{"name": "NCCL_IB_TC", "value": "106"}, {"name": "UCX_TLS", "value": "tcp"}],
    )
    assert "rail1" == found.networks[0].interface
    assert (Per.RAIL, 1) == (found.resources[0].per, found.resources[0].value)
    assert [Carrier.FILE, Carrier.ENV] == [setting.carrier for setting in found.settings]
    assert 2 == found.rails.gpus


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"mode": "On"}, "spec.mode: expected one of Enforce, Observe, Suspended; got 'On'"),
        ({"rials": 8}, "spec.rials: unknown field"),
        (
            {"rails": {"count": "8"}},
            "spec.rails.count: expected a whole number from 0 to 64, got '8'",
        ),
        ({"rails": {"count": 2, "numaGroups": [[0]]}}, "spec.rails.numaGroups: expected each rail"),
        (
            {"rails": {"count": 2, "numaGroups": [[0], ["1"]]}},
            "spec.rails.numaGroups[1]: expected a list",
        ),
        ({"networks": [{"name": "a"}]}, "spec.networks[0].name: expected namespace/name, got a"),
        ({"networks": [{}]}, "spec.networks[0].name: is required"),
        ({"networks": [{"name": "n/a"}]}, "spec.networks[0].interface: is required"),
        (
            {"networks": [{"name": "n/a", "interface": "net3"}]},
            "spec.networks[0].interface: expected",
        ),
        ({"networks": [{"name": "n/a", "rail": 3}]}, "spec.networks[0].rail: expected less than"),
        ({"networks": ["x"]}, "spec.networks[0]: expected an object"),
        (
            {"networks": [{"name": "n/a", "interface": "x"}, {"name": "n/b", "interface": "x"}]},
            "spec.networks: interface x is used twice",
        ),
        (
            {"networks": [{"name": "n/a", "interface": "fourteen-chars", "repeat": 20}]},
            "spec.networks: interface fourteen-chars10 is longer than 15 characters",
        ),
        ({"networks": [{"name": "n/a", "interface": "x"}]}, "expected none with attachment None"),
        (
            {"networks": [{"name": "n/a", "interface": "x", "resource": "x.io/a"}]},
            "spec.networks[0].resource: x.io/a is not in resources",
        ),
        (
            {"settings": [{"name": "NCCL_IB_TC", "value": "1", "carrier": "file"}] * 2},
            "spec.settings: NCCL_IB_TC is listed twice",
        ),
        ({"resources": [{"name": "gpu"}]}, "spec.resources[0].name: expected"),
        (
            {"resources": [{"name": "hugepages-2Mi", "count": {"per": "Pod", "value": 5}}]},
            "spec.resources[0].count.value: expected a size such as 5120Mi for hugepages-2Mi",
        ),
        (
            {"resources": [{"name": "x.io/a", "count": {"value": "5Mi"}}]},
            "spec.resources[0].count.value: expected a whole number of devices for x.io/a",
        ),
        (
            {"resources": [{"name": "hugepages-1Gi", "count": {"per": "GPU", "value": "1Gi"}}]},
            "spec.resources[0].count.per: expected Pod for hugepages-1Gi, got GPU",
        ),
        ({"confFile": "etc/nccl.conf"}, "spec.confFile: expected a string"),
        (
            {"dialect": "GKE", "networks": [{"name": "a/b", "interface": "x"}]},
            "spec.networks[0].name: expected a name without a namespace, got a/b",
        ),
        (
            {"dialect": "GKE", "networks": [{"name": "b", "interface": "x", "cniArgs": {}}]},
            "spec.networks[0].cniArgs: expected none with dialect GKE",
        ),
        (
            {"resources": [{"name": "x.io/a"}, {"name": "x.io/a"}]},
            "spec.resources: x.io/a is listed twice",
        ),
        (
            {"resources": [{"name": "x.io/a", "count": {"per": "Each"}}]},
            "spec.resources[0].count.per",
        ),
        ({"settings": [{"name": "NCCL_ALGO", "value": "Ring"}]}, "must never be set"),
        ({"settings": [{"name": "LD_PRELOAD", "value": "x"}]}, "none of the families"),
        ({"settings": [{"name": "NCCL_IB_DISABLE", "value": "true"}]}, "NCCL reads words as 0"),
        (
            {"settings": [{"name": "NCCL_IB_HCA", "value": "=^mlx5"}]},
            "joined by commas without blanks",
        ),
        (
            {"settings": [{"name": "NCCL_IB_HCA", "value": "a, b"}]},
            "joined by commas without blanks",
        ),
        ({"settings": [{"name": "NCCL_IB_TIMEOUT", "value": "100"}]}, "from 1 to 24"),
        ({"settings": [{"name": "NCCL_NET_GDR_LEVEL", "value": "phb"}]}, "expected one of LOC"),
        (
            {"settings": [{"name": "UCX_TLS", "value": "tcp", "carrier": "file"}]},
            "needs carrier env",
        ),
        ({"settings": [{"name": "NCCL_DEBUG", "value": "a\nb"}]}, "printable characters"),
        (
            {
                "settings": [
                    {
                        "name": "NCCL_NET",
                        "value": "IB",
                        "carrier": "env",
                        "late": [{"when": {"instanceType": "x"}, "value": "Socket"}],
                    }
                ]
            },
            "NCCL_NET cannot be late with carrier env",
        ),
        (
            {
                "settings": [
                    {"name": "NCCL_IB_TC", "value": "1", "late": [{"when": {}, "value": "2"}]}
                ]
            },
            "spec.settings[0].late[0].when: expected either instanceType or one label",
        ),
        ({"extras": {"privileged": True}}, "spec.extras.privileged: unknown field"),
        ({"extras": {"ipcLock": "yes"}}, "spec.extras.ipcLock: expected true or false"),
        (
            {"namespaceSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]}},
            "expected values",
        ),
        ({"namespaceSelector": {"matchLabels": {"a": 1}}}, "spec.namespaceSelector.matchLabels.a"),
        ({"gpuResources": [7]}, "spec.gpuResources[0]: expected a name"),
        ({"networks": "all"}, "spec.networks: expected a list"),
    ],
)
def test_a_problem_names_the_field_the_value_and_what_was_expected(
    spec: dict[str, Any], expected: str
) -> None:
    """Each mistake is told with its path."""
    assert any(expected in problem for problem in problems(**spec)), problems(**spec)


def test_all_problems_are_reported_at_once() -> None:
    """An author sees every mistake in one go."""
    assert 3 == len(problems(mode="x", patienceSeconds=-1, verified=7))


@pytest.mark.parametrize("name", ["", "none", "Big", "a" * 64, "a_b", 5])
def test_a_name_must_be_usable_as_a_label_value(name: object) -> None:
    """DNS-1123, at most 63 characters, and not the opt-out."""
    document = {**builders.profile_document(), "metadata": {"name": name}}
    with pytest.raises(MalformedError, match=r"metadata\.name"):
        profile.read(document)


@pytest.mark.parametrize("document", [None, [], "x", {}, {"apiVersion": "v1", "kind": "Pod"}])
def test_a_document_of_another_kind_is_no_profile(document: object) -> None:
    """The kind and the version must be ours."""
    with pytest.raises(MalformedError):
        profile.read(document)


def test_a_broken_document_never_replaces_a_good_profile() -> None:
    """The earlier profile of that name stays, and the problem is told with its place."""
    good = profiles.load([("a.yaml", builders.profile_document("x"))])
    broken = builders.profile_document("x", mode="wrong")
    later = profiles.load([("a.yaml", broken), ("b.yaml", [])], good)
    assert good.profiles == later.profiles
    assert ["a.yaml: spec.mode", "b.yaml: "] == [problem.path for problem in later.problems][:2]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ({"tier": "gold", "x": "1"}, True),
        ({"tier": "gold"}, False),
        ({"x": "1"}, False),
        ({"tier": "gold", "x": "1", "no": ""}, False),
    ],
)
def test_a_namespace_selector_means_what_kubernetes_means(
    labels: dict[str, str], expected: bool
) -> None:
    """All requirements must hold."""
    found = builders.fabric(
        namespaceSelector={
            "matchLabels": {"tier": "gold"},
            "matchExpressions": [
                {"key": "x", "operator": "Exists"},
                {"key": "no", "operator": "DoesNotExist"},
                {"key": "tier", "operator": "NotIn", "values": ["tin"]},
            ],
        }
    )
    assert expected == found.namespaces.matches(labels)


def test_a_setting_takes_the_first_late_value_that_matches_the_node() -> None:
    """Late values are tried in order; a node that matches none has the plain value."""
    late = [
        {"when": {"label": {"rack": "r1"}}, "value": "2"},
        {"when": {"instanceType": "big"}, "value": "3"},
    ]
    setting = builders.fabric(
        settings=[{"name": "NCCL_IB_TC", "value": "1", "late": late}]
    ).settings[0]
    instance = "node.kubernetes.io/instance-type"
    assert ["1", "2", "3", "2"] == [
        setting.on(labels)
        for labels in ({}, {"rack": "r1"}, {instance: "big"}, {"rack": "r1", instance: "big"})
    ]

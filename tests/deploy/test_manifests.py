"""What deploy/ says, without a cluster: names, selectors, scheduler configurations, rights."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import builders
import pytest
import yaml

from podrail import names

DEPLOY: Final = Path(__file__).resolve().parents[2] / "deploy"
EXCLUDED: Final = {"kube-system", "kube-node-lease", "podrail-system"}
KEY: Final = re.compile(r"podrail\.dev/[a-zA-Z.-]+")


def documents(name: str) -> list[dict[str, Any]]:
    return [one for one in yaml.safe_load_all((DEPLOY / name).read_text()) if one]


def entries() -> dict[str, dict[str, Any]]:
    (registration,) = documents("webhook/registration.yaml")
    return {entry["name"]: entry for entry in registration["webhooks"]}


def of_kind(name: str, kind: str) -> dict[str, dict[str, Any]]:
    return {one["metadata"]["name"]: one for one in documents(name) if one["kind"] == kind}


def selects(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Whether a label selector matches, as k8s.io/apimachinery 0.36 has it."""
    for one in selector["matchExpressions"]:
        value = labels.get(one["key"])
        holds = {
            "Exists": value is not None,
            "DoesNotExist": value is None,
            "NotIn": value not in one.get("values", ()),
        }
        if not holds[one["operator"]]:
            return False
    return True


def reached(
    rules: Mapping[str, Mapping[str, Any]], pod: str | None, space: Mapping[str, str]
) -> list[str]:
    """The rules that a pod with this label in a namespace with these labels comes to."""
    labels = {} if pod is None else {names.FABRIC: pod}
    return [
        name
        for name, rule in rules.items()
        if selects(rule["objectSelector"], labels) and selects(rule["namespaceSelector"], space)
    ]


LABELS: Final = (None, "none", "tcp")
CASES: Final = list(itertools.product(LABELS, LABELS, ("team", *sorted(EXCLUDED))))


@pytest.mark.parametrize(("pod", "space", "name"), CASES)
def test_an_opted_in_pod_comes_through_one_entry_and_nobody_elses_through_any(
    pod: str | None, space: str | None, name: str
) -> None:
    """The pod's own label decides, its namespace's only without one; system namespaces never."""
    own = {"kubernetes.io/metadata.name": name}
    labels = own if space is None else {**own, names.FABRIC: space}
    wanted = (pod or space or names.OPT_OUT) != names.OPT_OUT and name not in EXCLUDED
    entry = "pod.podrail.dev" if pod else "namespace.podrail.dev"
    assert ([entry] if wanted else []) == reached(entries(), pod, labels)


@pytest.mark.parametrize(("pod", "space", "name"), CASES)
def test_the_policy_is_bound_to_what_the_webhook_is_sent(
    pod: str | None, space: str | None, name: str
) -> None:
    """A pod that the webhook never sees is not asked for its marker either."""
    own = {"kubernetes.io/metadata.name": name}
    labels = own if space is None else {**own, names.FABRIC: space}
    bindings = {
        name: binding["spec"]["matchResources"]
        for name, binding in of_kind(
            "webhook/policy.yaml", "ValidatingAdmissionPolicyBinding"
        ).items()
        if binding["spec"]["policyName"] == "podrail-injected"
    }
    called, asked = reached(entries(), pod, labels), reached(bindings, pod, labels)
    assert [one.partition(".")[0] for one in called] == [one.rpartition("-")[2] for one in asked]


@pytest.mark.parametrize("name", ["pod.podrail.dev", "namespace.podrail.dev"])
def test_an_entry_delays_a_pod_by_three_seconds_at_most_and_stops_none(name: str) -> None:
    """An outage is the policy's affair; creations of pods are all that is sent."""
    entry = entries()[name]
    wanted = {
        "failurePolicy": "Ignore",
        "timeoutSeconds": 3,
        "reinvocationPolicy": "IfNeeded",
        "sideEffects": "None",
        "matchPolicy": "Equivalent",
        "admissionReviewVersions": ["v1"],
    }
    assert wanted == {key: entry[key] for key in wanted}
    (rule,) = entry["rules"]
    assert (["v1"], ["pods"], ["CREATE"]) == (
        rule["apiVersions"],
        rule["resources"],
        rule["operations"],
    )


def test_every_key_in_deploy_is_one_of_ours() -> None:
    """The manifests and podrail.names cannot drift apart."""
    known = {value for value in vars(names).values() if isinstance(value, str)}
    found = {key for path in DEPLOY.rglob("*.yaml") for key in KEY.findall(path.read_text())}
    assert {names.FABRIC, names.INJECTED} <= found
    assert set() == found - known


def test_a_bound_pods_own_annotations_are_the_users() -> None:
    """The policy on updates spares exactly the annotations that are not podrail's."""
    policy = of_kind("webhook/policy.yaml", "ValidatingAdmissionPolicy")["podrail-annotations"]
    (validation,) = policy["spec"]["validations"]
    spared = set(KEY.findall(validation["expression"]))
    assert {names.CONTAINER, names.RAILS} == spared
    (reported,) = (one for one in policy["spec"]["variables"] if one["name"] == "reported")
    assert [names.OBSERVED] == KEY.findall(reported["expression"])
    assert "system:serviceaccount:podrail-system:podrail-controller" in reported["expression"]


def test_the_second_scheduler_sees_all_nodes_and_packs_by_gpus() -> None:
    """What would hide nodes from the extender or outvote one of its points is off."""
    (config,) = documents("extender/scheduler-second.yaml")
    (profile,) = config["profiles"]
    arguments = {one["name"]: one["args"] for one in profile["pluginConfig"]}
    assert 100 == config["percentageOfNodesToScore"]
    assert ["NodeResourcesBalancedAllocation", "ImageLocality"] == [
        one["name"] for one in profile["plugins"]["score"]["disabled"]
    ]
    assert {"defaultingType": "List", "defaultConstraints": []} == arguments["PodTopologySpread"]
    assert "MostAllocated" == arguments["NodeResourcesFit"]["scoringStrategy"]["type"]


@pytest.mark.parametrize(
    ("name", "weight", "managed"),
    [
        pytest.param("second", 20, None, id="second"),
        pytest.param("extend-existing", 60, ["nvidia.com/gpu", "amd.com/gpu"], id="existing"),
    ],
)
def test_an_extender_is_called_with_names_and_may_be_out(
    name: str, weight: int, managed: list[str] | None
) -> None:
    """A second scheduler sends all its pods, an existing one those that ask for a GPU."""
    (config,) = documents(f"extender/scheduler-{name}.yaml")
    (extender,) = config["extenders"]
    resources = extender.pop("managedResources", [])
    assert {
        "urlPrefix": "http://127.0.0.1:8888",
        "filterVerb": "filter",
        "prioritizeVerb": "prioritize",
        "bindVerb": "bind",
        "weight": weight,
        "nodeCacheCapable": True,
        "ignorable": True,
        "httpTimeout": "2s",
    } == extender
    assert (managed or []) == [one["name"] for one in resources]
    assert not any(one["ignoredByScheduler"] for one in resources)


def test_the_gpus_of_every_shipped_profile_are_counted() -> None:
    """Those that an existing scheduler sends, and those by which the second one packs."""
    (existing,) = documents("extender/scheduler-extend-existing.yaml")
    (second,) = documents("extender/scheduler-second.yaml")
    sent = {one["name"] for one in existing["extenders"][0]["managedResources"]}
    (fit,) = (
        one["args"]
        for one in second["profiles"][0]["pluginConfig"]
        if one["name"] == "NodeResourcesFit"
    )
    packed = {one["name"] for one in fit["scoringStrategy"]["resources"]}
    shipped = {name for one in builders.shipped().values() for name in one.gpu_resources}
    assert sent == packed
    assert shipped <= sent


READ: Final = ["get", "list", "watch"]
EVIDENCE: Final = (
    (["podrail.dev"], ["fabricprofiles", "noderails"], READ),
    (["resource.k8s.io"], ["resourceclaims", "resourceclaimtemplates", "resourceslices"], READ),
    (["topology.node.k8s.io"], ["noderesourcetopologies"], READ),
)
"""What tells of nodes."""
JOBS: Final = (
    (["batch"], ["jobs"], READ),
    (["apps"], ["statefulsets"], READ),
    (["jobset.x-k8s.io"], ["jobsets"], READ),
    (["leaderworkerset.x-k8s.io"], ["leaderworkersets"], READ),
    (["kubeflow.org"], ["mpijobs", "pytorchjobs"], READ),
    (["ray.io"], ["rayclusters"], READ),
    (["batch.volcano.sh"], ["jobs"], READ),
    (
        ["scheduling.k8s.io", "scheduling.volcano.sh", "scheduling.x-k8s.io"],
        ["podgroups"],
        READ,
    ),
)
"""What tells how large a job is."""


def test_nobody_may_more_than_it_needs() -> None:
    """The roles in full; whoever adds a right changes this test and says why."""
    roles = {
        name: [
            (rule["apiGroups"], sorted(rule["resources"]), sorted(rule["verbs"]))
            for rule in role["rules"]
        ]
        for folder in ("webhook", "extender", "controller")
        for name, role in of_kind(f"{folder}/rbac.yaml", "ClusterRole").items()
    }
    profiles = (["podrail.dev"], ["fabricprofiles"], READ)
    assert {
        "podrail-webhook": [
            ([""], ["namespaces"], READ),
            ([""], ["pods"], READ),
            profiles,
            (["k8s.cni.cncf.io"], ["network-attachment-definitions"], READ),
            (["networking.k8s.io"], ["networkpolicies"], READ),
            (["resource.k8s.io"], ["resourceclaims", "resourceclaimtemplates"], READ),
        ],
        "podrail-extender": [
            ([""], ["nodes", "pods"], READ),
            *EVIDENCE,
            *JOBS,
            ([""], ["pods/binding"], ["create"]),
            # Nominated nodes, as extender/policy-status.yaml has it.
            ([""], ["pods/status"], ["patch"]),
            ([""], ["events"], ["create"]),
        ],
        "podrail-controller": [
            (["podrail.dev"], ["fabricprofiles", "noderails"], READ),
            (["podrail.dev"], ["fabricprofiles/status"], ["patch"]),
            (["k8s.cni.cncf.io"], ["network-attachment-definitions"], READ),
            ([""], ["namespaces", "nodes", "pods"], READ),
            # Reports: one annotation, as the policy in controller/rbac.yaml has it, and events.
            ([""], ["pods"], ["patch"]),
            ([""], ["events"], ["create", "patch"]),
            (["resource.k8s.io"], ["resourceclaimtemplates"], ["create", *READ]),
        ],
    } == roles


def test_the_controller_holds_one_lease_and_no_other() -> None:
    """Its role in podrail's own namespace, in full."""
    (role,) = of_kind("controller/rbac.yaml", "Role").values()
    assert [
        (None, ["create"]),
        (["podrail-controller"], ["get", "update"]),
    ] == [(rule.get("resourceNames"), rule["verbs"]) for rule in role["rules"]]
    assert [["leases"]] * 2 == [rule["resources"] for rule in role["rules"]]

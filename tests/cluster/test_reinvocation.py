"""Podrail beside a second mutating webhook that changes whatever it likes, both asked again.

The second one's changes are those that reinvocation needs of everybody (each leaves its own output
as it is), so what is stored must be what both of them want at once.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

import builders
import pytest
import reviews
from controlplane import second
from controlplane.installed import Installed
from controlplane.plane import Cluster
from controlplane.second import Change

from podrail import names, quantity
from podrail.multus import networks

pytestmark = pytest.mark.cluster

CHANGES = "test.example/changes"
MEDDLED = {"test.example/meddled": "yes"}
STORAGE = "storage/nfs@store0"
FABRICS = ("sriov-rails", "sriov-pool", "macvlan-rails", "aks-sriov-ib", "eks-p5", "volcengine")


def renames(pod: dict[str, Any]) -> None:
    """Every container gets a prefix."""
    for container in pod["spec"]["containers"]:
        container["name"] = f"x-{container['name'].removeprefix('x-')}"


def reorders(pod: dict[str, Any]) -> None:
    """Whatever is a list gets another order: containers, variables, mounts, volumes, networks."""
    spec, annotations = pod["spec"], pod["metadata"]["annotations"]
    if names.NETWORKS in annotations:
        elements = sorted(annotations[names.NETWORKS].split(","), reverse=True)
        annotations[names.NETWORKS] = ",".join(elements)
    spec["containers"].sort(key=lambda one: str(one["name"]), reverse=True)
    for container in spec["containers"]:
        container.get("env", []).sort(key=lambda one: str(one["name"]), reverse=True)
        container.get("volumeMounts", []).sort(key=lambda one: str(one["mountPath"]))
    spec.get("volumes", []).sort(key=lambda one: str(one["name"]), reverse=True)


def appends(pod: dict[str, Any]) -> None:
    """A sidecar of each sort, and variables at both ends of every container's."""
    spec = pod["spec"]
    if all("proxy" not in one["name"] for one in spec["containers"]):
        proxy = {"name": "proxy", "image": "x", "env": [{"name": "PROXY", "value": "1"}]}
        spec["containers"].insert(0, proxy)
        native = {"name": "native", "image": "x", "restartPolicy": "Always"}
        spec.setdefault("initContainers", []).append(native)
    for container in spec["containers"]:
        variables = container.setdefault("env", [])
        if all(one["name"] != "FIRST" for one in variables):
            variables.insert(0, {"name": "FIRST", "value": "$(LAST)"})
            variables.append({"name": "LAST", "value": "1"})


def annotates(pod: dict[str, Any]) -> None:
    """Annotations of its own, and a network before all others in the short form."""
    annotations = pod["metadata"]["annotations"]
    annotations["test.example/seen"] = "yes"
    text = annotations.get(names.NETWORKS, "")
    if "nfs" not in text:
        annotations[names.NETWORKS] = f"{STORAGE},{text}" if text else STORAGE


def annotates_in_json(pod: dict[str, Any]) -> None:
    """The same as JSON, whatever form was there."""
    annotations = pod["metadata"]["annotations"]
    found = networks.parse(annotations.get(names.NETWORKS, ""))
    if any(one.name == "nfs" for one in found.elements):
        return
    others = [
        {"name": one.name, "namespace": one.namespace, "interface": one.interface}
        for one in found.elements
    ]
    mine = {"name": "nfs", "namespace": "storage", "interface": "store0", "x-vlan": 7}
    annotations[names.NETWORKS] = json.dumps([mine, *others], indent=1)


MEDDLINGS: dict[str, tuple[Callable[[dict[str, Any]], None], ...]] = {
    "renames": (renames,),
    "reorders": (reorders,),
    "appends": (appends,),
    "annotates": (annotates,),
    "annotates in JSON": (annotates_in_json,),
    "everything": (appends, renames, reorders, annotates),
}


def meddled(pod: dict[str, Any]) -> dict[str, Any]:
    """The pod as the second webhook wants it."""
    wanted = copy.deepcopy(pod)
    annotations = wanted["metadata"].setdefault("annotations", {})
    for change in MEDDLINGS[annotations.setdefault(CHANGES, "annotates")]:
        change(wanted)
    return wanted


@pytest.fixture(scope="module")
def other(installed: Installed) -> Iterator[str]:
    """The address of the second webhook."""
    change: Change = meddled
    with second.serving(installed, change) as address:
        yield address


@pytest.fixture(scope="module", params=[second.BEFORE, second.AFTER])
def beside(
    request: pytest.FixtureRequest, installed: Installed, address: str, other: str
) -> Iterator[str]:
    """Both webhooks registered, the second one before or after podrail."""
    installed.register(address)
    with second.registered(installed, other, request.param, MEDDLED):
        yield address
    installed.unregister()


def pod_of_a_user(fabric: str, changes: str) -> dict[str, Any]:
    """A pod with something of its own wherever one of the two writes."""
    train = builders.container(
        env=[{"name": "NCCL_DEBUG", "value": "WARN"}, {"name": "MINE", "value": "1"}],
        limits={"cpu": "8", "memory": "64Gi"},
        volumeMounts=[{"name": "data", "mountPath": "/data"}],
    )
    pod = builders.document(
        train,
        builders.container("side", gpus=0, env=[{"name": "MINE", "value": "2"}]),
        fabric=fabric,
        labels=MEDDLED,
        annotations={CHANGES: changes, "mine": "kept", names.NETWORKS: "lab/mine"},
        volumes=[{"name": "data", "emptyDir": {}}],
    )
    pod["metadata"] |= {"generateName": "meddled-"}
    del pod["metadata"]["name"]
    return pod


def named(pod: dict[str, Any]) -> dict[str, list[str]]:
    """Everything in a pod that must have a name of its own, by what it is."""
    elements = networks.parse(pod["metadata"]["annotations"].get(names.NETWORKS, "")).elements
    found = {
        "containers": [one["name"] for one in pod["spec"]["containers"]],
        "volumes": [one["name"] for one in pod["spec"]["volumes"]],
        "interfaces": [one.interface for one in elements if one.interface],
    }
    for container in pod["spec"]["containers"]:
        name = container["name"].removeprefix("x-")
        context = container.get("securityContext", {})
        found[f"{name} env"] = [one["name"] for one in container.get("env", ())]
        found[f"{name} mounts"] = [one["mountPath"] for one in container.get("volumeMounts", ())]
        found[f"{name} capabilities"] = context.get("capabilities", {}).get("add", [])
    return found


def limits(pod: dict[str, Any]) -> dict[str, int]:
    """The limits of the container with the GPUs."""
    (train,) = (one for one in pod["spec"]["containers"] if one["name"].endswith("train"))
    return {name: quantity.whole(count) for name, count in train["resources"]["limits"].items()}


@pytest.mark.parametrize(
    ("fabric", "changes"), [(fabric, changes) for fabric in FABRICS for changes in MEDDLINGS]
)
def test_what_is_stored_is_what_both_want(
    cluster: Cluster, beside: str, installed: Installed, fabric: str, changes: str
) -> None:
    """A further pass of either changes nothing; nothing is doubled, nothing of the user's is lost."""
    given = pod_of_a_user(fabric, changes)
    stored = cluster.client.create(given, dryRun="All")
    assert stored == meddled(stored)
    again = reviews.send(installed, beside, stored)
    assert (True, []) == (again["allowed"], reviews.operations(again))
    found, alone = named(stored), named(reviews.alone(given))
    assert {kind: sorted(set(each)) for kind, each in found.items()} == {
        kind: sorted(each) for kind, each in found.items()
    }
    for kind, wanted in alone.items():
        assert set(wanted) <= {one.removeprefix("x-") for one in found[kind]}, kind
    assert limits(reviews.alone(given)) == limits(stored)
    assert "kept" == stored["metadata"]["annotations"]["mine"]


@pytest.mark.usefixtures("beside")
def test_podrail_is_asked_again_after_the_second_one(cluster: Cluster) -> None:
    """Twice in all, wherever the second one stands: the fixpoints above are of two passes."""
    calls = reviews.called(cluster, "pod.podrail.dev")
    cluster.client.create(pod_of_a_user("sriov-rails", "everything"), dryRun="All")
    assert calls + 2 == reviews.called(cluster, "pod.podrail.dev")

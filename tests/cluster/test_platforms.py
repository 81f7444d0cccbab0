"""Every platform's workloads at a real API server: their pods are valid with all that is injected.

Most are created dry: the same validation, and no device of the tests' nodes is taken.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import admitted
import builders
import checkout
import pytest
from controlplane import nodes
from controlplane.installed import Installed, eventually
from controlplane.plane import Cluster

from podrail import marker, names, quantity
from podrail.fabric import Verified
from podrail.marker import Injected

pytestmark = pytest.mark.cluster

EXAMPLES = sorted((checkout.ROOT / "examples" / "workloads").glob("*.yaml"))
OWN = sorted((checkout.ROOT / "tests" / "platforms" / "workloads").glob("*.yaml"))


@pytest.fixture(scope="module", autouse=True)
def _registered(installed: Installed, address: str) -> Iterator[None]:
    """The webhook, for all tests of this module."""
    installed.register(address)
    yield
    installed.unregister()


def as_created(pod: Any, namespace: str = admitted.NAMESPACE) -> dict[str, Any]:
    """The pod of a template as its controller would create it."""
    metadata = {key: value for key, value in pod.get("metadata", {}).items() if key != "name"}
    named = {**metadata, "namespace": namespace, "generateName": "platform-"}
    # Its controller names it; and nobody has made it an account here.
    spec = {key: value for key, value in pod["spec"].items() if key != "serviceAccountName"}
    return {**pod, "metadata": named, "spec": {"restartPolicy": "Never", **spec}}


def told(pod: Any) -> Injected | None:
    """The marker without its reasons: they depend on which networks a cluster has."""
    found = marker.injected(admitted.said(pod).get(names.INJECTED))
    return None if found is None else found._replace(reasons=())


def limits(pod: Any) -> list[dict[str, int]]:
    """The limits of each container."""
    return [
        {
            name: quantity.whole(count)
            for name, count in (one.get("resources") or {}).get("limits", {}).items()
            if name not in {"cpu", "memory"}
        }
        for one in pod["spec"]["containers"]
    ]


@pytest.mark.parametrize("path", [*EXAMPLES, *OWN], ids=lambda path: path.stem)
def test_a_workloads_pods_are_accepted_as_the_command_shows_them(
    cluster: Cluster, path: Path
) -> None:
    """To the last field, with the marker, networks and devices of its golden file; all of them told."""
    for one in admitted.workloads(path):
        pod = as_created(one.before)
        answer = cluster.client.try_create(pod, dryRun="All", fieldValidation="Strict")
        assert 201 == answer.status, f"{one.place}: {answer.message}"
        assert limits(one.pod) == limits(answer.body)
        assert told(one.pod) == told(answer.body)
        alone, said = admitted.said(one.pod), admitted.said(answer.body)
        assert {**alone, names.INJECTED: ""} == {**said, names.INJECTED: ""}
        added = found.resources if (found := told(one.pod)) else ()
        assert [] == [name for name in added if f"{name}: " not in " ".join(answer.warnings)]


INJECTED = {
    path.stem: one
    for path in EXAMPLES
    for one in reversed(admitted.workloads(path))
    if one.outcome == "injected"
}
"""The first injected pod of each example, by the example's name."""
COUNTED = [stem for stem, one in INJECTED.items() if "resourceClaims" not in one.pod["spec"]]
"""Those whose devices are counted; the others' are claimed, which test_dra is about."""


def own_node(pod: Any) -> dict[str, Any]:
    """A node of the pod's name with what the pod, as it was admitted, asks for and selects.

    Which half of a machine a part of it gets depends on the pod's namespace.
    """
    room = Counter[str]()
    for each in limits(pod):
        room.update(each)
    wanted = pod["spec"]["nodeSelector"]
    shape = wanted.get(names.INSTANCE_TYPE, "unheard-of")
    devices = {name: str(count) for name, count in room.items()}
    return nodes.node(pod["metadata"]["name"], shape, devices, **wanted)


@pytest.fixture
def own_nodes(cluster: Cluster, namespace: str) -> Iterator[None]:
    """A pod of each example, and then a node for each."""
    for stem in COUNTED:
        pod = as_created(INJECTED[stem].before, namespace)
        pod["metadata"] |= {"name": stem}
        selector = pod["spec"].get("nodeSelector", {})
        pod["spec"]["nodeSelector"] = {**selector, "kubernetes.io/hostname": stem}
        cluster.client.create(own_node(cluster.client.create(pod, namespace)))
    yield
    for stem in COUNTED:
        cluster.client.delete(f"/api/v1/nodes/{stem}")


@pytest.mark.usefixtures("extender", "own_nodes")
def test_a_workloads_pod_is_bound_where_there_is_what_it_asks_for(
    cluster: Cluster, namespace: str
) -> None:
    """By kube-scheduler with the extender beside it: no device is injected that a node cannot have."""
    path = f"/api/v1/namespaces/{namespace}/pods"

    def bound() -> dict[str, str]:
        pods = cluster.client.items(path)
        return {one["metadata"]["name"]: one["spec"].get("nodeName", "") for one in pods}

    eventually(lambda: all(bound().values()), "all are bound", 40)
    assert {stem: stem for stem in COUNTED} == bound()
    placed = [one for one in cluster.client.items(path) if names.PLACEMENT in admitted.said(one)]
    assert len(COUNTED) == len(placed)


def test_what_a_profile_says_of_itself_was_done_here() -> None:
    """Those verified at the API, or on a node, have an example that goes through the tests above."""
    tried = {one.marker.profile for one in INJECTED.values() if one.marker}
    shipped, done = builders.shipped().values(), {Verified.API, Verified.NODE}
    assert {one.name for one in shipped if one.verified in done} == tried

"""FabricProfiles at a real API server: what it refuses, how soon a change counts, their status."""

from __future__ import annotations

import json
import re
import ssl
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import builders
import pytest
import refused
from controlplane.installed import ROOT, Installed, documents, eventually
from controlplane.plane import Cluster
from controlplane.processes import Child

from podrail import names, profile, profiles

pytestmark = pytest.mark.cluster
EFFECTIVE_SECONDS = 5
DEFINITION = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/fabricprofiles.podrail.dev"
FILES = [
    path
    for folder in (ROOT / "podrail" / "data" / "profiles", ROOT / "examples" / "profiles")
    for path in sorted(folder.glob("*.yaml"))
]
RAILS = {"count": 2, "numaGroups": [[0], [1]]}
SRIOV = {"attachment": "SriovVF", "rails": RAILS}


@pytest.fixture(autouse=True)
def _own(cluster: Cluster, installed: Installed) -> Iterator[None]:
    """The definition is there; no profile outlives its test."""
    del installed
    yield
    cluster.client.delete(profiles.RESOURCES)
    eventually(lambda: not cluster.client.items(profiles.RESOURCES), "the profiles are gone")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_profile_that_is_shipped_can_be_applied(cluster: Cluster, path: Path) -> None:
    """With strict validation and without a warning: the same YAML works offline and here."""
    for one in documents(path):
        answer = cluster.client.try_create(one, dryRun="All", fieldValidation="Strict")
        assert (201, ()) == (answer.status, answer.warnings), answer.message


def test_the_definition_is_structural_and_found_by_its_names(cluster: Cluster) -> None:
    """Short name and category work in kubectl; nothing of the schema is refused or ignored."""
    conditions = cluster.client.get(DEFINITION)["status"]["conditions"]
    assert {("NamesAccepted", "True"), ("Established", "True")} == {
        (one["type"], one["status"]) for one in conditions
    }
    listed = cluster.client.get(f"/apis/{profile.API_VERSION}")["resources"]
    found = {one["name"]: one for one in listed}
    assert {"fabricprofiles", "fabricprofiles/status"} <= set(found)
    ours = found["fabricprofiles"]
    assert (["fp"], ["podrail"]) == (ours["shortNames"], ours["categories"])


def network(**fields: Any) -> dict[str, Any]:
    """A spec with one network."""
    return {**SRIOV, "networks": [{"name": "default/a", "rail": 0, **fields}]}


BAD: list[tuple[dict[str, Any], str]] = [
    ({"mode": "On"}, 'supported values: "Enforce", "Observe", "Suspended"'),
    ({"patienceSeconds": -1}, "spec.patienceSeconds: Invalid value: -1"),
    ({"rails": {"count": 65}}, "should be less than or equal to 64"),
    (network(rail=2), "expected each networks[].rail to be less than rails.count"),
    (network(resource="x.io/a"), "networks[].resource to be the name of one of resources"),
    (network(name="a"), "expected networks[].name as namespace/name with dialect Multus"),
    ({**network(), "dialect": "GKE"}, "expected networks[].name as namespace/name"),
    ({**SRIOV, "networks": [{"name": "default/a"}]}, "expected networks[].interface"),
    (network(interface="net3"), "expected a name that the pod network and Multus do not give"),
    (network(interface="sixteen-chars-xx"), "spec.networks[0].interface"),
    ({**network(), "attachment": "None"}, "expected no networks with attachment None"),
    ({**network(), "attachment": "HostNetwork"}, "or HostNetwork"),
    ({"resources": [{"name": "x.io/a", "rail": 0}]}, "expected each resources[].rail"),
    ({"resources": [{"name": "x.io/a"}] * 2}, "Duplicate value"),
    ({"resources": [{"name": "gpu"}]}, "spec.resources[0].name"),
    ({"resources": [{"name": "x.io/a", "count": {"value": "5Mi"}}]}, "expected count.value as"),
    ({"resources": [{"name": "hugepages-2Mi"}]}, "expected count.value as a size for hugepages"),
    ({"rails": {"count": 2, "numaGroups": [[0]]}}, "each rail from 0 to count - 1 in exactly one"),
    ({"rails": {"count": 2, "numaGroups": [[0, 1], [1]]}}, "in exactly one group"),
    ({"rails": {"count": 2, "numaGroups": [[0], [2]]}}, "expected rails less than count"),
    ({"settings": [{"name": "NCCL_IB_TC"}]}, "spec.settings[0].value: Required value"),
    (
        {"settings": [{"name": "A", "value": "1", "late": [{"when": {}, "value": "2"}]}]},
        "expected either instanceType or one label",
    ),
    (
        {"namespaceSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]}},
        "expected values with the operators In and NotIn only",
    ),
]


@pytest.mark.parametrize(("spec", "expected"), BAD, ids=[str(number) for number in range(len(BAD))])
def test_what_the_reader_refuses_is_refused_early(
    cluster: Cluster, spec: dict[str, Any], expected: str
) -> None:
    """With a message that names what was expected."""
    refused.early(cluster, spec, expected)


@pytest.mark.parametrize("name", ["none", "a.b", "x" * 64])
def test_a_name_is_a_label_value_other_than_the_opt_out(cluster: Cluster, name: str) -> None:
    """Pods name their profile in a label."""
    answer = cluster.client.try_create(builders.profile_document(name), dryRun="All")
    assert 422 == answer.status, answer.message


def test_a_field_that_nobody_knows_is_told(cluster: Cluster) -> None:
    """As kubectl asks for it: an error with its path; cniArgs may hold whatever it likes."""
    bad = builders.profile_document("bad", rials=8)
    answer = cluster.client.try_create(bad, dryRun="All", fieldValidation="Strict")
    assert 400 == answer.status
    assert 'unknown field "spec.rials"' in answer.message
    good = builders.profile_document("good", **network(cniArgs={"whatever": {"a": [1]}}))
    assert (
        good["spec"]["networks"]
        == (cluster.client.create(good, fieldValidation="Strict")["spec"]["networks"])
    )


def test_what_is_absent_shows_in_a_listing(cluster: Cluster) -> None:
    """The defaults that the printer columns and the rules look at, and no others."""
    found = cluster.client.create(builders.profile_document("plain", rails={}))
    assert {
        "mode": "Enforce",
        "attachment": "None",
        "dialect": "Multus",
        "verified": "document",
        "rails": {"count": 0},
    } == found["spec"]


class Live:
    """A profile that is changed while the webhook runs."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        self._cluster = cluster
        self._name = name
        self._path = f"{profiles.RESOURCES}/{name}"

    def create(self, **spec: Any) -> None:
        """Make it."""
        self._cluster.client.create(builders.profile_document(self._name, **spec))

    def change(self, **spec: Any) -> None:
        """Change fields of its spec."""
        answer = self._cluster.client.patch(self._path, {"spec": spec})
        assert 200 == answer.status, answer.message

    def delete(self) -> None:
        """Take it away."""
        self._cluster.client.delete(self._path)

    def marker(self, namespace: str) -> dict[str, Any]:
        """What the webhook makes of a pod that names it."""
        pod = builders.document(fabric=self._name)
        answer = self._cluster.client.try_create(pod, namespace, dryRun="All")
        annotations = (answer.body.get("metadata") or {}).get("annotations", {})
        found: dict[str, Any] = json.loads(annotations.get(names.INJECTED, "{}"))
        return found

    def status(self) -> dict[str, Any]:
        """Its status."""
        found: dict[str, Any] = self._cluster.client.get(self._path).get("status", {})
        return found


def soon(true: Callable[[], bool], what: str) -> None:
    """Wait until it is true, as long as a change may take."""
    began = time.monotonic()
    eventually(true, what, EFFECTIVE_SECONDS)
    print(f"{what}: after {time.monotonic() - began:.2f} s")


@pytest.mark.usefixtures("registered")
def test_the_off_switch_works_within_five_seconds(cluster: Cluster, namespace: str) -> None:
    """A new profile, its suspension and its return, without a restart of the webhook."""
    live = Live(cluster, "live")
    live.create()
    soon(lambda: live.marker(namespace).get("outcome") == "injected", "a new one")
    live.change(mode="Suspended")
    soon(lambda: live.marker(namespace).get("reason") == "Suspended", "suspended")
    live.change(mode="Enforce")
    soon(lambda: live.marker(namespace).get("generation") == 3, "enforced")


@pytest.mark.usefixtures("registered")
def test_a_custom_resource_comes_before_a_shipped_one(cluster: Cluster, namespace: str) -> None:
    """Deleted, it makes room for the shipped one again."""
    live = Live(cluster, "tcp")
    live.create(mode="Suspended")
    soon(lambda: live.marker(namespace).get("reason") == "Suspended", "the custom resource's")
    live.delete()
    soon(lambda: live.marker(namespace).get("outcome") == "injected", "the shipped one's")


def problems(installed: Installed, address: str) -> float:
    """The webhook's gauge of what is wrong with profiles."""
    context = ssl.create_default_context(cafile=str(installed.certificates / "ca.crt"))
    url = f"https://{address}/metrics"
    with urllib.request.urlopen(url, timeout=5, context=context) as answer:
        text = answer.read().decode()
    (found,) = re.findall(r"^podrail_profiles_problems (\S+)$", text, re.MULTILINE)
    return float(found)


def test_a_broken_profile_never_replaces_a_good_one(
    cluster: Cluster, installed: Installed, registered: str, namespace: str
) -> None:
    """What CEL does not know of is told by a metric, and pods get the last good generation."""
    live = Live(cluster, "live")
    live.create()
    soon(lambda: live.marker(namespace).get("generation") == 1, "the good one")
    live.change(settings=[{"name": "NCCL_ALGO", "value": "Ring"}])
    soon(lambda: problems(installed, registered) == 1, "the problem is counted")
    assert ("injected", 1) == (
        live.marker(namespace)["outcome"],
        live.marker(namespace)["generation"],
    )
    live.change(settings=[])
    soon(lambda: live.marker(namespace).get("generation") == 3, "the next good one")
    assert 0 == problems(installed, registered)


@pytest.fixture
def controller(installed: Installed) -> Iterator[Child]:
    """The controller's process."""
    running = installed.controller()
    yield running
    running.stop()


def conditions(live: Live) -> dict[str, tuple[str, str]]:
    """The conditions' status and reason by type."""
    found = live.status().get("conditions", ())
    return {one["type"]: (one["status"], one["reason"]) for one in found}


@pytest.mark.usefixtures("controller")
def test_the_controller_tells_whether_a_profile_can_work(cluster: Cluster) -> None:
    """A profile without networks is ready; broken, it is not, and the message has the paths."""
    live = Live(cluster, "watched")
    live.create()
    eventually(lambda: conditions(live).get("Ready") == ("True", "Sound"), "ready")
    assert {"Ready", "NetworksResolved", "ResourcesAdvertised"} == set(conditions(live))
    live.change(settings=[{"name": "NCCL_ALGO", "value": "Ring"}], patienceSeconds=1)
    eventually(lambda: conditions(live)["Ready"] == ("False", "Malformed"), "malformed")
    status = live.status()
    assert 2 == status["observedGeneration"]
    assert "spec.settings[0]: NCCL_ALGO must never be set" in status["conditions"][0]["message"]


@pytest.mark.usefixtures("controller")
def test_a_network_that_comes_later_is_seen(cluster: Cluster) -> None:
    """NetworksResolved follows the definitions, and its time only its changes."""
    live = Live(cluster, "late")
    live.create(**network(name="default/late"))
    eventually(
        lambda: conditions(live).get("NetworksResolved") == ("False", "NadMissing"), "missing"
    )
    nad = {
        "apiVersion": "k8s.cni.cncf.io/v1",
        "kind": "NetworkAttachmentDefinition",
        "metadata": {"name": "late"},
        "spec": {"config": '{"cniVersion":"0.4.0","name":"late","type":"macvlan"}'},
    }
    cluster.client.create(nad)
    eventually(lambda: conditions(live)["NetworksResolved"][1] != "NadMissing", "found")
    version = cluster.client.get(f"{profiles.RESOURCES}/late")["metadata"]["resourceVersion"]
    time.sleep(3)
    assert (
        version == (cluster.client.get(f"{profiles.RESOURCES}/late")["metadata"]["resourceVersion"])
    )


def test_one_controller_is_active_and_the_next_takes_over_at_once(
    cluster: Cluster, installed: Installed
) -> None:
    """SIGTERM gives the lease back; the second writes the statuses then."""
    first, second = installed.controller(), installed.controller()
    lease = "/apis/coordination.k8s.io/v1/namespaces/podrail-system/leases/podrail-controller"

    def holder() -> str:
        return str(cluster.client.get(lease)["spec"]["holderIdentity"])

    eventually(lambda: cluster.client.call("GET", lease).status == 200 and bool(holder()), "taken")
    before = holder()
    active = first if '"held": true' in first.log.read_text() else second
    active.stop()
    eventually(lambda: holder() not in {"", before}, "taken over", 10)
    live = Live(cluster, "after")
    live.create()
    eventually(lambda: "Ready" in conditions(live), "written by the second")
    (second if active is first else first).stop()

"""Who is sent to the webhook, how often, and what becomes of pods that are special."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import admitted
import builders
import pytest
import reviews
from controlplane.installed import Installed, eventually
from controlplane.plane import AUDITED, Cluster
from controlplane.processes import Child

from podrail import names

pytestmark = pytest.mark.cluster

POD, NAMESPACE = "pod.podrail.dev", "namespace.podrail.dev"
DAEMON = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "u"}
BINDINGS = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
TIMEOUT_SECONDS = 3
"""deploy/'s timeoutSeconds."""
VALIDATION = "validation.policy.admission.k8s.io/validation_failure"


def _there(cluster: Cluster, path: str) -> bool:
    """Whether an object is there."""
    return cluster.client.call("GET", path).status == 200


@pytest.fixture(scope="module")
def spaces(cluster: Cluster, installed: Installed, address: str) -> Iterator[dict[str, str]]:
    """Namespaces by what their label says, with the webhook registered."""
    made = {"no label": "space-plain", "tcp": "space-tcp", "none": "space-none"}
    installed.register(address)
    for label, name in made.items():
        labels = {} if label == "no label" else {names.FABRIC: label}
        metadata = {"name": name, "labels": labels}
        cluster.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
    for space in (*made.values(), "kube-system", "podrail-system"):
        path = f"/api/v1/namespaces/{space}/serviceaccounts/default"
        eventually(partial(_there, cluster, path), f"{space} has an account")
    probe = builders.document(fabric=None)
    eventually(
        lambda: names.INJECTED in admitted.said(cluster.client.create(probe, "space-tcp", dryRun="All")),
        "the namespace's label is known",
    )  # fmt: skip
    yield made
    installed.unregister()


def calls(cluster: Cluster) -> tuple[int, int]:
    """How often the pod's and the namespace's entry were called so far."""
    return reviews.called(cluster, POD), reviews.called(cluster, NAMESPACE)


def sent(cluster: Cluster, pod: dict[str, Any], namespace: str) -> tuple[int, int]:
    """How often the creation of a pod calls each entry."""
    before = calls(cluster)
    cluster.client.try_create(pod, namespace, dryRun="All")
    after = calls(cluster)
    return after[0] - before[0], after[1] - before[1]


@pytest.mark.parametrize(
    ("pod", "space", "wanted"),
    [
        pytest.param("tcp", "no label", (1, 0), id="by its own label"),
        pytest.param(None, "tcp", (0, 1), id="by its namespace's"),
        pytest.param("sriov-rails", "tcp", (1, 0), id="by both"),
        pytest.param("tcp", "none", (1, 0), id="against its namespace's"),
        pytest.param("none", "no label", (0, 0), id="opted out"),
        pytest.param("none", "tcp", (0, 0), id="opted out of its namespace's"),
        pytest.param(None, "none", (0, 0), id="in a namespace that opted out"),
        pytest.param(None, "no label", (0, 0), id="nobody's"),
    ],
)
def test_a_pod_is_sent_through_one_entry_once_or_not_at_all(
    cluster: Cluster, spaces: dict[str, str], pod: str | None, space: str, wanted: tuple[int, int]
) -> None:
    """As the API server counts its calls."""
    assert wanted == sent(cluster, builders.document(fabric=pod), spaces[space])


@pytest.mark.usefixtures("spaces")
@pytest.mark.parametrize("space", ["kube-system", "podrail-system"])
def test_a_system_namespaces_pods_are_never_sent(cluster: Cluster, space: str) -> None:
    """Whatever their label says, and with the webhook up; they are created as they are."""
    pod = builders.document(fabric="tcp")
    assert (0, 0) == sent(cluster, pod, space)
    assert {} == admitted.said(cluster.client.create(pod, space, dryRun="All"))


@pytest.mark.usefixtures("spaces")
def test_an_update_and_a_binding_are_not_sent(cluster: Cluster, namespace: str) -> None:
    """Only creations are: the scheduler and the kubelet never wait for podrail."""
    cluster.client.create(builders.document(schedulerName="nobody"), namespace)
    path = f"/api/v1/namespaces/{namespace}/pods/worker-0"
    before = calls(cluster)
    changed = cluster.client.patch(path, {"metadata": {"annotations": {"mine": "1"}}})
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "worker-0"},
        "target": {"kind": "Node", "name": "aligned-0"},
    }
    bound = cluster.client.call("POST", f"{path}/binding", binding)
    status = cluster.client.patch(f"{path}/status", {"status": {"message": "x"}})
    assert [200, 201, 200] == [changed.status, bound.status, status.status]
    assert before == calls(cluster)


@pytest.mark.usefixtures("spaces")
def test_a_generated_name_is_not_known_yet(cluster: Cluster, namespace: str) -> None:
    """Pods of controllers come with generateName and without a name, and are injected all the same."""
    pod = builders.document()
    del pod["metadata"]["name"]
    made = cluster.client.create({**pod, "metadata": {**pod["metadata"], "generateName": "w-"}}, namespace)  # fmt: skip
    assert made["metadata"]["name"].startswith("w-")
    assert "injected" == outcome(made)["outcome"]


def outcome(pod: dict[str, Any]) -> dict[str, Any]:
    """The marker of a pod."""
    found: dict[str, Any] = json.loads(admitted.said(pod)[names.INJECTED])
    return found


@pytest.mark.usefixtures("spaces")
def test_a_dry_run_is_the_same_and_leaves_nothing(cluster: Cluster, namespace: str) -> None:
    """The webhook has no side effects, so kubectl --dry-run=server shows what would be created."""
    path = f"/api/v1/namespaces/{namespace}/pods"
    dry = cluster.client.create(builders.document(), namespace, dryRun="All")
    assert [] == cluster.client.items(path)
    made = cluster.client.create(builders.document(), namespace)
    assert admitted.said(made) == admitted.said(dry)
    assert limits(made) == limits(dry)


def limits(pod: dict[str, Any]) -> Any:
    """The limits of the first container."""
    return pod["spec"]["containers"][0]["resources"]["limits"]


@pytest.mark.usefixtures("spaces")
def test_a_mirror_pod_keeps_all_but_the_marker(cluster: Cluster, namespace: str) -> None:
    """The kubelet's copy of a static pod runs already: nothing in its spec may change."""
    given = builders.document(
        annotations={names.MIRROR: "x"}, automountServiceAccountToken=False, nodeName="aligned-7"
    )
    made = cluster.client.create(given, namespace, dryRun="All")
    assert ("skipped", "MirrorPod") == (outcome(made)["outcome"], outcome(made)["reason"])
    assert {names.MIRROR, names.INJECTED} == set(admitted.said(made))
    assert {"nvidia.com/gpu": "8"} == limits(made)


@pytest.mark.usefixtures("spaces")
def test_a_daemonsets_pod_that_opted_in_is_injected(cluster: Cluster, namespace: str) -> None:
    """The policy lets it pass without the marker; the webhook treats it as any other pod."""
    given = builders.document()
    given["metadata"]["ownerReferences"] = [DAEMON]
    made = cluster.client.create(given, namespace, dryRun="All")
    assert "injected" == outcome(made)["outcome"]


@pytest.fixture(scope="module")
def audited(cluster: Cluster) -> str:
    """The namespace whose creations are audited."""
    metadata = {"name": AUDITED}
    cluster.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
    path = f"/api/v1/namespaces/{AUDITED}/serviceaccounts/default"
    eventually(partial(_there, cluster, path), "it has an account")
    return AUDITED


def audit(cluster: Cluster, pod: dict[str, Any]) -> dict[str, str]:
    """The audit annotations of the creation of a pod."""
    before = len(cluster.audit())
    assert 201 == cluster.client.try_create(pod, AUDITED, dryRun="All").status
    (event,) = cluster.audit()[before:]
    found: dict[str, str] = event["annotations"]
    return found


@pytest.mark.usefixtures("spaces", "audited")
def test_the_audit_log_shows_one_mutation(cluster: Cluster) -> None:
    """By our entry in the first round; with nobody else there is no second one."""
    found = audit(cluster, builders.document())
    prefix = "mutation.webhook.admission.k8s.io/"
    rounds = {key: json.loads(text) for key, text in found.items() if key.startswith(prefix)}
    assert [True] == [one["mutated"] for one in rounds.values() if one["webhook"] == POD]
    assert all("/round_0_" in key for key in rounds)


@pytest.mark.usefixtures("spaces", "audited")
def test_a_pod_from_the_injected_one_is_not_changed_again(cluster: Cluster) -> None:
    """The API server's own account of it: called, and not mutated."""
    first = cluster.client.create(builders.document(), AUDITED, dryRun="All")
    again = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "again",
            "labels": first["metadata"]["labels"],
            "annotations": first["metadata"]["annotations"],
        },
        "spec": first["spec"],
    }
    found = audit(cluster, again)
    text = next(text for key, text in found.items() if POD in text and "mutation." in key)
    assert not json.loads(text)["mutated"]


@pytest.fixture
def auditing(cluster: Cluster, installed: Installed, address: str, audited: str) -> Iterator[str]:
    """The policy audits, and nobody injects."""
    installed.unregister()
    path = f"{BINDINGS}/podrail-injected-pod"
    assert 200 == cluster.client.patch(path, {"spec": {"validationActions": ["Audit"]}}).status
    yield audited
    assert 200 == cluster.client.patch(path, {"spec": {"validationActions": ["Deny"]}}).status
    installed.register(address)


@pytest.mark.usefixtures("auditing")
def test_with_audit_the_pod_passes_and_the_log_has_the_policys_words(cluster: Cluster) -> None:
    """Neither refused nor warned: the audit log alone tells that the webhook has not seen it."""
    pod = builders.document()

    def passes() -> bool:
        answer = cluster.client.try_create(pod, AUDITED, dryRun="All")
        return (answer.status, answer.warnings) == (201, ())

    eventually(passes, "the policy audits")
    (failure,) = json.loads(audit(cluster, pod)[VALIDATION])
    assert "has not seen it" in " ".join(failure["message"].split())
    assert ("podrail-injected", ["Audit"]) == (failure["policy"], failure["validationActions"])


@pytest.fixture(scope="module")
def strangers_scheduler(cluster: Cluster) -> None:
    """A second kube-scheduler, of a name that is not podrail's."""
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": "stranger"}],
    }
    cluster.scheduler("stranger", config)


@pytest.mark.usefixtures("registered", "extender", "strangers_scheduler")
@pytest.mark.parametrize(
    ("asked", "scheduler"),
    [
        pytest.param(None, "podrail", id="none named"),
        pytest.param("default-scheduler", "podrail", id="the default one"),
        pytest.param("stranger", "stranger", id="another"),
    ],
)
def test_a_scheduler_of_the_pods_own_choice_binds_it(
    cluster: Cluster, namespace: str, asked: str | None, scheduler: str
) -> None:
    """Ours is written over the default one's name only; who bound the pod says its event."""
    made = cluster.client.create(builders.document(schedulerName=asked), namespace)
    codes = [one["code"] for one in outcome(made)["reasons"]]
    assert scheduler == made["spec"]["schedulerName"]
    assert (scheduler != "podrail") == ("OtherScheduler" in codes)
    path = f"/apis/events.k8s.io/v1/namespaces/{namespace}/events"

    def scheduled() -> list[str]:
        events = cluster.client.items(path)
        return [one["reportingController"] for one in events if one["reason"] == "Scheduled"]

    eventually(lambda: bool(scheduled()), "the pod is bound")
    assert [scheduler] == scheduled()


@pytest.fixture
def dead(installed: Installed) -> Iterator[None]:
    """A webhook that is registered and then dies, as when all its replicas are gone."""
    running: Child = installed.webhook()
    installed.register(running.address())
    running.kill()
    yield
    installed.unregister()


@pytest.mark.usefixtures("dead")
def test_with_all_replicas_down_nobody_else_waits(cluster: Cluster, namespace: str) -> None:
    """Opted-out pods in less than a second, opted-in ones refused by the policy within the timeout."""
    for space, pod in (
        (namespace, builders.document(fabric=None)),
        (namespace, builders.document(fabric="none")),
        ("kube-system", builders.document(fabric="tcp")),
    ):
        began = time.monotonic()
        cluster.client.create(pod, space, dryRun="All")
        assert time.monotonic() - began < 1
    failed_open = reviews.counted(cluster, "webhook_fail_open_count", POD)
    began = time.monotonic()
    answer = cluster.client.try_create(builders.document(), namespace, dryRun="All")
    assert (422, True) == (answer.status, time.monotonic() - began < TIMEOUT_SECONDS)
    assert failed_open + 1 == reviews.counted(cluster, "webhook_fail_open_count", POD)

"""The chart at a real API server: installed by the real helm, re-applied, upgraded, taken away.

No pod of it runs, as there is no kubelet; what its pods would run is started as processes here, with
the rights that the chart gives them. tests/node is about pods.
"""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import builders
import checkout
import helm
import pytest
import yaml
from controlplane import own
from controlplane.client import collection
from controlplane.installed import Installed, eventually
from controlplane.plane import Cluster
from controlplane.processes import free_port

pytestmark = pytest.mark.cluster
VALUES: Final = sorted((checkout.ROOT / "tests/deploy/values").glob("*.yaml"))
FOREIGN: Final = ("cert-manager.io/", "monitoring.coreos.com/")
"""Kinds of others, whose schemas are not here."""
REGISTRATION: Final = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/podrail"
LEASES: Final = f"/apis/coordination.k8s.io/v1/namespaces/{helm.NAMESPACE}/leases"
HOST: Final = ("DaemonSet/podrail-nodeagent", "DaemonSet/podrail-extender")
"""The pods that need the host: its devices, and the loopback of its kube-scheduler."""


@pytest.fixture(scope="module")
def plane(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """A control plane of its own: Helm takes over nothing that somebody else made."""
    with own.plane(request.session) as running:
        for name in (helm.NAMESPACE, "restricted"):
            label = {"pod-security.kubernetes.io/enforce": name} if name == "restricted" else {}
            metadata = {"name": name, "labels": label}
            running.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
        yield running


def command(plane: Cluster, *words: str, values: dict[str, Any] | None = None) -> str:
    """Run helm against the control plane."""
    where = ("--kubeconfig", str(plane.kubeconfig), "--namespace", helm.NAMESPACE)
    return helm.run(*words, *where, values=values)


@pytest.fixture(scope="module")
def chart(plane: Cluster) -> Cluster:
    """The control plane with the chart installed; what upgrades it puts it back."""
    command(plane, "install", helm.RELEASE, str(helm.CHART), values={})
    return plane


def kept(plane: Cluster, documents: list[helm.Document]) -> dict[str, helm.Document]:
    """The objects as the API server has them, but for what controllers write: statuses."""
    found = {}
    for one in documents:
        path = f"{collection(one, helm.NAMESPACE)}/{one['metadata']['name']}"
        found[path] = plane.client.get(path)
        found[path].pop("status", None)
        # A policy with a status is written anew by every server-side apply (Kubernetes 1.36), with
        # another time in managedFields and nothing else.
        for name in ("resourceVersion", "managedFields"):
            del found[path]["metadata"][name]
    return found


@pytest.mark.parametrize("path", VALUES, ids=lambda path: path.stem)
def test_every_object_is_accepted_to_the_last_field(plane: Cluster, path: Path) -> None:
    """Strictly, and without a warning, whatever the values."""
    for one in helm.rendered(yaml.safe_load(path.read_text())):
        if one["apiVersion"].startswith(FOREIGN):
            continue
        one["metadata"]["name"] = f"tried-{one['metadata']['name']}"
        if one["kind"] == "CustomResourceDefinition":
            # Its name is its kind's, and nothing else.
            one["metadata"]["name"] = one["metadata"]["name"].removeprefix("tried-")
        if one["kind"] == "Pod":
            one["spec"]["serviceAccountName"] = "default"
        answer = plane.client.try_create(one, dryRun="All", fieldValidation="Strict")
        taken = answer.status == 409 and "already exists" in answer.message
        assert (201, ()) == (answer.status, answer.warnings) or taken, f"{one}: {answer.message}"


@pytest.mark.parametrize("path", VALUES, ids=lambda path: path.stem)
def test_all_pods_but_those_of_the_host_are_restricted(plane: Cluster, path: Path) -> None:
    """Pod security admission of the real API server says so."""
    values = yaml.safe_load(path.read_text())
    refused = set()
    for name, pod in helm.pods(helm.rendered(values)).items():
        pod["metadata"] = {"name": "tried", "namespace": "restricted"}
        pod["spec"]["serviceAccountName"] = "default"
        # A quota would have to be in this namespace, too.
        pod["spec"].pop("priorityClassName", None)
        answer = plane.client.try_create(pod, dryRun="All", fieldValidation="Strict")
        if answer.status != 201:
            assert 'violates PodSecurity "restricted' in answer.message
            refused.add(name)
    on_host = (
        {"Deployment/podrail-webhook"} if values.get("webhook", {}).get("hostNetwork") else set()
    )
    assert refused <= {*HOST, *on_host}


def test_the_same_again_changes_nothing(chart: Cluster) -> None:
    """No field of any object, generations included: whoever applies every few minutes is silent."""
    documents = [one for one in helm.rendered() if not helm.hook(one)]
    before = kept(chart, documents)
    command(chart, "upgrade", helm.RELEASE, str(helm.CHART), values={})
    assert before == kept(chart, documents)


def bundles(plane: Cluster) -> list[str]:
    found = plane.client.get(REGISTRATION)["webhooks"]
    return [one["clientConfig"].get("caBundle", "") for one in found]


def trust(plane: Cluster, **config: str) -> None:
    """Write to the entries as podrail-certs does, with a field manager of its own."""
    webhooks = [
        {"name": one["name"], "clientConfig": config}
        for one in plane.client.get(REGISTRATION)["webhooks"]
    ]
    answer = plane.client.patch(
        REGISTRATION,
        {"webhooks": webhooks},
        "application/strategic-merge-patch+json",
    )
    assert 200 == answer.status, answer.message


def test_an_upgrade_changes_what_it_says_and_keeps_who_is_trusted(chart: Cluster) -> None:
    """The caBundle is podrail-certs's: no upgrade takes it away."""
    bundle = base64.b64encode(b"-----BEGIN CERTIFICATE-----\n").decode()
    trust(chart, caBundle=bundle)
    values = {"webhook": {"replicas": 3, "timeoutSeconds": 2, "policy": {"action": "Warn"}}}
    command(chart, "upgrade", helm.RELEASE, str(helm.CHART), values=values)
    path = f"/apis/apps/v1/namespaces/{helm.NAMESPACE}/deployments/podrail-webhook"
    binding = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
    seen = chart.client.get(f"{binding}/podrail-injected-pod")["spec"]["validationActions"]
    assert (3, ["Warn"]) == (chart.client.get(path)["spec"]["replicas"], seen)
    assert [bundle, bundle] == bundles(chart)
    command(chart, "rollback", helm.RELEASE, "1")
    assert 2 == chart.client.get(path)["spec"]["replicas"]
    assert [bundle, bundle] == bundles(chart)


def account(plane: Cluster, name: str) -> Path:
    """A kubeconfig of one of the chart's accounts."""
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    path = f"/api/v1/namespaces/{helm.NAMESPACE}/serviceaccounts/{name}/token"
    token = plane.client.call("POST", path, asked).body["status"]["token"]
    return plane.kubeconfig_of(f"chart-{name}", token)


def test_kube_scheduler_runs_with_the_charts_file_and_rights(chart: Cluster) -> None:
    """It takes the file, gets the lease that the chart names, and is refused nothing."""
    kubeconfig = str(account(chart, "podrail-extender"))
    data = helm.named(helm.rendered(), "ConfigMap", "podrail-scheduler")["data"]
    config = yaml.safe_load(data["config.yaml"])
    config["clientConnection"] = {"kubeconfig": kubeconfig}
    file = chart.folder / "of-the-chart.yaml"
    file.write_text(yaml.safe_dump(config))
    scheduler = chart.run(
        "chart-scheduler",
        [
            chart.scheduler_program, "--config", file, "--v", "2",
            "--authentication-kubeconfig", kubeconfig, "--authorization-kubeconfig", kubeconfig,
            "--secure-port", str(free_port()), "--cert-dir", chart.folder / "chart-certs",
        ],
    )  # fmt: skip
    path = f"{LEASES}/podrail-scheduler"

    def held() -> bool:
        answer = chart.client.call("GET", path)
        return answer.status == 200 and bool(answer.body["spec"].get("holderIdentity"))

    try:
        eventually(held, "the lease is held", 40)
    finally:
        scheduler.stop()
    assert "forbidden" not in scheduler.log.read_text()


@pytest.fixture(scope="module")
def tested(chart: Cluster) -> Path:
    """A kubeconfig of the account of `helm test`, whose objects are there during the test only."""
    for one in helm.rendered():
        if helm.hook(one) and one["kind"] != "Pod":
            chart.client.create(one)
    return account(chart, "podrail-test")


def helm_test(kubeconfig: Path) -> tuple[int, str]:
    """What the pod of `helm test` does."""
    (container,) = helm.named(helm.rendered(), "Pod", "podrail-test")["spec"]["containers"]
    _, *words = container["command"]
    ran = subprocess.run(
        [sys.executable, *words, kubeconfig], capture_output=True, text=True, check=False
    )
    return ran.returncode, ran.stdout + ran.stderr


def test_helm_test_says_that_nobody_answers(chart: Cluster, tested: Path) -> None:
    """And the API server counts it, under the name that the alert asks for."""
    trust(chart, url=f"https://127.0.0.1:{free_port()}/mutate", service=None)  # type: ignore[arg-type]  # null takes a field away
    status, said = helm_test(tested)
    assert (1, True) == (status, "has not seen it" in said), said
    counted = 'apiserver_admission_webhook_fail_open_count{name="pod.podrail.dev"'
    assert counted in chart.client.text("/metrics")


def test_helm_test_passes_with_the_webhook(chart: Cluster, tested: Path) -> None:
    """The real one, trusted as podrail-certs has it."""
    webhook = Installed(chart).webhook()
    authority = (chart.folder / "tls" / "ca.crt").read_bytes()
    trust(
        chart,
        url=f"https://{webhook.address()}/mutate",
        caBundle=base64.b64encode(authority).decode(),
    )
    # The API server learns of it by a watch of its own.
    eventually(lambda: helm_test(tested)[0] == 0, "the pod of helm test ends well", 30)


def test_uninstalling_leaves_nothing_that_blocks(chart: Cluster) -> None:
    """Opted-in pods are created, nobody is asked, and the profiles are still there."""
    command(chart, "uninstall", helm.RELEASE)
    admission = "/apis/admissionregistration.k8s.io/v1"
    for kind in ("mutatingwebhookconfigurations", "validatingadmissionpolicybindings"):
        left = [one["metadata"]["name"] for one in chart.client.items(f"{admission}/{kind}")]
        assert [] == [name for name in left if name.startswith("podrail")]

    def free() -> bool:
        return chart.client.try_create(builders.document(), dryRun="All").status == 201

    eventually(free, "an opted-in pod is created")
    kinds = chart.client.items("/apis/apiextensions.k8s.io/v1/customresourcedefinitions")
    assert {"fabricprofiles.podrail.dev", "noderails.podrail.dev"} <= {
        one["metadata"]["name"] for one in kinds
    }
    assert json.loads(command(chart, "list", "--output", "json")) == []


def test_applied_by_others_it_is_the_same_each_time(chart: Cluster) -> None:
    """As Argo CD and Flux do it: by server-side apply, with a field manager of their own.

    After Helm has left, since two managers of one object conflict.
    """
    documents = [one for one in helm.rendered() if not helm.hook(one)]

    def apply() -> None:
        for one in documents:
            path = f"{collection(one, helm.NAMESPACE)}/{one['metadata']['name']}"
            query = "?fieldManager=gitops&force=true&fieldValidation=Strict"
            answer = chart.client.patch(path + query, one, "application/apply-patch+yaml")
            assert answer.status in {200, 201}, answer.message

    apply()
    before = kept(chart, documents)
    apply()
    assert before == kept(chart, documents)

"""The chart as users install it: its images run as pods of a real node, before a real API server."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import helm
import installation
import pytest
from controlplane.binaries import NotRun
from controlplane.client import Answer
from controlplane.installed import eventually
from installation import PROFILE, Site
from realnode import node, seen

from podrail import names

pytestmark = pytest.mark.node
WAIT: Final = ("--wait", "--timeout", "5m")
NEXT: Final = "0.1.1"
"""The version that is upgraded to; the same programs in it."""
PROGRAMS: Final = ["certs", "controller", "extender", "nodeagent", "webhook", "webhook"]
REGISTRATION: Final = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/podrail"
BINDINGS: Final = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
PROFILES: Final = "/apis/podrail.dev/v1alpha1/fabricprofiles"
PAUSE_SECONDS: Final = 0.2
COMPONENT: Final = "app.kubernetes.io/component"


@pytest.fixture(scope="module")
def site(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Site]:
    """A cluster with one real node, and nothing of podrail's but the images."""
    try:
        node.ready()
        running = Site(tmp_path_factory.mktemp("trees"))
    except NotRun as missing:
        pytest.skip(str(missing))
    with running:
        failed = request.session.testsfailed
        yield running
        if request.session.testsfailed > failed:
            running.keep()


@pytest.fixture(scope="module")
def chart(site: Site) -> Site:
    """The chart, installed by Helm, which waited until every pod was ready."""
    values = installation.VALUES
    site.helm("install", helm.RELEASE, helm.CHART, "--create-namespace", *WAIT, values=values)
    return site


@contextlib.contextmanager
def load(site: Site) -> Iterator[list[Answer]]:
    """Opted-in pods are created as dry runs, one after the other; the answers so far."""
    answers: list[Answer] = []
    stop = threading.Event()
    pod = seen.document("tcp", 1, "load")

    def create() -> None:
        while not stop.wait(PAUSE_SECONDS):
            answers.append(site.cluster.client.try_create(pod, dryRun="All"))

    thread = threading.Thread(target=create)
    thread.start()
    try:
        yield answers
    finally:
        stop.set()
        thread.join()


def lost(answers: list[Answer]) -> list[str]:
    """What the API server said of each pod that it did not create, or not with podrail's marker."""
    return [
        one.message or "no marker"
        for one in answers
        if one.status != 201 or names.INJECTED not in one.body["metadata"].get("annotations", {})
    ]


def versions(site: Site) -> set[str]:
    """The tags of podrail's image that its pods run."""
    containers = [
        one
        for pod in site.pods()
        for one in (*pod["spec"]["containers"], *pod["spec"].get("initContainers", ()))
        if "deletionTimestamp" not in pod["metadata"]
    ]
    return {
        one["image"].rpartition(":")[2] for one in containers if one["name"] != "kube-scheduler"
    }


def test_every_program_runs_out_of_the_image(chart: Site) -> None:
    """All pods are ready, and none of their containers had to be started twice."""
    pods = chart.pods()
    assert PROGRAMS == sorted(pod["metadata"]["labels"][COMPONENT] for pod in pods)
    found = [
        (one["name"], one["ready"], one["restartCount"])
        for pod in pods
        for key in ("containerStatuses", "initContainerStatuses")
        for one in pod["status"].get(key, ())
    ]
    assert [(name, True, 0) for name, _, _ in found] == found


def test_an_opted_in_pod_is_injected_placed_and_runs(chart: Site) -> None:
    """Webhook, extender and kube-scheduler do so as pods, with the rights of the chart."""
    chart.cluster.client.create(seen.document(PROFILE, 8, "train"))
    pod = seen.of(chart.node, "default", "train")
    assert (PROFILE, "injected") == (pod.injected["profile"], pod.injected["outcome"])
    assert ("podrail", chart.node.name) == (
        pod.pod["spec"]["schedulerName"],
        pod.placement["node"],
    )
    assert {"eth0", *(f"rail{rail}" for rail in range(8))} <= set(pod.interfaces)


def test_helm_test_passes(chart: Site) -> None:
    """Its pod runs here, too, and asks the API server by the kubernetes Service."""
    assert "Succeeded" in chart.helm("test", helm.RELEASE, "--timeout", "2m")


def test_no_pod_is_refused_or_missed_during_upgrade_and_rollback(
    chart: Site, tmp_path: Path
) -> None:
    """The webhook's pods are replaced one by one while others are being created."""
    chart.tag(NEXT)
    version = ("--version", NEXT, "--app-version", NEXT)
    helm.run("package", helm.CHART, *version, "--destination", tmp_path)
    archive = tmp_path / f"podrail-{NEXT}.tgz"
    before = versions(chart)
    with load(chart) as answers:
        chart.helm("upgrade", helm.RELEASE, archive, *WAIT, values=installation.VALUES)
        upgraded = versions(chart), len(answers)
        chart.helm("rollback", helm.RELEASE, *WAIT)
        eventually(lambda: versions(chart) == before, "the first version is back", 60)
    assert ({NEXT}, True) == (upgraded[0], len(answers) > upgraded[1] > 10)
    assert [] == lost(answers)


def test_uninstalled_it_is_in_nobodys_way(chart: Site) -> None:
    """No webhook, policy or program is left, opted-in pods can be created; profiles are kept."""
    client = chart.cluster.client
    chart.helm("uninstall", helm.RELEASE, *WAIT)
    assert 404 == client.call("GET", REGISTRATION).status
    assert 200 == client.call("GET", PROFILES).status
    pod = seen.document(PROFILE, 8, "after")
    # The API server 1.36 reads its policies anew every second.
    eventually(lambda: client.try_create(pod).status == 201, "opted-in pods can be created", 5)
    made = client.get("/api/v1/namespaces/default/pods/after")
    assert names.INJECTED not in made["metadata"].get("annotations", {})
    for path in (BINDINGS, "/apis/apps/v1/deployments", "/apis/apps/v1/daemonsets"):
        assert [] == client.items(path)

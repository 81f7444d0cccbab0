"""podrail in kind: deploy/kind/up with stand-ins for kind, helm, kubectl and a container engine.

None of them can run here: there is no container engine. What they are told, and in which order, can.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any, Final

import checkout
import helm
import pytest
import snippets
import yaml

from podrail import names

HERE: Final = checkout.ROOT / "deploy" / "kind"
TOOLS: Final = ("bash", "dirname", "sed", "grep", "cat")
STAND_IN: Final = '#!/bin/sh\necho "${0##*/} $*" >> "$CALLS"\n'
CALLED: Final = """\
docker info
kind get clusters
kind create cluster --config {here}/files/cluster.yaml --wait 3m
kind load image-archive {archive} --name podrail
kubectl --context kind-podrail patch node podrail-worker --subresource status --type merge --patch-file {here}/files/devices.yaml
kubectl --context kind-podrail patch node podrail-worker2 --subresource status --type merge --patch-file {here}/files/devices.yaml
helm upgrade podrail {chart} --kube-context kind-podrail --namespace podrail-system --install --create-namespace --values {here}/files/values.yaml --wait --timeout 5m
helm test podrail --kube-context kind-podrail --namespace podrail-system --timeout 2m
"""


def stand_in(folder: Path, name: str, more: str = "") -> None:
    """A program that notes how it was called."""
    (folder / name).write_text(STAND_IN + more)
    (folder / name).chmod(0o755)


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder that is the whole PATH: what the script uses, and the stand-ins."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in TOOLS:
        found = shutil.which(name)
        assert found
        (folder / name).symlink_to(found)
    for name in ("docker", "kind", "kubectl", "helm"):
        stand_in(folder, name)
    (tmp_path / "image.tar").touch()
    return folder


def up(programs: Path) -> tuple[int, str, list[str]]:
    """The script's exit status, what it printed, and the calls that it made."""
    folder = programs.parent
    environ = {
        "PATH": str(programs),
        "CALLS": str(folder / "calls"),
        "ARCHIVE": str(folder / "image.tar"),
    }
    command = [programs / "bash", HERE / "up"]
    ran = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    calls = folder / "calls"
    made = calls.read_text().splitlines() if calls.exists() else []
    return ran.returncode, ran.stdout + ran.stderr, made


def test_everything_is_done_in_order(programs: Path) -> None:
    """Cluster, image, devices, chart, test; then it says what to try."""
    status, said, calls = up(programs)
    archive = programs.parent / "image.tar"
    expected = CALLED.format(here=HERE, archive=archive, chart=helm.CHART)
    assert (0, expected.splitlines()) == (status, calls), said
    assert "apply -f deploy/kind/files/pod.yaml" in said
    assert "kind delete cluster --name podrail" in said


def test_a_cluster_that_is_there_is_used(programs: Path) -> None:
    """The image and the chart are brought up to date in it."""
    stand_in(programs, "kind", '[ "$1" = get ] && echo podrail || true\n')
    status, said, calls = up(programs)
    assert (0, []) == (status, [one for one in calls if "create cluster" in one]), said
    assert any(one.startswith("helm upgrade") for one in calls)


@pytest.mark.parametrize("failing", ["kind create", "kind load", "kubectl", "helm upgrade"])
def test_nothing_follows_a_step_that_failed(programs: Path, failing: str) -> None:
    """And nobody is told that podrail runs."""
    name, _, word = failing.partition(" ")
    stand_in(programs, name, f'case "$*" in *"{word}"*) exit 7 ;; esac\n')
    status, said, calls = up(programs)
    assert (7, failing) == (status, calls[-1][: len(failing)])
    assert "podrail runs" not in said


@pytest.mark.parametrize(
    ("missing", "said"),
    [
        pytest.param("docker", "install docker, podman or nerdctl", id="engine"),
        pytest.param("kind", "kind is not on the PATH", id="kind"),
        pytest.param("kubectl", "kubectl is not on the PATH", id="kubectl"),
        pytest.param("helm", "helm is not on the PATH", id="helm"),
        pytest.param("../image.tar", "run 'make image'", id="image"),
    ],
)
def test_what_is_missing_is_said_before_anything_is_made(
    programs: Path, missing: str, said: str
) -> None:
    """With what to do about it."""
    (programs / missing).unlink()
    status, told, calls = up(programs)
    assert (1, True) == (status, said in told), told
    assert [] == [one for one in calls if one != "docker info"]


def test_an_engine_that_is_not_started_is_none(programs: Path) -> None:
    """Another that answers is taken."""
    stand_in(programs, "docker", "exit 1\n")
    assert 1 == up(programs)[0]
    stand_in(programs, "podman")
    assert 0 == up(programs)[0]


def document(name: str) -> dict[str, Any]:
    """A file of deploy/kind."""
    return dict(yaml.safe_load((HERE / "files" / name).read_text()))


def test_the_image_is_the_one_that_is_loaded() -> None:
    """Chart, pod and archive speak of one version, and nobody looks for it in a registry."""
    chart = yaml.safe_load((helm.CHART / "Chart.yaml").read_text())
    image = f"localhost/podrail:{chart['appVersion']}"
    (container,) = document("pod.yaml")["spec"]["containers"]
    assert (image, "Never") == (container["image"], container["imagePullPolicy"])
    assert {"registry": "localhost", "pullPolicy": "Never"} == document("values.yaml")["image"]
    assert "IMAGE:-localhost/podrail" in (checkout.ROOT / "deploy/images/build").read_text()


@pytest.mark.go
def test_kind_knows_every_field_of_the_cluster() -> None:
    """Its own types take the file strictly, and would not take a field that they do not know."""
    cluster = document("cluster.yaml")
    assert "" == snippets.unknown(cluster)
    assert 'unknown field "taints"' in snippets.unknown({**cluster, "nodes": [{"taints": []}]})
    roles = [one["role"] for one in cluster["nodes"]]
    assert (["control-plane", "worker", "worker"], "podrail") == (roles, cluster["name"])


@pytest.mark.go
def test_the_chart_takes_the_values() -> None:
    """Every pod runs the image that was loaded, or the kube-scheduler of the node image."""
    pods = helm.pods(helm.rendered(document("values.yaml")))
    images = {one["image"] for pod in pods.values() for one in pod["spec"]["containers"]}
    own = document("pod.yaml")["spec"]["containers"][0]["image"]
    assert {own, f"registry.k8s.io/kube-scheduler:v{helm.KUBERNETES}"} == images
    assert not any(name.startswith("DaemonSet") for name in pods)


def test_the_pod_asks_for_what_the_workers_claim() -> None:
    """The devices of its container and of its profile."""
    pod, claimed = document("pod.yaml"), document("devices.yaml")["status"]["capacity"]
    path = f"podrail/data/profiles/{pod['metadata']['labels'][names.FABRIC]}.yaml"
    profile = yaml.safe_load((checkout.ROOT / path).read_text())
    asked = {one["name"] for one in profile["spec"]["resources"]}
    assert set(claimed) == asked | set(pod["spec"]["containers"][0]["resources"]["limits"])

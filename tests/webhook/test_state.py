"""What admission looks up, and why a worker is not ready."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import builders
import kinds_api
import pytest
import served
import yaml
from kinds_api import KindsApi

from podrail import profiles
from podrail_io import tls
from podrail_io.files import FileError
from podrail_io.kube import KubeError
from podrail_io.tls import Certificates
from webhook.settings import Settings
from webhook.state import WAIT_SECONDS, State

NAMESPACES = "/api/v1/namespaces"
SHIPPED = set(builders.shipped())


def state(certificates: Certificates | None = None, **variables: str | Path) -> State:
    """The state under these settings."""
    given = {f"PODRAIL_{name}": str(value) for name, value in variables.items()}
    return State(Settings.from_environ(given), certificates)


@contextmanager
def watching(server: KindsApi) -> Iterator[State]:
    """A started state on a server's namespaces and profiles."""
    found = state(SERVER=server.url)
    found.start()
    try:
        yield found
    finally:
        found.stop()


@pytest.fixture
def server() -> Iterator[KindsApi]:
    with kinds_api.serving() as running:
        yield running


def eventually(holds: Callable[[], bool]) -> bool:
    """Whether it holds within five seconds."""
    end = time.monotonic() + 5
    while not holds() and time.monotonic() < end:
        time.sleep(0.01)
    return holds()


def write(folder: Path, name: str, **spec: object) -> None:
    """Put a profile into a folder."""
    document = builders.profile_document(name, **spec)
    (folder / f"{name}.yaml").write_text(yaml.safe_dump(document))


def test_without_an_api_server_there_are_the_shipped_profiles() -> None:
    """No namespace has labels, and nothing keeps the worker from being ready."""
    found = state()
    found.start()
    directory = found.directory()
    assert set(directory.profiles) == SHIPPED
    assert {} == directory.namespace_labels("team")
    assert [] == list(found.problems())


def test_a_folders_profiles_stand_beside_the_shipped_ones(tmp_path: Path) -> None:
    """One of the same name takes a shipped one's place; a wrong one is told and left out."""
    write(tmp_path, "mine", attachment="HostNetwork")
    write(tmp_path, "tcp", attachment="None", description="ours")
    write(tmp_path, "wrong", attachment="Carrier pigeon")
    found = state(PROFILES=tmp_path)
    assert SHIPPED | {"mine"} == set(found.directory().profiles)
    assert "ours" == found.directory().profiles["tcp"].description
    assert ["wrong.yaml: spec.attachment"] == [
        one.path.removeprefix(f"{tmp_path}/") for one in found.profiles.value.problems
    ]


def test_profiles_follow_their_files(tmp_path: Path) -> None:
    """A new one is looked up without a restart; one that goes wrong stays as it was."""
    write(tmp_path, "mine", attachment="None", description="good")
    found = state(PROFILES=tmp_path)
    found.start()
    write(tmp_path, "mine", attachment="Carrier pigeon")
    write(tmp_path, "other", attachment="None")
    assert eventually(lambda: "other" in found.directory().profiles)
    assert "good" == found.directory().profiles["mine"].description
    assert 1 == len(found.profiles.value.problems)


def test_a_folder_that_is_not_yaml_ends_the_start(tmp_path: Path) -> None:
    """The message names the file."""
    (tmp_path / "a.yaml").write_text("a: [")
    with pytest.raises(FileError, match=r"a\.yaml"):
        state(PROFILES=tmp_path)


def test_a_kubeconfig_that_cannot_be_used_ends_the_start(tmp_path: Path) -> None:
    """Better than a worker that is never ready."""
    (tmp_path / "config").write_text("{}")
    with pytest.raises(KubeError):
        state(KUBECONFIG=tmp_path / "config")


def test_the_cluster_is_watched_before_the_worker_is_ready(server: KindsApi) -> None:
    """Labels of namespaces are looked up in memory; none is an empty mapping."""
    server.put(f"{NAMESPACES}/gold", {"metadata": {"labels": {"tier": "gold"}}})
    server.put(f"{NAMESPACES}/plain", {})
    kinds = ("profiles", "namespaces", "network attachment definitions")
    assert [f"{kind} are not synced" for kind in kinds] == list(state(SERVER=server.url).problems())
    with watching(server) as found:
        assert eventually(lambda: not found.problems())
        looked_up = found.directory().namespace_labels
        assert {"tier": "gold"} == looked_up("gold")
        assert {} == looked_up("plain")
        assert set(found.directory().profiles) == SHIPPED


def test_custom_resources_come_before_files_and_go_again(server: KindsApi, tmp_path: Path) -> None:
    """Live: a new one counts, a broken one changes nothing, a deleted one gives way."""
    write(tmp_path, "tcp", attachment="None", description="file")
    place = f"{profiles.RESOURCES}/tcp"
    server.put(place, builders.profile_document("tcp", description="resource"))
    found = state(SERVER=server.url, PROFILES=tmp_path)
    found.start()

    def described() -> str:
        return found.directory().profiles["tcp"].description

    try:
        assert eventually(lambda: described() == "resource")
        server.put(place, builders.profile_document("tcp", mode="wrong"))
        assert eventually(lambda: len(found.profiles.value.problems) == 1)
        assert "resource" == described()
        server.put(place, builders.profile_document("tcp", description="third"))
        assert eventually(lambda: described() == "third")
        earlier = found.directory().earlier("tcp", 1)
        assert earlier is not None
        assert "resource" == earlier.description
        server.remove(place)
        assert eventually(lambda: described() == "file")
    finally:
        found.stop()


def test_a_namespace_that_nobody_knows_is_waited_for_shortly(server: KindsApi) -> None:
    """It may have been made a moment ago; after WAIT_SECONDS it counts as not seen."""
    with watching(server) as found:
        assert eventually(lambda: not found.problems())
        began = time.monotonic()
        assert found.directory().namespace_labels("nobody") is None
        assert WAIT_SECONDS <= time.monotonic() - began < WAIT_SECONDS + 2


def test_an_expired_certificate_is_a_problem(tmp_path: Path) -> None:
    """Nobody could connect anyway; a fresh one is none."""
    authority = served.authority(tmp_path)
    problems = []
    for name, days in (("old", -0.001), ("new", 1.0)):
        pair = authority.leaf(name, days)
        certificates = tls.Certificates(pair.certfile, pair.keyfile, time.monotonic)
        problems.append(list(state(certificates).problems()))
    assert [["the certificate has expired"], []] == problems


def test_a_pods_vicinity_is_its_namespaces(server: KindsApi) -> None:
    """Labels, annotations and networks come from the watches."""
    marks = {"labels": {"tier": "gold"}, "annotations": {"linkerd.io/inject": "enabled"}}
    server.put(f"{NAMESPACES}/gold", {"metadata": marks})
    with watching(server) as found:
        assert eventually(lambda: not found.problems())
        directory = found.directory()
        vicinity = directory.vicinity("gold", {"tier": "gold"})
        assert ({"tier": "gold"}, marks["annotations"], {}) == (
            vicinity.labels,
            vicinity.annotations,
            vicinity.nads,
        )
        assert {} == directory.vicinity("unseen", {}).annotations

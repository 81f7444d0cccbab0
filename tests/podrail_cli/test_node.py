"""podrail topology --node: one node of a dump or of a live cluster, and what told of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import evidence
import pytest
import terminal
import yaml
from kinds_api import KindsApi

from podrail_cli import live

V1_SLICES = live.SLICES[0]


def dump(folder: Path, *documents: dict[str, Any]) -> Path:
    """A file as kubectl get nodes,noderails,resourceslices -o json writes it."""
    path = folder / "cluster.json"
    path.write_text(json.dumps({"kind": "List", "items": documents}))
    return path


def shown(*arguments: str | Path, status: int = 0) -> dict[str, Any]:
    """What -o json prints."""
    result = terminal.run("topology", "--node", "n1", *arguments, "-o", "json")
    assert status == result.exit_code, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_a_node_of_a_dump_is_shown_with_what_told_of_it(tmp_path: Path) -> None:
    """As a topology, with GPUs' identifiers, and who gave what."""
    documents = (evidence.node(), evidence.restricted(), evidence.rails("n2"))
    found = shown("--cluster", dump(tmp_path, *documents))
    assert ("n1", "noderails", "high", "GPU-n1-7") == (
        found["node"],
        found["evidence"],
        found["confidence"],
        found["gpus"][7]["id"],
    )
    assert {"policy": "restricted", "scope": "pod"} == found["kubelet"]
    assert ["noderails", "catalog"] == [one["evidence"] for one in found["gave"]]
    assert {"dra", "noderesourcetopology"} == {one["evidence"] for one in found["unused"]}


def test_the_cluster_may_be_a_folder_of_files(tmp_path: Path) -> None:
    """YAML and JSON."""
    dump(tmp_path, evidence.node())
    (tmp_path / "slices.yaml").write_text(yaml.safe_dump_all(evidence.slices()))
    assert "dra" == shown("--cluster", tmp_path)["evidence"]


def test_people_are_told_what_each_evidence_gave(tmp_path: Path) -> None:
    """After the matrix and the rails: confidence, the kubelet's policy, and why not."""
    path = dump(tmp_path, evidence.node(), evidence.restricted())
    lines = terminal.run("topology", "--node", "n1", "--cluster", path).stdout.splitlines()
    assert "n1: 8 GPUs, 12 NICs from noderails, complete, high confidence" == lines[0]
    assert "kubelet: topology manager restricted, scope pod" in lines
    assert [
        "EVIDENCE              GAVE",
        "noderails             gpus, nics, tiers, numa",
        "catalog               nothing: others know better all that it knows",
        "dra                   nothing: there are no ResourceSlices",
        "noderesourcetopology  nothing: there is no NodeResourceTopology object",
    ] == lines[-5:]


def test_a_node_of_which_nothing_is_known_says_why(tmp_path: Path) -> None:
    """Status 1, in either form."""
    path = dump(tmp_path, evidence.node(shape="m7"))
    found = shown("--cluster", path, status=1)
    assert ([], "none", "low", []) == tuple(
        found[key] for key in ("gpus", "evidence", "confidence", "gave")
    )
    result = terminal.run("topology", "--node", "n1", "--cluster", path)
    assert result.stdout.startswith("n1: nothing is known of its devices\n\nEVIDENCE")
    assert "the catalog has no distances of machine type m7" in result.stdout


def test_warnings_go_to_stderr(tmp_path: Path) -> None:
    """A pool that is not complete."""
    slices = evidence.slices()
    slices[0]["spec"]["pool"]["resourceSliceCount"] = 2
    path = dump(tmp_path, *slices)
    result = terminal.run("topology", "--node", "n1", "--cluster", path)
    assert (0, "1 pools lack slices of their generation\n") == (result.exit_code, result.stderr)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--node", "n3", "--cluster", "."], "n3: no such node; there are n1, n2"),
        (["--node", "n1", "--shape", "dgx-h100"], "or --node; got 2 of them"),
        (["--cluster", "."], "or --node; got 0 of them"),
        (["--cluster", ".", "--shape", "dgx-h100"], "--cluster needs --node"),
        (["--node", "n1", "--kubeconfig", "none"], "kubeconfig none: "),
        (["--node", "n1", "--server", "http://127.0.0.1:1"], "GET /api/v1/nodes/n1: "),
    ],
)
def test_wrong_input_is_status_2(
    arguments: list[str], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what was expected; an API server that does not answer counts as wrong."""
    monkeypatch.chdir(tmp_path)
    dump(tmp_path, evidence.node("n2"), evidence.node("n1"))
    result = terminal.run("topology", *arguments)
    assert (2, "") == (result.exit_code, result.stdout)
    assert told in result.stderr


class Guarded(KindsApi):
    """An API server that keeps some paths to itself."""

    kept: str = "none"

    def read(self, path: str) -> tuple[int, dict[str, Any]]:
        """403 for what is kept."""
        if path.startswith(self.kept):
            return 403, {"reason": "Forbidden", "message": "not for you"}
        return super().read(path)


@pytest.fixture
def api() -> Iterator[Guarded]:
    """An API server with the node n1 and nothing else."""
    running = Guarded()
    running.put(f"{live.NODES}/n1", evidence.node())
    yield running
    running.stop()


def test_a_live_cluster_is_asked_for_everything(api: Guarded) -> None:
    """The node, its NodeRails, its slices and its count."""
    api.put(f"{live.RAILS}/n1", evidence.restricted())
    api.put(f"{live.COUNTS}/n1", evidence.count())
    for number, one in enumerate([*evidence.slices(), *evidence.slices("n2")]):
        bare = {key: value for key, value in one.items() if key != "kind"}
        api.put(f"{V1_SLICES}/s{number}", bare)
    found = shown("--server", api.url)
    assert ["noderails", "dra", "catalog", "noderesourcetopology"] == [
        one["evidence"] for one in found["gave"]
    ]
    assert [] == found["unused"]


@pytest.mark.parametrize("path", live.SLICES)
def test_slices_of_an_older_version_do(api: Guarded, path: str) -> None:
    """DRA was beta in 1.32 and 1.33."""
    for number, one in enumerate(evidence.slices()):
        api.put(f"{path}/s{number}", one)
    assert "dra" == shown("--server", api.url)["evidence"]


def test_kinds_that_the_cluster_does_not_have_are_absent(api: Guarded) -> None:
    """The machine type is there all the same."""
    found = shown("--server", api.url)
    assert ("catalog", "there is no NodeRails object") == (
        found["evidence"],
        found["unused"][0]["why"],
    )


@pytest.mark.parametrize("kept", [live.RAILS, V1_SLICES, live.COUNTS])
def test_what_may_not_be_seen_is_said(api: Guarded, kept: str) -> None:
    """It is not the same as absent, and the rest counts."""
    api.kept = kept
    found = shown("--server", api.url)
    assert ["403 Forbidden: not for you"] == [
        one["why"].removeprefix("the API server keeps it: ")
        for one in found["unused"]
        if "keeps" in one["why"]
    ]


def test_an_unknown_node_is_wrong_input(api: Guarded) -> None:
    """In the API server's words."""
    result = terminal.run("topology", "--node", "n/2", "--server", api.url)
    assert (2, True) == (result.exit_code, "404 NotFound" in result.stderr)


@pytest.mark.parametrize("given", ["option", "variable", "home"])
def test_the_cluster_is_found_as_kubectl_finds_it(
    api: Guarded, given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """--kubeconfig, else KUBECONFIG, else ~/.kube/config."""
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    path = tmp_path / ".kube/config" if given == "home" else tmp_path / "config"
    path.parent.mkdir(exist_ok=True)
    cluster = {"name": "c", "cluster": {"server": api.url}}
    context = {"name": "c", "context": {"cluster": "c", "user": "u"}}
    whole = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [cluster],
        "contexts": [context],
        "current-context": "c",
        "users": [{"name": "u", "user": {"token": "t"}}],
    }
    path.write_text(yaml.safe_dump(whole))
    if given == "variable":
        monkeypatch.setenv("KUBECONFIG", str(path))
    words = ("--kubeconfig", str(path)) if given == "option" else ()
    assert "catalog" == shown(*words)["evidence"]


def test_without_a_kubeconfig_there_is_no_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless it runs in one."""
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    result = terminal.run("topology", "--node", "n1")
    assert (2, True) == (result.exit_code, "no cluster around" in result.stderr)

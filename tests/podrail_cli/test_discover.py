"""`podrail profiles --discover`: what it prints for a dump and for a live cluster."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import builders
import pytest
import shown
import terminal
import yaml
from dry_api import DryApi

from podrail import names, profile
from podrail_cli import census, discover

PLATFORM = builders.shipped()["spectrum-x-planes"]
DOCUMENTS = shown.documents(PLATFORM)


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    """A file as kubectl get -o json writes it."""
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps({"kind": "List", "items": DOCUMENTS}))
    return path


@pytest.fixture
def api() -> Iterator[DryApi]:
    """A cluster that serves the same, and no policies."""
    running = DryApi()
    paths = {kind: paths[0] for kind, paths in (*census.PATHS.items(), *discover.PATHS.items())}
    for one in DOCUMENTS:
        running.put(f"{paths[one['kind']]}/{one['metadata']['name']}", one)
    yield running
    running.stop()


def test_the_yaml_is_a_profile_that_can_be_used(dump: Path, tmp_path: Path) -> None:
    """As it is printed, comments and all, --profile takes it."""
    result = terminal.run("profiles", "--discover", "--cluster", dump)
    assert 0 == result.exit_code
    mine = tmp_path / "mine.yaml"
    mine.write_text(result.stdout)
    (entry,) = terminal.inject(builders.document(), "--profile", mine)
    assert 16 == len(entry["pod"]["metadata"]["annotations"][names.NETWORKS].split(","))


def test_every_line_has_its_confidence_and_questions_stand_above(dump: Path) -> None:
    """Sources come first."""
    lines = terminal.run("profiles", "--discover", "--cluster", dump).stdout.splitlines()
    spec = lines[lines.index("spec:") + 1 :]
    bare = [one for one in spec if not one.strip().startswith("#") and not one.endswith(":")]
    assert bare
    assert [] == [one for one in bare if not any(f"  # {word}" in one for word in ("high", "medium", "low"))]  # fmt: skip
    assert "# Sources: 2 Node, 16 NetworkAttachmentDefinition" in lines
    assert any("# QUESTION: Is the number with more values the rail" in one for one in spec)


def test_json_has_the_lines(dump: Path) -> None:
    """With value, confidence, reason and question."""
    result = terminal.run("profiles", "--discover", "--cluster", dump, "-o", "json")
    (draft,) = json.loads(result.stdout)["drafts"]
    assert "SriovVF" == profile.read(draft["profile"]).attachment
    assert {"field", "value", "confidence", "because", "question"} == {*draft["lines"][0]}


def test_a_live_cluster_is_the_same(api: DryApi, dump: Path) -> None:
    """But for kinds that it does not serve, of which there are none."""
    live = terminal.run("profiles", "--discover", "--server", api.url)
    told = terminal.run("profiles", "--discover", "--cluster", dump)
    assert 0 == live.exit_code
    assert [*yaml.safe_load_all(told.stdout)] == [*yaml.safe_load_all(live.stdout)]
    assert "0 SriovNetworkNodePolicy" in live.stdout.splitlines()[1]


def test_what_may_not_be_seen_is_told(api: DryApi) -> None:
    """The rest counts."""
    api.kept = discover.PATHS["NetworkAttachmentDefinition"][0]
    shown_ = terminal.run("profiles", "--discover", "--server", api.url).stdout
    assert "# Not seen: NetworkAttachmentDefinition may not be listed: 403 Forbidden" in shown_


def test_nothing_to_draft_is_status_1(tmp_path: Path) -> None:
    """And said."""
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps(shown.node("n", {}, {})))
    result = terminal.run("profiles", "--discover", "--cluster", path)
    assert (1, True) == (result.exit_code, "there is nothing to draft" in result.stdout)


def test_a_name_from_the_cluster_cannot_break_the_yaml(tmp_path: Path) -> None:
    """A comment stays on its line."""
    odd = {"kind": "NicClusterPolicy", "metadata": {"name": "x\nspec: y"}, "spec": {}}
    odd["spec"] = {
        "rdmaSharedDevicePlugin": {"config": '{"configList": [{"resourceName": "hca"}]}'}
    }
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps({"items": [shown.gpus({"rdma/hca": 63}), odd], "kind": "List"}))
    result = terminal.run("profiles", "--discover", "--cluster", path)
    (document,) = yaml.safe_load_all(result.stdout)
    assert "SharedDevice" == document["spec"]["attachment"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["tcp", "--discover"], "--discover drafts profiles of its own; tcp is a shipped one"),
        (["--cluster", "."], "--cluster needs --discover"),
        (["--discover", "--server", "http://127.0.0.1:9"], "GET /api/v1/nodes"),
    ],
)
def test_wrong_calls_are_status_2(words: list[str], told: str) -> None:
    """With what was expected."""
    result = terminal.run("profiles", *words)
    assert (2, True) == (result.exit_code, told in result.stderr)

"""`podrail doctor`: how it looks at a cluster, and how it tells."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import builders
import installations
import pytest
import served
import terminal
import yaml
from dry_api import DryApi

from podrail.doctor import examination
from podrail_cli import census, command, doctor

FILE = "deploy/extender/scheduler-second.yaml"
PLACES = {kind: paths[0] for kind, paths in census.PATHS.items()}
CONFIGMAPS = "/api/v1/namespaces/podrail-system/configmaps"
SECRETS = "/api/v1/namespaces/podrail-system/secrets"


def configmap(
    text: str, name: str = "podrail-scheduler", key: str = "config.yaml"
) -> dict[str, Any]:
    """A ConfigMap of podrail's namespace."""
    metadata = {"namespace": "podrail-system", "name": name}
    return {"kind": "ConfigMap", "metadata": metadata, "data": {key: text, "other": "a: [", "n": 3}}


def encoded(path: Path) -> str:
    """A file as an API server writes it."""
    return base64.b64encode(path.read_bytes()).decode()


def everything(folder: Path) -> list[dict[str, Any]]:
    """A cluster in which all is well, its certificates too."""
    authority = served.authority(folder)
    leaf = authority.leaf("webhook", days=90)
    hook = installations.registration()
    for one in hook["webhooks"]:
        one["clientConfig"]["caBundle"] = encoded(authority.file)
    volumes = [{"name": "tls", "secret": {"secretName": "podrail-tls"}}, {"name": "x"}]
    secret = {
        "kind": "Secret",
        "metadata": {"namespace": "podrail-system", "name": "podrail-tls"},
        "data": {"tls.crt": encoded(leaf.certfile)},
    }
    multus = {"namespaceIsolation": False, "type": "multus"}
    return [
        *(
            one
            for one in installations.documents()
            if one["kind"] != "MutatingWebhookConfiguration"
        ),
        hook,
        {**installations.program("webhook", "w", volumes=volumes)},
        configmap(yaml.safe_dump(installations.config())),
        configmap(json.dumps(multus), "multus", "daemon-config.json"),
        configmap("multus: namespaceIsolation: [", "broken"),
        configmap("namespaceIsolation", "a word"),
        secret,
    ]


def told(*words: str | Path, status: int = 0) -> dict[str, Any]:
    """What -o json prints, by check."""
    result = terminal.run("doctor", "-o", "json", *words)
    assert status == result.exit_code, result.output
    found = json.loads(result.stdout)["findings"]
    return {one["check"]: one for one in found}


@pytest.fixture
def api(tmp_path: Path) -> Iterator[DryApi]:
    """An API server of the cluster in which all is well."""
    running = DryApi()
    for number, one in enumerate(everything(tmp_path)):
        kind = one["kind"]
        at = {"ConfigMap": CONFIGMAPS, "Secret": SECRETS}.get(kind) or PLACES[kind]
        bare = {key: value for key, value in one.items() if key not in {"kind", "apiVersion"}}
        kept = one if kind in {"NodeRails", "FabricProfile"} else bare
        running.put(f"{at}/{one['metadata'].get('name', number)}", kept)
    running.served |= {"/api/v1/namespaces/kube-system/configmaps"}
    yield running
    running.stop()


def test_a_live_cluster_in_which_all_is_well(api: DryApi) -> None:
    """The webhook answers, settings are found, the certificate is trusted."""
    found = told("--server", api.url)
    assert {"agents"} >= {key for key, one in found.items() if one["verdict"] != "ok"}
    assert "Secret podrail-system/podrail-tls, until" in found["certificate"]["detail"]
    (sent,) = api.dry
    assert {"podrail.dev/fabric": "tcp"} == sent["metadata"]["labels"]


def test_old_agents_are_seen_by_the_clock(api: DryApi) -> None:
    """The tests' object was written long ago."""
    detail = told("--server", api.url)["agents"]["detail"]
    assert "not heard for 15 min" in detail or "told of within" in detail


def test_what_may_not_be_seen_is_unknown(api: DryApi) -> None:
    """And the rest counts."""
    api.kept = "/api/v1/namespaces/podrail-system"
    found = told("--server", api.url)
    assert "unknown" == found["scheduler"]["verdict"]
    assert "ok" == found["webhook-answers"]["verdict"]
    assert "nobody may read when it ends" in found["certificate"]["detail"]


def test_a_webhook_that_does_not_answer_is_status_1(api: DryApi) -> None:
    """As a refusal of the policy says."""
    api.webhook = False
    assert "fail" == told("--server", api.url, status=1)["webhook-answers"]["verdict"]
    api.refusal = "podrail: the podrail webhook has not seen it"
    found = told("--server", api.url, status=1)["webhook-answers"]
    assert "the API server could not call it" in found["detail"]


def test_files_stand_in_for_a_cluster(tmp_path: Path) -> None:
    """A folder too; nothing is asked, so that is unknown."""
    path = tmp_path / "dump"
    path.mkdir()
    listed = {"kind": "List", "items": everything(tmp_path)}
    (path / "cluster.json").write_text(json.dumps(listed))
    found = told("--cluster", path)
    assert {"webhook-answers"} == {key for key, one in found.items() if one["verdict"] != "ok"}


def test_a_certificate_of_another_ca_fails(tmp_path: Path) -> None:
    """And one that cannot be read is unknown."""
    documents = everything(tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    documents[-1]["data"]["tls.crt"] = encoded(served.authority(other).leaf("x").certfile)
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps({"kind": "List", "items": documents}))
    assert "signed by none" in told("--cluster", path, status=1)["certificate"]["detail"]
    documents[-1]["data"]["tls.crt"] = "%"
    path.write_text(json.dumps({"kind": "List", "items": documents}))
    assert "unknown" == told("--cluster", path)["certificate"]["verdict"]


def test_a_certificate_that_signed_itself_is_trusted_by_its_own_bundle(tmp_path: Path) -> None:
    """As small installations have it."""
    documents = everything(tmp_path)
    documents[-1]["data"]["tls.crt"] = encoded(tmp_path / "ca.crt")
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps({"kind": "List", "items": documents}))
    assert "ok" == told("--cluster", path)["certificate"]["verdict"]


def test_profiles_and_configurations_may_be_added(tmp_path: Path) -> None:
    """To try a profile before it is used; a broken FabricProfile is told."""
    own = builders.profile_document("mine", attachment="Pigeon")
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps({"kind": "List", "items": [installations.node(), own]}))
    config = Path(__file__).resolve().parents[2] / FILE
    words = ("--profile", "tcp", "--scheduler-config", config, "--cluster", path)
    found = told(*words, status=1)
    assert "FabricProfile mine: spec.attachment" in json.dumps(
        terminal.run("doctor", *words).stdout
    )
    assert "tcp" == found["profiles"]["detail"]
    assert "ok" == found["scheduler"]["verdict"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["--profile", "typo"],
            "typo: neither a file nor a shipped profile; podrail profiles lists",
        ),
        (
            ["--profile", "sriov-rail"],
            "neither a file nor a shipped profile; did you mean sriov-rails",
        ),
        (["--scheduler-config", "pod.yaml"], "pod.yaml: expected a KubeSchedulerConfiguration"),
        (["--cluster", "none"], "does not exist"),
        (["--server", "http://127.0.0.1:1"], "GET /api/v1/nodes"),
    ],
)
def test_wrong_input_is_status_2(
    words: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what was expected."""
    monkeypatch.chdir(tmp_path)
    Path("pod.yaml").write_text("kind: Pod\n")
    result = terminal.run("doctor", *words)
    assert (2, "") == (result.exit_code, result.stdout)
    assert message in result.stderr


def test_without_a_terminal_there_are_words_and_no_colours() -> None:
    """One line each, and one for what to do."""
    found = installations.of([installations.node()], parsed=())
    lines = doctor.text(found, examination.examine(found)).splitlines()
    assert "1 node, 1 with GPUs; 0 profiles in use" == lines[0]
    assert lines[2].startswith("unknown Custom resources: there is no CustomResourceDefinition")
    assert lines[3].startswith("          what to do: ")
    assert "2 ok, 10 not known" == lines[-1]
    assert all(line.isascii() for line in lines)


def test_a_terminal_gets_marks_and_lines_of_its_width() -> None:
    """A narrow one still gets forty columns."""
    found = installations.of([installations.node()], parsed=())
    wide = doctor.text(found, examination.examine(found), 70).splitlines()
    assert "\N{CHECK MARK}" in "".join(wide)
    assert max(len(line) for line in wide) <= 70 + len("\x1b[36m\x1b[0m")
    assert len(wide) < len(doctor.text(found, examination.examine(found), 10).splitlines())


@pytest.mark.parametrize("verb", ["doctor", "explain", "decode-log"])
def test_the_help_has_examples_and_the_exit_status(verb: str) -> None:
    """Of the commands that answer why."""
    shown = terminal.run(verb, "-h").stdout
    assert f"  podrail {verb}" in shown
    assert "Exit status: 0" in shown
    assert f"  {verb} " in terminal.run("-h").stdout


@pytest.mark.parametrize("verb", sorted(command.main.commands))
def test_every_help_has_an_example(verb: str) -> None:
    """A call that can be copied."""
    shown = terminal.run(verb, "-h").stdout
    assert f"podrail {verb} " in shown.partition("Example")[2]

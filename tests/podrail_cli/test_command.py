"""The podrail command: its verbs, its exit status, and what it says of wrong input."""

from __future__ import annotations

import json
from importlib import metadata
from pathlib import Path

import builders
import pytest
import terminal
import yaml
from click.testing import CliRunner

from podrail_cli import command, library

POD = builders.document()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a: [", "standard input:2: did not find"),
        ("a: 1\na: 2", "standard input:2: 'a' is given twice"),
        ("", "standard input: no pod template found in an empty file; expected a Pod, a Job or"),
        ("only words", "no pod template found in a text without fields"),
        ("kind: Service", "no pod template found in kinds Service"),
        ("kind: List\nitems: 5", "no pod template found in kinds List"),
        ("pods: [{pod: 3}, 4]", "no pod template found"),
        ("kind: Pod\na: &a [*a]", "an alias inside its own anchor"),
        ("kind: Pod\na: .nan", "nan is no JSON number"),
        ("[" * 5000, "exceeded maximum nesting depth"),
        ("kind: Pod\na: \x07", "unacceptable character"),
    ],
    ids=["not yaml", "key twice", "empty", "words", "other kind", "no list", "no pods", "alias of itself",
         "nan", "deep", "bell"],
)  # fmt: skip
@pytest.mark.parametrize("form", ["yaml", "json", "diff", "patch"])
def test_wrong_input_is_status_2_with_its_place(text: str, told: str, form: str) -> None:
    """One message on stderr, nothing on stdout, no traceback, whatever form was asked for."""
    result = terminal.run("inject", "-f", "-", "-o", form, given=text)
    assert (2, "") == (result.exit_code, result.stdout)
    assert result.stderr.startswith("Error: ")
    assert told in result.stderr


@pytest.mark.parametrize(
    ("content", "told"),
    [(None, "No such file or directory"), (b"\xff", "expected UTF-8"), (b" " * 9_000_000, "at most")],
    ids=["missing", "not text", "too large"],
)  # fmt: skip
def test_a_file_that_cannot_be_read_is_named(
    content: bytes | None, told: str, tmp_path: Path
) -> None:
    """With the reason."""
    path = tmp_path / "pod.yaml"
    if content is not None:
        path.write_bytes(content)
    result = terminal.run("inject", "-f", path)
    assert 2 == result.exit_code
    assert result.stderr.startswith(f"Error: {path}: ")
    assert told in result.stderr


def test_a_wrong_profile_lists_every_problem(tmp_path: Path) -> None:
    """A line each, with the field's path."""
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump(builders.profile_document("mine", attachment="Pigeon", nets=[])))
    result = terminal.run("inject", "-f", "-", "--profile", path, given=POD)
    assert (2, f"Error: {path}:") == (result.exit_code, result.stderr.splitlines()[0])
    assert ["spec.attachment", "spec.nets"] == sorted(
        line.split(": ")[1] for line in result.stderr.splitlines()[1:]
    )


@pytest.mark.parametrize("words", [["inject"], ["inject", "-f", "-", "-o", "xml"], ["injekt"], []])
def test_a_wrong_call_is_status_2_with_the_usage(words: list[str]) -> None:
    """Click's own message."""
    result = CliRunner().invoke(command.main, words)
    assert 2 == result.exit_code
    assert "Usage: " in result.output


def test_help_tells_the_exit_status() -> None:
    """And lists the verbs."""
    shown = " ".join(terminal.run("-h").stdout.split())
    assert "Exit status: 0 done, 1 a pod was refused or nothing fits, 2 wrong input." in shown
    assert [] == [verb for verb in ("inject", "rank", "profiles", "demo") if verb not in shown]


def test_version_is_the_packages() -> None:
    """As installed."""
    shown = terminal.run("--version").stdout
    assert shown.endswith(f", version {metadata.version('podrail')}\n")


def test_profiles_are_listed() -> None:
    """A table, or one document or list of all for programs."""
    lines = terminal.run("profiles").stdout.splitlines()
    shipped = sorted(library.documents())
    assert ["PROFILE", *shipped] == [line.split()[0] for line in lines]
    listed = json.loads(terminal.run("profiles", "-o", "json").stdout)["profiles"]
    assert shipped == [one["metadata"]["name"] for one in listed]
    assert listed == list(yaml.safe_load_all(terminal.run("profiles", "-o", "yaml").stdout))


def test_one_profile_is_printed_as_its_file() -> None:
    """With its comments, to start one's own from; or as JSON."""
    assert library.text("tcp") == terminal.run("profiles", "tcp").stdout
    printed = terminal.run("profiles", "tcp", "-o", "json").stdout
    assert library.documents()["tcp"] == json.loads(printed)
    assert printed.endswith("}\n")


def test_an_unknown_profile_lists_the_known_ones() -> None:
    """Status 2."""
    result = terminal.run("profiles", "typo")
    assert 2 == result.exit_code
    assert "no shipped profile 'typo'; there are ack-erdma, akash-rails" in result.stderr


def test_a_profile_that_sets_what_nccl_keeps_for_debugging_says_so() -> None:
    """On standard error, so that the YAML stays a file."""
    result = terminal.run("profiles", "sriov-pool")
    assert "note: NCCL_IB_QPS_PER_CONNECTION is for debugging" in result.stderr
    assert "note:" not in result.stdout

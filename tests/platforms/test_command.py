"""The command and the webhook, both as programs: the same patch, byte for byte, for every workload."""

from __future__ import annotations

import base64
import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import admitted
import builders
import checkout
import commands
import pytest
import terminal
from commands import Child

PROFILES = checkout.ROOT / "examples" / "profiles"
PATHS = [
    *sorted((checkout.ROOT / "examples" / "workloads").glob("*.yaml")),
    *sorted((checkout.ROOT / "tests" / "platforms" / "workloads").glob("*.yaml")),
]


@pytest.fixture(scope="module")
def webhook(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a webhook without a cluster: what it knows, the command knows, too."""
    settings = {"PODRAIL_LISTEN": "127.0.0.1:0", "PODRAIL_PROFILES": str(PROFILES)}
    folder = tmp_path_factory.mktemp("webhook")
    with commands.running(folder, "podrail-webhook", **settings) as child:
        child.eventually(lambda: bool(_address(child)))
        yield f"http://{_address(child)}/mutate"


def _address(child: Child) -> str:
    """Where it listens; empty before it does."""
    lines = [json.loads(line) for line in child.errors.splitlines(keepends=True) if line.endswith("\n")]  # fmt: skip
    return next((str(one["address"]) for one in lines if one["message"] == "listening"), "")


def asked(url: str, path: Path) -> list[bytes]:
    """The patch of the webhook for each pod template of a file; an empty list if it has none."""
    patches = []
    for one in admitted.workloads(path):
        review = builders.review(one.before, admitted.NAMESPACE)
        request = urllib.request.Request(url, review, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=10) as answer:
            response = json.loads(answer.read())["response"]
        assert response["allowed"], response
        patches.append(base64.b64decode(response.get("patch", "W10=")))
    return patches


def printed(path: Path, *arguments: str | Path) -> list[bytes]:
    """The patches that the command prints, without the blanks that are for people."""
    text = terminal.run("inject", "-f", path, "-o", "patch", *arguments).stdout
    decoder, patches, at = json.JSONDecoder(), [], 0
    while at < len(text):
        patch, at = decoder.raw_decode(text, at)
        patches.append(json.dumps(patch, separators=(",", ":")).encode())
        at += 1
    return patches


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_the_command_prints_the_webhooks_patch(webhook: str, path: Path) -> None:
    """One for each template, in their order, with keys in the same order."""
    own = PROFILES / path.name
    arguments = ("--profile", own) if own.exists() else ()
    wanted = asked(webhook, path)
    assert wanted
    assert wanted == printed(path, *arguments)

"""The fields of `-o json`: each is told on its page, and each that is told is printed."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import checkout
import measured
import pytest
import terminal

from podrail_cli import command

POOL: Final = "--cluster examples/clusters/pool.yaml"
POD: Final = "-f examples/workloads/pod.yaml"
LOG: Final = "tests/data/nccl/fallback.log"
SHARED: Final = "commands"


@dataclass(frozen=True)
class Form:
    """A command's page, calls that print all that a call without a live cluster can, and the rest.

    free are the fields below which there are documents, or names out of the input; other what the
    page tells of besides: the values of a field, and what only a live cluster has.
    """

    page: str
    calls: tuple[str, ...]
    free: str = ""
    other: str = ""


FORMS: Final = {
    "inject": Form(SHARED, (f"inject {POD}",), "pods.patch pods.original pods.pod"),
    "rank": Form(SHARED, (f"rank {POD} {POOL}",)),
    "topology": Form(
        SHARED,
        ("topology --shape dgx-h100", f"topology --node gpu-1 {POOL}"),
        "sources",
    ),
    "profiles": Form(SHARED, ("profiles",), "profiles"),
    "scheduler-config": Form(SHARED, ("scheduler-config --for second",), "parts.document"),
    "explain": Form(
        "explain",
        (f"explain {POD} {POOL}", f"explain {POD} {POOL} --profile sriov-pool"),
        "injected",
        "ResourceNotAdvertised phase scheduler placement points of conflict waiting "
        "severity means remedy who",
    ),
    "doctor": Form("doctor", (f"doctor {POOL}",), other="ok warn fail unknown"),
    "decode-log": Form(
        "decode-log", (f"decode-log {LOG}",), "versions hosts networks nics transports ranks"
    ),
    "discover": Form(
        "discover", (f"profiles --discover {POOL}",), "drafts.profile drafts.lines.value"
    ),
    "verify": Form(
        "verify",
        ("verify sriov-rails --gbps 400 --log {log}",),
        "local",
        "ok slow failed measured",
    ),
}


def told(name: str) -> set[str]:
    """The fields that a page tells of: what its part on JSON sets in the type of code."""
    page = checkout.text(checkout.ROOT / f"docs/user/{FORMS[name].page}.md")
    part = page.partition("## JSON\n")[2]
    if FORMS[name].page == SHARED:
        start = f"| `podrail {name}` |"
        lines = (line for line in part.splitlines() if line.startswith(start))
        part = next(lines).removeprefix(start)
    return set(re.findall(r"`([A-Za-z]+)`", part))


def printed(document: Any, free: frozenset[str], path: str = "") -> Iterator[str]:
    """The names of a document's fields, but for what is below a free one."""
    if isinstance(document, list):
        for one in document:
            yield from printed(one, free, path)
    if isinstance(document, dict) and path not in free:
        for name, value in document.items():
            yield name
            yield from printed(value, free, f"{path}.{name}".lstrip("."))


@pytest.mark.parametrize("name", FORMS)
def test_the_fields_are_those_of_the_page(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None is printed that is not told, none told that is not printed."""
    monkeypatch.chdir(checkout.ROOT)
    form = FORMS[name]
    log = tmp_path / "server.log"
    log.write_text(measured.log("gpu-0", "server", "gpu-1", {"rail3": 98.0}, 470.0))
    free = frozenset(form.free.split())
    found: set[str] = set()
    for call in form.calls:
        shown = terminal.run(*shlex.split(call.format(log=log)), "-o", "json").stdout
        found |= set(printed(json.loads(shown), free))
    assert (set(), set()) == (found - told(name), told(name) - found - set(form.other.split()))


def test_the_figures_of_a_simulation_are_those_of_its_page() -> None:
    """Its rules are names out of the call, so the fields below them are compared."""
    page = checkout.text(checkout.ROOT / "docs/user/simulate.md").partition("## JSON\n")[2]
    figures = page.partition("|---|---|\n")[2]
    call = "simulate --nodes hgx-h100-8nic:2 --jobs - -o json"
    shown = terminal.run(*call.split(), given={"jobs": [{"profile": "sriov-rails"}]}).stdout
    rules = json.loads(shown)["rules"]
    told = set(re.findall(r"`([A-Za-z]+)`", figures))
    assert [told] * len(rules) == [set(one) for one in rules.values()]


def test_every_command_with_json_is_looked_at() -> None:
    """But for the demo, which is a show, and the simulation, which stands above."""
    formed = {
        name
        for name, one in command.main.commands.items()
        if any("json" in getattr(each.type, "choices", ()) for each in one.params)
    }
    assert formed - {"demo", "simulate"} == set(FORMS) - {"discover"}

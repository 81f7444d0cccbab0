"""What the documentation names is there: commands, options, targets, files, examples, links."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import checkout
import click
import pytest
import screens
import terminal

from podrail_cli import command

PAGES: Final = [
    path
    for path in checkout.files()
    if path.suffix == ".md" and (path.parts[0] == "docs" or len(path.parts) == 1)
]
USER_PAGES: Final = [path for path in PAGES if "decisions" not in path.parts]
WALK: Final = Path("docs/user/walk.md")
"""Its commands need a cluster: tests/cluster/test_walk.py."""
BLOCK: Final = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INDENTED: Final = re.compile(r"^ {4,}\S.*$", re.MULTILINE)
INLINE: Final = re.compile(r"`([^`\n]+)`")
CALL: Final = re.compile(r"(?:^|[|;&]|\$\(|kubectl )\s*(?:\.venv/bin/)?podrail ([^|;&>#\n)]*)")
TARGET: Final = re.compile(r"\bmake ([a-z]+)\b")
# deploy/podrail-controller is kubectl's word for a Deployment.
FILE: Final = re.compile(
    r"^(?:examples|deploy(?!/podrail-)|tests|docs|podrail|webhook|extender)/[\w./-]+$"
)
CODE: Final = re.compile(r"^(?:[A-Z][a-z]+(?:[A-Z][a-z]+)+|podrail_\w+|PODRAIL_\w+)")
BUILT: Final = re.compile(r"^podrail_(?:(?:certs|controller|extender|nodeagent)_)?|_total$")
"""What a metric's name has that its definition may leave to others."""
LINK: Final = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)[^)]*\)")


def code(path: Path) -> Iterator[str]:
    """Whatever a page sets in the type of code, in pieces."""
    text = checkout.text(checkout.ROOT / path)
    yield from (found[2].replace("\\\n", "") for found in BLOCK.finditer(text))
    rest = BLOCK.sub("", text)
    yield from INDENTED.findall(rest)
    yield from INLINE.findall(rest)


def calls(path: Path) -> Iterator[list[str]]:
    """The words after `podrail` of every call in a page."""
    for piece in code(path):
        for line in piece.splitlines():
            for found in CALL.finditer(line.removeprefix("$ ")):
                yield shlex.split(found[1])


def unknown(words: list[str]) -> list[str]:
    """The words of a call that the command does not have: a subcommand or an option."""
    name, *rest = words or [""]
    if name.startswith("-"):
        options = {one for each in command.main.params for one in each.opts} | {"-h", "--help"}
        return [one for one in words if one not in options]
    found = command.main.commands.get(name)
    if found is None:
        return [name]
    options = {one for each in found.params for one in each.opts if isinstance(each, click.Option)}
    written = [one.split("=")[0] for one in rest if re.match(r"--?[a-z]", one)]
    return [f"{name} {one}" for one in written if one not in options | {"-h", "--help"}]


@pytest.mark.parametrize("path", USER_PAGES, ids=str)
def test_every_command_in_a_page_exists(path: Path) -> None:
    """With each option that is written there."""
    assert [] == [wrong for words in calls(path) for wrong in unknown(words)]


def test_the_pages_have_commands() -> None:
    """The test above looks at something, and finds what is not there."""
    found = [words[0] for path in USER_PAGES for words in calls(path) if words]
    assert {"inject", "explain", "doctor", "decode-log", "profiles", "topology"} <= set(found)
    assert ["explain --clusters"] == unknown(["explain", "-f", "x", "--clusters", "y"])
    assert ["explain-it"] == unknown(["explain-it"])


@pytest.mark.parametrize("path", USER_PAGES, ids=str)
def test_every_target_in_a_page_can_be_made(path: Path) -> None:
    """The Makefile has it."""
    makefile = checkout.text(checkout.ROOT / "Makefile")
    named = {target for piece in code(path) for target in TARGET.findall(piece)}
    assert set() == {one for one in named if f"\n{one}:" not in makefile}


@pytest.mark.parametrize("path", USER_PAGES, ids=str)
def test_every_file_that_a_page_names_is_there(path: Path) -> None:
    """Paths of the repository in the type of code, up to a line's or test's name."""
    named = {word.split("::")[0] for piece in code(path) for word in piece.split()}
    paths = {one for one in named if FILE.match(one)}
    assert set() == {one for one in paths if not (checkout.ROOT / one).exists()}


def test_every_code_in_a_page_is_in_the_sources() -> None:
    """A reason, outcome or field in camel case, a metric and a setting is one that there is."""
    sources = "".join(map(checkout.text, checkout.modules(*checkout.PACKAGES, "tests")))
    kept = [one for one in checkout.files() if one.parts[0] in {"deploy", "examples"}]
    sources += "".join(checkout.text(one) for one in kept if one.suffix in {".yaml", ".tpl"})
    named = {word for path in USER_PAGES for piece in code(path) for word in [piece.strip()]}
    codes = {found[0] for one in named if (found := CODE.match(one))}
    assert len(codes) > 50
    other = {one for one in codes if one not in sources}
    assert set() == {one for one in other if f'"{BUILT.sub("", one)}"' not in sources}


@pytest.mark.parametrize("path", [one for one in PAGES if len(one.parts) == 1], ids=str)
def test_every_link_beside_the_site_leads_somewhere(path: Path) -> None:
    """Those within the site are followed when it is built."""
    wanted = LINK.findall(checkout.text(checkout.ROOT / path))
    assert [] == [one for one in wanted if not (checkout.ROOT / path.parent / one).exists()]


def test_the_page_of_examples_names_all_of_them() -> None:
    """In its table by purpose, every workload that is not a platform's; none that is not there."""
    page = checkout.text(checkout.ROOT / "docs/user/examples.md")
    chosen = page.partition("| For | File |")[2].partition("\n\n")[0]
    named = set(INLINE.findall(chosen))
    there = {path.stem for path in (checkout.ROOT / "examples" / "workloads").iterdir()}
    assert set() == named - there
    own = {one for one in there if f"`{one}`" in page.partition("## What a pod gets")[2]}
    assert there == own


SCREENS: Final = [
    pytest.param(words.removeprefix("podrail "), output, id=words)
    for path in USER_PAGES
    for words, output in screens.of(path)
    if path != WALK and words.startswith("podrail ")
]


@pytest.mark.parametrize(("words", "output"), SCREENS)
def test_a_shown_output_is_what_the_command_prints(
    words: str, output: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the repository's root, to the letter but for the lines that are left out."""
    monkeypatch.chdir(checkout.ROOT)
    printed = terminal.run(*shlex.split(words)).stdout
    assert screens.matches(output, printed), printed


def test_a_screen_that_differs_is_seen() -> None:
    """In any line that is shown; lines that are left out may be none."""
    assert screens.matches("a ...\n", "a b\n")
    assert not screens.matches("a ...\n", "a b\nc\n")
    assert screens.matches("node-0 is up\n", "node-7 is up\n", {"node-0": r"node-\d"})
    assert screens.matches("a\n...\nc\n", "a\nc\n")
    assert screens.matches("a\n...\nc\n", "a\nb\nb\nc\n")
    assert not screens.matches("a\n...\nc\n", "a\nb\n")

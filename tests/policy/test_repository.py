"""What no file of the repository may hold, and what the locked requirements must."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import checkout
import pytest

LOCKS: Final = ("runtime.txt", "build.txt", "dev.txt", "audit.txt")
# Brackets around one letter, so that this file does not hold what it looks for.
PRIVATE: Final = re.compile(r"(?<![\w.$~-])/(roo[t]|wor[k]|hom[e]/[a-z])\b(?!\.)")
INDEX: Final = re.compile(r"(?i)-(extra-)?index[-]url[ =]+[^-\s]|://[^\s/]+/s[i]mple\b|://pypi[.]")
OPTION: Final = re.compile(r"^\s*-(?!-hash=)", re.MULTILINE)
EMOJI: Final = re.compile(r"[\U0001F000-\U0001FAFF\u2600-\u27BF\uFE0F]")
PINNED: Final = re.compile(
    r"^([a-z0-9-]+)(\[[^]]*\])?==([^ ;]+)(?: ;[^\\]+)?((?:\s*\\\n\s+--hash=sha256:[0-9a-f]{64})+)$",
    re.IGNORECASE | re.MULTILINE,
)


def texts() -> Iterator[tuple[Path, str]]:
    for path in checkout.files():
        try:
            yield path, checkout.text(path)
        except UnicodeDecodeError:
            continue


def hits(pattern: re.Pattern[str]) -> list[str]:
    return [f"{path}: {hit[0]}" for path, text in texts() for hit in pattern.finditer(text)]


@pytest.mark.parametrize(
    ("pattern", "sample"),
    [
        pytest.param(PRIVATE, "see /" + "root/x", id="private path"),
        pytest.param(INDEX, "--index" + "-url https://a.example", id="package index"),
        pytest.param(EMOJI, chr(0x1F680), id="emoji"),
    ],
)
def test_what_no_file_holds(pattern: re.Pattern[str], sample: str) -> None:
    """No file names a private path or a package index, and none has an emoji."""
    assert pattern.search(sample)
    assert hits(pattern) == []


@pytest.mark.parametrize("name", LOCKS)
def test_every_requirement_is_locked_by_hash(name: str) -> None:
    """A lock holds exact versions with hashes, and no option that says where from."""
    text = checkout.text(checkout.ROOT / "requirements" / name)
    named = re.findall(r"^[a-z0-9].*$", text, re.IGNORECASE | re.MULTILINE)
    assert named
    assert len(named) == len(PINNED.findall(text))
    assert OPTION.findall(text) == []


def test_the_locks_agree() -> None:
    """A package that is in several locks has the same version in each."""
    found: dict[str, set[str]] = {}
    for name in LOCKS:
        for package, _, version, _ in PINNED.findall(
            checkout.text(checkout.ROOT / "requirements" / name)
        ):
            found.setdefault(package.lower(), set()).add(version)
    assert {} == {package: versions for package, versions in found.items() if len(versions) > 1}


def test_the_locks_hold_what_is_declared() -> None:
    """Every dependency of pyproject.toml is in the runtime lock, every wish of dev.in in dev.txt."""
    project = tomllib.loads(checkout.text(checkout.ROOT / "pyproject.toml"))["project"]
    folder = checkout.ROOT / "requirements"
    wishes = checkout.text(folder / "dev.in").splitlines()
    expected = {
        "runtime.txt": project["dependencies"],
        "dev.txt": [wish for wish in wishes if not wish.startswith("-c")],
    }
    for name, wanted in expected.items():
        held = {package.lower() for package, *_ in PINNED.findall(checkout.text(folder / name))}
        assert set() == {re.split(r"[<>=]", one)[0].lower() for one in wanted} - held


def test_every_dependency_is_explained() -> None:
    """The decision on dependencies has a line for each one."""
    project = tomllib.loads(checkout.text(checkout.ROOT / "pyproject.toml"))["project"]
    decision = checkout.text(checkout.ROOT / "docs" / "decisions" / "0003-dependencies.md")
    named = {re.split(r"[<>=]", one)[0] for one in project["dependencies"]}
    assert set() == {one for one in named if f"- {one}:" not in decision}


def test_continuous_integration_can_run() -> None:
    """The CI script and everything the Makefile names by path exist."""
    assert (checkout.ROOT / ".ci" / "run").stat().st_mode & 0o111 == 0o111
    named = re.findall(
        r"(?:requirements|tests)/[\w/.]+\.(?:txt|in|py)", checkout.text(checkout.ROOT / "Makefile")
    )
    assert [] == [one for one in named if not (checkout.ROOT / one).is_file()]

"""Part of a folder tree as mappings."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from podrail_io import tree
from podrail_io.files import FileError


def test_files_and_links_are_read_by_pattern(tmp_path: Path) -> None:
    """Links as where they lead, files through links, and nothing that was not asked for."""
    (tmp_path / "devices/a").mkdir(parents=True)
    (tmp_path / "devices/a/numa_node").write_text("-1\n")
    (tmp_path / "devices/a/config").write_bytes(b"\xff" * 5000)
    (tmp_path / "bus").mkdir()
    (tmp_path / "bus/a").symlink_to("../devices/a")
    found = tree.read(tmp_path, ["bus/*", "bus/*/numa_node", "devices/*/config", "none/*"])
    assert {"bus/a": "devices/a"} == found.links
    assert ("-1\n", 4096) == (found.files["bus/a/numa_node"], len(found.files["devices/a/config"]))
    assert 2 == len(found.files)


def test_links_that_lead_nowhere_or_out_are_no_danger(tmp_path: Path) -> None:
    """A copy may lack a target, hold a loop, or be made to point at other files."""
    for name, target in {"out": "/etc", "loop": "loop", "gone": "x/y"}.items():
        (tmp_path / name).symlink_to(target)
    assert tree.Tree({}, {"gone": "x/y"}) == tree.read(tmp_path, ["*", "out/hostname"])


def test_what_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    """A FIFO never keeps it waiting, and a folder is no file."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    assert tree.Tree({}, {}) == tree.read(tmp_path, ["*"])
    assert tree.Tree({}, {}) == tree.read(Path("/proc/self"), ["mem"])


def test_too_many_files_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not a /sys at all."""
    monkeypatch.setattr(tree, "MOST_FILES", 1)
    for name in "ab":
        (tmp_path / name).touch()
    with pytest.raises(FileError, match="expected at most 1 files"):
        tree.read(tmp_path, ["*"])


def test_a_folder_that_is_none_is_an_error(tmp_path: Path) -> None:
    """With its name."""
    with pytest.raises(FileError, match="missing: expected a folder"):
        tree.read(tmp_path / "missing", ["*"])

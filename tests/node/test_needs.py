"""What a machine lacks for a real node is said in one line, as `make test` repeats it at its end."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from controlplane.binaries import NotRun
from realnode import needs


def installed(folder: Path, content: bytes = b"") -> str:
    """A search path on which every program is found."""
    for name in needs.PROGRAMS:
        (folder / name).write_bytes(content)
        (folder / name).chmod(stat.S_IRWXU)
    return str(folder)


def test_nobody_but_root_runs_a_node(tmp_path: Path) -> None:
    """Whatever is installed."""
    with pytest.raises(NotRun, match=r"^NOT RUN: the real node: needs root$"):
        needs.check(installed(tmp_path), 1000)


def test_what_is_missing_is_named_by_package(tmp_path: Path) -> None:
    """With the command that installs it; a package of several programs once."""
    expected = {"busybox-static", "containerd", "iproute2", "runc", "util-linux"}
    assert expected == set(needs.packages(str(tmp_path))) - {needs.PLUGINS_PACKAGE}
    with pytest.raises(NotRun, match="--no-install-recommends busybox-static"):
        needs.check(str(tmp_path), 0)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param(b"\x7fELF", set(), id="static"),
        pytest.param(b"\x7fELF/lib64/ld-linux-x86-64.so.2", {"busybox-static"}, id="dynamic"),
    ],
)
def test_busybox_must_run_without_libraries(
    content: bytes, expected: set[str], tmp_path: Path
) -> None:
    """It is all that the image holds."""
    found = needs.packages(installed(tmp_path, content))
    assert expected == set(found) - {needs.PLUGINS_PACKAGE}

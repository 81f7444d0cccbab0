"""The driver of `make matrix`: every version is tried as itself, and none passes by not being run."""

import subprocess
import sys
from pathlib import Path

import checkout
from controlplane import binaries

SAYS_EVERY_VERSION = f"#!/bin/sh\necho v{' v'.join(binaries.VERSIONS)} {binaries.ETCD_VERSION}\n"
ONE_FAILS = """
import os
import pytest
pytestmark = pytest.mark.cluster
def test_a(): assert os.environ["PODRAIL_KUBERNETES"] != "1.35.4"
def test_b(): pytest.skip("NOT RUN: no helm")
"""


def matrix(folder: Path, *arguments: str) -> tuple[int, list[str]]:
    """Exit status and last lines of the matrix over the tests in a folder, without the seconds."""
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = cluster\n")
    (folder / "test_it.py").write_text(ONE_FAILS)
    environ = {
        "PATH": str(folder),
        "XDG_CACHE_HOME": str(folder),
        "PYTHONPATH": str(checkout.ROOT / "tests" / "support"),
        # Other plugins would only cost time.
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    ran = subprocess.run(
        [sys.executable, checkout.ROOT / "tests/matrix.py", *arguments, "-c", "pytest.ini", "."],
        cwd=folder,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    end = ran.stdout.rpartition("\n\n")[2].splitlines()
    return ran.returncode, [line.partition(" in ")[0] for line in end]


def test_one_version_that_fails_fails_the_matrix_and_the_next_is_tried(tmp_path: Path) -> None:
    """Each has its line, with what was not run below; the last one says what is tried elsewhere."""
    for name in binaries.NAMES:
        (tmp_path / name).write_text(SAYS_EVERY_VERSION)
        (tmp_path / name).chmod(0o755)
    status, (*lines, last) = matrix(tmp_path, "1.35.4", "1.37.2")
    assert 1 == status
    assert [
        "Kubernetes 1.35.4: 0 passed, 1 failed, 1 skipped",
        "  !!! NOT RUN: no helm",
        "Kubernetes 1.37.2: 1 passed, 0 failed, 1 skipped",
        "  !!! NOT RUN: no helm",
    ] == lines
    assert last.startswith("Not tried here: kubelet")
    assert 0 == matrix(tmp_path, "1.37.2")[0]


def test_a_version_without_programs_is_no_success(tmp_path: Path) -> None:
    """All pinned ones are tried if none is named; without Go there is nothing to try them with."""
    status, lines = matrix(tmp_path)
    assert 1 == status
    assert [f"Kubernetes {one}: 0 passed, 0 failed, 0 skipped" for one in binaries.VERSIONS] == [
        line for line in lines if line.startswith("Kubernetes")
    ]

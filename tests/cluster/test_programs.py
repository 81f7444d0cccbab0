"""Where the control plane's programs come from, and that none of them outlives its test."""

from __future__ import annotations

import os
import re
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from controlplane import binaries
from controlplane.binaries import NotRun
from controlplane.installed import eventually

SUPPORT = Path(__file__).resolve().parents[1] / "support"


def program(folder: Path, name: str, says: str) -> Path:
    """An executable that prints this whatever it is asked."""
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\necho '{says}'\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.mark.parametrize("place", ["KUBEBUILDER_ASSETS", "PATH"])
def test_a_program_of_the_right_version_is_taken_where_it_lies(tmp_path: Path, place: str) -> None:
    """One of another version is passed over."""
    right = program(tmp_path / "a", "kube-apiserver", f"Kubernetes v{binaries.DEFAULT}")
    program(tmp_path / "a", "kube-scheduler", "Kubernetes v1.35.4")
    etcd = program(tmp_path / "a", "etcd", f"etcd Version: {binaries.ETCD_VERSION}")
    environ = {"XDG_CACHE_HOME": str(tmp_path), place: str(tmp_path / "a")}
    assert {"kube-apiserver": right, "etcd": etcd} == binaries.found(environ)


def test_a_built_one_comes_first(tmp_path: Path) -> None:
    """Its folder carries the version, so it is not asked."""
    environ = {"XDG_CACHE_HOME": str(tmp_path), "PATH": str(tmp_path / "a")}
    program(tmp_path / "a", "etcd", f"etcd Version: {binaries.ETCD_VERSION}")
    kept = binaries.cache(environ, "etcd")
    kept.parent.mkdir()
    assert {"etcd": program(kept, "etcd", "")} == binaries.found(environ)


def test_another_version_of_kubernetes_has_programs_of_its_own(tmp_path: Path) -> None:
    """They lie in a folder of that version; etcd is one for all."""
    one = {"XDG_CACHE_HOME": str(tmp_path)}
    other = one | {"PODRAIL_KUBERNETES": "1.34.4"}
    assert "kubernetes-1.34.4" == binaries.cache(other, "kube-scheduler").name
    assert binaries.cache(one, "etcd") == binaries.cache(other, "etcd")


def test_a_version_that_is_not_pinned_is_refused() -> None:
    """With those that are."""
    with pytest.raises(ValueError, match=r"is '1\.33\.1': expected one of 1\.34"):
        binaries.chosen({"PODRAIL_KUBERNETES": "1.33.1"})


@pytest.mark.parametrize("version", binaries.VERSIONS)
def test_a_version_is_pinned_by_the_folder_of_its_name(version: str) -> None:
    """The folder's module is of that Kubernetes, and every module of Kubernetes is of one release."""
    text = (binaries.MODULES / version / "go.mod").read_text()
    pinned = re.findall(r"^\s+k8s\.io/kubernetes (\S+)", text, re.MULTILINE)
    staged = re.findall(r"^\s+(k8s\.io/\S+) => (\S+) v0(\S+)$", text, re.MULTILINE)
    assert [f"v{version}"] == pinned
    assert {(name, version.removeprefix("1")) for name, _, _ in staged} == {
        (to, number) for _, to, number in staged
    }


def test_without_go_and_programs_it_says_not_run(tmp_path: Path) -> None:
    """In the words that `make test` repeats at its end and that fail CI."""
    environ = {"XDG_CACHE_HOME": str(tmp_path), "PATH": str(tmp_path)}
    with pytest.raises(NotRun, match=r"^NOT RUN: etcd, kube-apiserver, .* and no Go"):
        binaries.ready(environ)
    assert [] == list(tmp_path.iterdir())


PARENT = """
import os, signal, sys
from pathlib import Path
from controlplane.processes import Child
child = Child(["sleep", "300"], Path(sys.argv[1]))
print(child.process.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_test_process_leaves_no_program_running(tmp_path: Path) -> None:
    """The kernel ends the children when the parent is gone."""
    ended = subprocess.run(
        [sys.executable, "-c", PARENT, str(tmp_path / "log")],
        env={**os.environ, "PYTHONPATH": str(SUPPORT)},  # noqa: TID251 - children live in our environment
        capture_output=True,
        text=True,
        check=False,
        timeout=20,
    )
    assert -signal.SIGKILL == ended.returncode
    eventually(lambda: not running(int(ended.stdout)), "the child is gone")


def running(pid: int) -> bool:
    """Whether a process does more than wait to be reaped."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:
        return False
    return fields[0] not in {"Z", "X"}

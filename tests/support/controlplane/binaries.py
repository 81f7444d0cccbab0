"""The control plane's programs: taken where they lie in the right version, else built once.

They are ordinary Go modules; tests/cluster/controlplane pins them, a folder for each version of
Kubernetes. Built ones are kept in the user's cache folder by version, so that the next checkout
finds them. PODRAIL_KUBERNETES says which version the tests take.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from controlplane.processes import die_with

DEFAULT: Final = "1.36.3"
ETCD_VERSION: Final = "3.6.13"
NAMES = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
KUBELET = "kubelet"
"""No part of the control plane, but of the same module: for tests/node."""
MODULES: Final = Path(__file__).resolve().parents[2] / "cluster" / "controlplane"
VERSIONS: Final = tuple(sorted(path.parent.name for path in MODULES.glob("1.*/go.mod")))
"""The versions that are pinned, the oldest first."""
MINUTES = {"etcd": 1.5, "kube-apiserver": 5.5, "kube-controller-manager": 3, "kube-scheduler": 2, KUBELET: 4}  # fmt: skip
TELL_SECONDS = 10


class NotRun(Exception):
    """The control plane can be neither found nor built here; the message says what is missing."""


def chosen(environ: Mapping[str, str]) -> str:
    """The version of Kubernetes that the tests take.

    Raises:
        ValueError: PODRAIL_KUBERNETES names none that is pinned.
    """
    said = environ.get("PODRAIL_KUBERNETES") or DEFAULT
    if said not in VERSIONS:
        raise ValueError(f"PODRAIL_KUBERNETES is {said!r}: expected one of {', '.join(VERSIONS)}")
    return said


VERSION: Final = chosen(os.environ)  # noqa: TID251 - one for all tests of a process
MINOR: Final = int(VERSION.split(".")[1])


def cache(environ: Mapping[str, str], name: str) -> Path:
    """The folder that keeps a program once it is built; one etcd serves every Kubernetes."""
    home = environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    kind = "etcd" if name == "etcd" else "kubernetes"
    return Path(home) / "podrail" / f"{kind}-{version(name, environ)}"


def version(name: str, environ: Mapping[str, str]) -> str:
    """The version of a program."""
    return ETCD_VERSION if name == "etcd" else chosen(environ)


def found(environ: Mapping[str, str], names: Sequence[str] = NAMES) -> dict[str, Path]:
    """Those of the programs that need not be built."""
    places = [environ.get("KUBEBUILDER_ASSETS", ""), *environ.get("PATH", "").split(os.pathsep)]
    result: dict[str, Path] = {}
    for name in names:
        kept = cache(environ, name) / name
        candidates = [kept, *(Path(place) / name for place in places if place)]
        for path in candidates:
            if path.is_file() and (path == kept or version(name, environ) in _told(path)):
                result[name] = path
                break
    return result


def ready(environ: Mapping[str, str], names: Sequence[str] = NAMES) -> dict[str, Path]:
    """The programs, building those that are missing, one at a time.

    Raises:
        NotRun: something is missing and there is no Go to build it with.
    """
    missing = [name for name in names if name not in found(environ, names)]
    if missing:
        if shutil.which("go", path=environ.get("PATH", "")) is None:
            raise NotRun(
                f"NOT RUN: {', '.join(missing)} of Kubernetes {chosen(environ)}"
                " and no Go to build them"
            )
        for name in missing:
            folder = cache(environ, name)
            folder.mkdir(parents=True, exist_ok=True)
            with _alone(folder.parent / "kubernetes.lock"):
                for half in folder.glob(".*"):
                    half.unlink()
                if name not in found(environ, names):
                    _build(name, folder, environ)
    return found(environ, names)


def _told(path: Path) -> str:
    """What a program says of its version."""
    try:
        said = subprocess.run(
            [path, "--version"], capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return said.stdout


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """One builder at a time on this machine; the lock ends with its holder."""
    with path.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"somebody else builds; waiting for {path}", file=sys.stderr, flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build(name: str, folder: Path, environ: Mapping[str, str]) -> None:
    said = version(name, environ)
    major, minor, _ = said.split(".")
    flag = "-X k8s.io/component-base/version.git"
    stamps = f"{flag}Version=v{said} {flag}Major={major} {flag}Minor={minor}"
    module = MODULES / ("etcd" if name == "etcd" else said)
    package = "." if name == "etcd" else f"k8s.io/kubernetes/cmd/{name}"
    aside = folder / f".{name}.{os.getpid()}"
    command = [
        "go",
        "build",
        "-p",
        "2",
        "-trimpath",
        "-ldflags",
        f"-s -w {stamps}",
        "-o",
        str(aside),
        package,
    ]
    print(f"building {name} {said} once, about {MINUTES[name]:g} min", file=sys.stderr, flush=True)
    began = time.monotonic()
    build = subprocess.Popen(
        command,
        cwd=module,
        env={**environ, "CGO_ENABLED": "0"},
        preexec_fn=partial(die_with, os.getpid()),
    )
    done = threading.Event()
    threading.Thread(target=_tell, args=(name, began, done), daemon=True).start()
    try:
        if build.wait() != 0:
            raise RuntimeError(f"building {name} failed: {' '.join(command)}")
    finally:
        done.set()
        build.kill()
    aside.rename(folder / name)


def _tell(name: str, began: float, done: threading.Event) -> None:
    while not done.wait(TELL_SECONDS):
        print(f"  {name}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)

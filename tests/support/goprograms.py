"""Go programs of the tests: built once and kept in the user's cache folder by what they are built from."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from controlplane.binaries import NotRun
from controlplane.processes import die_with

NAMES_WITH_MEANING = ("go.mod", "go.sum", "*.go")


def built(module: Path, package: str, environ: Mapping[str, str]) -> Path:
    """The program of a package, in or required by the module in this folder.

    Raises:
        NotRun: it is not in the cache and there is no Go to build it with.
    """
    home = environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    folder = Path(home) / "podrail" / f"go-{_digest(module, package)}"
    program = folder / "program"
    if program.is_file():
        return program
    if shutil.which("go", path=environ.get("PATH", "")) is None:
        raise NotRun(f"NOT RUN: no Go to build {package} of {module.name} with")
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not program.is_file():
            _build(module, package, program, environ)
    return program


def _digest(module: Path, package: str) -> str:
    """What the program is built from: the sources, and the pinned versions of all others."""
    digest = hashlib.sha256(package.encode())
    for path in sorted(path for name in NAMES_WITH_MEANING for path in module.glob(name)):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def _build(module: Path, package: str, program: Path, environ: Mapping[str, str]) -> None:
    aside = program.with_name(f".{os.getpid()}")
    flags = ["-p=2", "-trimpath", "-ldflags=-s -w"]
    print(f"building {package} of {module.name} once, up to 6 min", file=sys.stderr, flush=True)
    build = subprocess.Popen(
        ["go", "build", *flags, "-o", aside, package],
        cwd=module,
        env={**environ, "CGO_ENABLED": "0"},
        preexec_fn=partial(die_with, os.getpid()),
    )
    try:
        if build.wait() != 0:
            raise RuntimeError(f"building {package} in {module} failed")
    finally:
        build.kill()
    aside.rename(program)

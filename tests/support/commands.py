"""The console scripts of this environment as child processes that end with their test."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

STOP_SECONDS: Final = 15.0
KEPT: Final = ("PATH", "HOME")
"""What a child keeps of the environment: nothing that could change what it does."""
COVERAGE: Final = ("COVERAGE_PROCESS_CONFIG", "COVERAGE_PROCESS_START", "COVERAGE_FILE")
"""What it keeps as well, unless its memory and time are looked at, of which these take their part."""


@dataclass(frozen=True, slots=True)
class Child:
    """A running console script and the folder that is its TMPDIR and working directory."""

    process: subprocess.Popen[bytes]
    folder: Path

    @property
    def output(self) -> str:
        """What it has written to stdout so far."""
        return (self.folder / "stdout").read_text()

    @property
    def errors(self) -> str:
        """What it has written to stderr so far."""
        return (self.folder / "stderr").read_text()

    def wait(self, seconds: float = STOP_SECONDS) -> int:
        """Its exit status, once it has ended by itself."""
        return self.process.wait(seconds)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Its exit status after a signal."""
        self.process.send_signal(number)
        return self.wait()

    def eventually(self, holds: Callable[[], bool], seconds: float = 20.0) -> None:
        """Return when it holds; fail with the child's words if it does not in time."""
        end = time.monotonic() + seconds
        while not holds():
            ended = self.process.poll() is not None or time.monotonic() > end
            assert holds() or not ended, f"{self.output}\n{self.errors}"
            time.sleep(0.02)

    def left(self) -> list[str]:
        """The command lines of processes that still have the folder as their TMPDIR."""
        mark = f"TMPDIR={self.folder}".encode()
        return [line for place in Path("/proc").glob("[0-9]*") if (line := _marked(place, mark))]


def _marked(place: Path, mark: bytes) -> str:
    try:
        environ = (place / "environ").read_bytes().split(b"\0")
        return (place / "cmdline").read_bytes().replace(b"\0", b" ").decode() if mark in environ else ""  # fmt: skip
    except OSError:  # It ended meanwhile, or is somebody else's.
        return ""


def running(folder: Path, *command: str, **environ: str) -> AbstractContextManager[Child]:
    """A console script for the length of a block; what it leaves running is killed at the end."""
    return _running(folder, command, environ, (*KEPT, *COVERAGE))


def weighed(folder: Path, *command: str, **environ: str) -> AbstractContextManager[Child]:
    """As running, without coverage: for a test of what the program costs."""
    return _running(folder, command, environ, KEPT)


@contextlib.contextmanager
def _running(
    folder: Path, command: Sequence[str], environ: Mapping[str, str], kept: Sequence[str]
) -> Iterator[Child]:
    folder.mkdir(parents=True, exist_ok=True)
    script = Path(sys.executable).parent / command[0]
    # A shell that runs the tests in the background has them, and so their children, ignore Ctrl-C.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    with (folder / "stdout").open("wb") as output, (folder / "stderr").open("wb") as errors:
        process = subprocess.Popen(
            [str(script), *command[1:]],
            cwd=folder,
            env={**_kept(os.environ, kept), "TMPDIR": str(folder), **environ},  # noqa: TID251 - a child needs PATH
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            start_new_session=True,
        )
    signal.signal(signal.SIGINT, before)
    child = Child(process, folder)
    try:
        yield child
    finally:
        _kill(child)
        process.wait()


def _kept(environ: Mapping[str, str], names: Sequence[str]) -> dict[str, str]:
    return {name: environ[name] for name in names if name in environ}


def _kill(child: Child) -> None:
    mark = f"TMPDIR={child.folder}".encode()
    for place in Path("/proc").glob("[0-9]*"):
        if _marked(place, mark):
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(place.name), signal.SIGKILL)

"""Child processes that end with the test, also when the test process is killed.

Start them from a thread that lives as long as they should: the kernel counts the thread that made
a child as its parent.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

_LIBC = ctypes.CDLL(None)
_PR_SET_PDEATHSIG = 1
STOP_SECONDS = 10


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Child:
    """A running program whose output goes to a file."""

    def __init__(
        self, command: Sequence[str | Path], log: Path, environ: Mapping[str, str] | None = None
    ) -> None:
        self.log = log
        with log.open("wb") as out:
            self.process = subprocess.Popen(
                [str(part) for part in command],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env={**os.environ, **(environ or {})},  # noqa: TID251 - children live in our environment
                start_new_session=True,
                preexec_fn=partial(die_with, os.getpid()),
            )

    def stop(self) -> float:
        """End it and say how many seconds that took; killed if it does not listen."""
        began = time.monotonic()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
        return time.monotonic() - began

    def kill(self) -> None:
        """End it at once, as a crash would."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def wait_until(self, ready: Callable[[], bool], seconds: float) -> None:
        """Wait until it is ready; the end of its log explains why it is not."""
        deadline = time.monotonic() + seconds
        while not ready():
            if self.process.poll() is not None or time.monotonic() > deadline:
                tail = self.log.read_text(errors="replace")[-3000:]
                raise RuntimeError(
                    f"{self.log.name}: not ready (exit {self.process.poll()}):\n{tail}"
                )
            time.sleep(0.05)

    def address(self, seconds: float = 20) -> str:
        """The address in its log line "listening"."""
        found: list[str] = []

        def listening() -> bool:
            for line in self.log.read_text(errors="replace").splitlines():
                if line.startswith("{") and '"listening"' in line:
                    found.append(json.loads(line)["address"])
                    return True
            return False

        self.wait_until(listening, seconds)
        return found[0]


def die_with(parent: int) -> None:
    """Have the kernel kill this process when its parent is gone.

    Not SIGTERM: without its etcd a kube-apiserver 1.36 takes minutes to end in good order. gunicorn's
    workers look for their master by themselves.
    """
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)

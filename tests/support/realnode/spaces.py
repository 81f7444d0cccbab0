"""The namespaces of a node: folders of the test lie where its programs have fixed paths.

The kubelet 1.36 has /var/lib/kubelet/device-plugins, Multus the kubelet's other sockets and the CNI
library /var/lib/cni wired in; containerd, its shims and the network namespaces of pods are in /run.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from controlplane.processes import Child

FOLDERS: Final = ("/run", "/var/lib", "/var/log")
SECONDS: Final = 120.0
END_SECONDS: Final = 10.0
_SETUP: Final = """
set -e
ready=$1; shift
while [ $# -gt 0 ]; do mount --bind "$1" "$2"; shift 2; done
ip link set lo up
: >"$ready"
exec sleep infinity
"""


class Spaces:
    """Running namespaces, held by a process that dies with this one."""

    def __init__(self, folder: Path, over: Mapping[str, Path]) -> None:
        self.folder = folder
        self._children: list[Child] = []
        mounts = {**{path: folder / path[1:] for path in FOLDERS}, **over}
        for source in mounts.values():
            source.mkdir(parents=True, exist_ok=True)
        ready = folder / "ready"
        pairs = [part for path, source in mounts.items() for part in (source, path)]
        unshare = ["unshare", "--mount", "--pid", "--net", "--fork", "--kill-child", "--mount-proc"]
        holder = [*unshare, "sh", "-c", _SETUP, "sh", ready, *pairs]
        self._holder = Child(holder, folder / "spaces.log")
        try:
            self._holder.wait_until(ready.exists, END_SECONDS)
        except RuntimeError:
            self._holder.kill()
            raise
        outer = self._holder.process.pid
        self.pid = int(Path(f"/proc/{outer}/task/{outer}/children").read_text())
        """The first process, as this machine numbers it."""

    def command(self, *parts: str | Path) -> list[str | Path]:
        """A command of this machine as one that runs inside."""
        return ["nsenter", "--target", str(self.pid), "--mount", "--pid", "--net", "--", *parts]

    def start(self, name: str, *parts: str | Path) -> Child:
        """Start a program inside; it ends when the namespaces do, at the latest."""
        child = Child(self.command(*parts), self.folder / f"{name}.log")
        self._children.append(child)
        return child

    def run(self, *parts: str | Path, said: str = "") -> str:
        """What a command prints that is run inside.

        Raises:
            RuntimeError: with its words, if it fails.
        """
        ran = subprocess.run(
            self.command(*parts),
            input=said,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        if ran.returncode != 0:
            raise RuntimeError(f"{' '.join(map(str, parts))}: {ran.stderr or ran.stdout}")
        return ran.stdout

    def stop(self) -> None:
        """End everything inside; the kernel takes mounts, links and namespaces away."""
        self._holder.kill()
        for child in self._children:
            child.process.wait(END_SECONDS)
        deadline = time.monotonic() + END_SECONDS
        while Path(f"/proc/{self.pid}").exists() and time.monotonic() < deadline:
            time.sleep(0.02)

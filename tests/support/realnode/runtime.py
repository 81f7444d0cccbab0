"""containerd inside a node's namespaces, and commands in the containers that it runs."""

from __future__ import annotations

import shutil
from itertools import count
from pathlib import Path
from typing import Final

from realnode import image
from realnode.spaces import Spaces

SOCKET: Final = "/run/containerd/containerd.sock"
# restrict_oom_score_adj: without CAP_SYS_RESOURCE runc 1.1 dies with "can't get final child's PID
# from pipe: EOF". The native snapshotter copies, which every file system can.
_CONFIG: Final = """
version = 2
root = "{root}"
state = "/run/containerd"
[grpc]
  address = "{socket}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{image}"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{bin}"
    conf_dir = "{conf}"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "native"
"""


class Runtime:
    """A running containerd with the one image."""

    def __init__(self, spaces: Spaces, cni_bin: Path, cni_conf: Path) -> None:
        self._spaces = spaces
        self._numbers = count()
        config = spaces.folder / "containerd.toml"
        values = {"root": spaces.folder / "containerd", "socket": SOCKET, "image": image.NAME}
        config.write_text(_CONFIG.format(**values, bin=cni_bin, conf=cni_conf))
        child = spaces.start("containerd", "containerd", "--config", config)
        socket = spaces.folder / SOCKET[1:]
        child.wait_until(socket.is_socket, 30)
        packed = spaces.folder / "image.tar"
        image.archive(packed, Path(str(shutil.which("busybox"))))
        self._ctr("images", "import", "--snapshotter", "native", packed)

    def execute(self, container: str, *command: str) -> str:
        """What a command prints in a container; its identifier as a pod's status has it."""
        name = container.removeprefix("containerd://")
        return self._ctr("tasks", "exec", "--exec-id", f"t{next(self._numbers)}", name, *command)

    def pid(self, container: str) -> int:
        """A container's process, as the processes inside are numbered."""
        name = container.removeprefix("containerd://")
        rows = (line.split() for line in self._ctr("tasks", "ls").splitlines())
        return next(int(row[1]) for row in rows if row[0] == name)

    def _ctr(self, *parts: str | Path) -> str:
        return self._spaces.run("ctr", "--address", SOCKET, "--namespace", "k8s.io", *parts)

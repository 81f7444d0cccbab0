"""NUMA nodes that this machine does not have, as a kubelet sees them.

A kubelet knows NUMA nodes by cadvisor alone, and that by the folders of /sys/devices/system/node
(cadvisor v0.56.2, utils/sysinfo). In a mount namespace others may lie over them.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

NODES: Final = "/sys/devices/system/node"
_CPUS: Final = Path("/sys/devices/system/cpu")
_HERE: Final = 10
_THERE: Final = 20
_MEMINFO: Final = "Node {0} MemTotal:       8388608 kB\nNode {0} MemFree:        8388608 kB\n"


def lay(folder: Path, many: int) -> Path:
    """A folder that stands for so many NUMA nodes; this machine's CPUs are spread over them."""
    cpus = sorted(os.sched_getaffinity(0))
    for node in range(many):
        own = folder / f"node{node}"
        own.mkdir(parents=True)
        far = (str(_HERE if node == other else _THERE) for other in range(many))
        (own / "distance").write_text(" ".join(far) + "\n")
        (own / "meminfo").write_text(_MEMINFO.format(node))
        for cpu in cpus[node::many]:
            (own / f"cpu{cpu}").symlink_to(_CPUS / f"cpu{cpu}")
    return folder

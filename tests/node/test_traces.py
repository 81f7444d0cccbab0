"""A real node does not meet another one of its machine, and leaves nothing on it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import checkout
import pytest
from controlplane.installed import eventually
from realnode.node import CGROUPS, RealNode

pytestmark = pytest.mark.node
SUPPORT = checkout.ROOT / "tests" / "support"
KILLED = """
import os, signal, sys
from pathlib import Path
from realnode.spaces import Spaces
spaces = Spaces(Path(sys.argv[1]), {})
spaces.start("program", "sleep", "300")
print(spaces.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_second_node_runs_beside_the_first_and_leaves_nothing(node: RealNode) -> None:
    """No folder, no mount, no control group, no Node; the first one is ready still."""
    client = node.cluster.client
    with RealNode(node.cluster, "real-1") as other:
        assert {node.name, other.name} == {
            one["metadata"]["name"] for one in client.items("/api/v1/nodes")
        }
    assert not other.folder.exists()
    assert [] == list(CGROUPS.glob(f"*/{other.folder.name}"))
    assert str(other.folder) not in Path("/proc/self/mounts").read_text()
    assert [node.name] == [one["metadata"]["name"] for one in client.items("/api/v1/nodes")]


@pytest.mark.usefixtures("node")
def test_a_killed_test_process_leaves_no_process_of_its_node(tmp_path: Path) -> None:
    """The kernel ends the first process inside, and with it all others."""
    ended = subprocess.run(
        [sys.executable, "-c", KILLED, tmp_path],
        env={**os.environ, "PYTHONPATH": str(SUPPORT)},  # noqa: TID251 - children live in our environment
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    assert -signal.SIGKILL == ended.returncode
    eventually(lambda: not Path("/proc", ended.stdout.strip()).exists(), "the node is gone")

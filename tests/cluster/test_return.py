"""An API server that was frozen or killed and is back: how soon the extender follows it again."""

from __future__ import annotations

import os
import signal
import sys
import time
import urllib.request
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from http.client import HTTPException
from typing import Final

import pytest
from certificates_api import logged
from controlplane import nodes, own
from controlplane.installed import Installed, eventually
from controlplane.plane import Cluster
from controlplane.processes import Child

from podrail_io import pace

pytestmark = pytest.mark.cluster
AWAY_SECONDS: Final = 20
SEEN_SECONDS: Final = 10.0
"""On a busy machine; it was up to 30 while each watch waited for the end of its own pause."""


@dataclass(slots=True)
class Yard:
    """A cluster of its own, whose API server may end."""

    cluster: Cluster
    extender: Child

    @property
    def server(self) -> Child:
        """The API server that there is now."""
        children = self.cluster._children
        return [one for one in children if one.log.stem.startswith("kube-apiserver")][-1]

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """The API server does nothing, and its connections stay open."""
        number = self.server.process.pid
        os.kill(number, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(number, signal.SIGCONT)
        self.server.wait_until(self.answers, 90)

    @contextmanager
    def killed(self) -> Iterator[None]:
        """The API server is killed, and back on the same store afterwards."""
        server = self.server
        server.kill()
        yield
        args = server.process.args
        assert isinstance(args, list)
        again = self.cluster.run("kube-apiserver-again", args)
        again.wait_until(self.answers, 90)

    def answers(self) -> bool:
        """Whether the API server is ready."""
        try:
            return self.cluster.client.call("GET", "/readyz").status == 200
        except (OSError, HTTPException):
            return False

    def known(self) -> int:
        """How many nodes the extender knows."""
        with urllib.request.urlopen(
            f"http://{self.extender.address()}/metrics", timeout=5
        ) as answer:
            lines: list[str] = answer.read().decode().splitlines()
        return round(sum(float(one.rpartition(" ")[2]) for one in lines if one.startswith("podrail_nodes{")))  # fmt: skip

    def failures(self) -> defaultdict[str, list[float]]:
        """When each of the extender's watches failed, in seconds."""
        found = defaultdict[str, list[float]](list)
        for one in logged(self.extender.log.read_text(), "reflector lost its API server"):
            found[one["path"]].append(datetime.fromisoformat(one["time"]).timestamp())
        return found


@pytest.fixture(scope="module")
def yard(request: pytest.FixtureRequest) -> Iterator[Yard]:
    """One whose extender knows sixteen nodes."""
    with own.plane(request.session) as cluster:
        cluster.client.create_all(nodes.two_shapes())
        found = Yard(cluster, Installed(cluster).extender())
        eventually(lambda: found.known() == 16, "all nodes are known")
        yield found


@pytest.mark.parametrize("how", ["frozen", "killed"])
def test_the_extender_follows_an_api_server_that_is_back(yard: Yard, how: str) -> None:
    """All watches go on within seconds of its first answer, and none has asked more than the law."""
    known, before = yard.known(), yard.failures()
    with yard.frozen() if how == "frozen" else yard.killed():
        time.sleep(AWAY_SECONDS)
    began = time.monotonic()
    yard.cluster.client.create(nodes.node(f"after-{how}", nodes.ALIGNED))
    eventually(lambda: yard.known() > known, "the new node is known", 60)
    seen = time.monotonic() - began
    failures = yard.failures()
    many = sorted(len(one) - len(before[path]) for path, one in failures.items())
    print(f"\n{how}: seen after {seen:.1f} s; failures {many}", file=sys.stderr)
    assert seen < SEEN_SECONDS
    assert how == "frozen" or len(many) > 5
    for moments in failures.values():
        for end in moments:
            window = [one for one in moments if end - pace.WINDOW_SECONDS < one <= end]
            # The first to fail is the watch of before, which was asked for long ago.
            assert len(window) <= pace.MOST_REQUESTS + 1

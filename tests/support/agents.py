"""A node agent in this process, on a machine, a kubelet's socket and an API server of a test."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import kinds_api
import kubelet_socket
import machines
import placing
from kinds_api import KindsApi
from kubelet_socket import Given, State
from machines import Machine

from nodeagent.agent import Agent, Clocks, Parts
from nodeagent.kubelet import Source
from nodeagent.metrics import Metrics
from nodeagent.sight import Sight
from nodeagent.writer import COLLECTION, NODES, Times, Writer
from podrail.topology import Topology
from podrail_io.followed import Followed
from podrail_io.podresources import PodResources
from podrail_io.slim import Place, SlimApi

NODE = f"{NODES}/n1"
OBJECT = f"{COLLECTION}/n1"
SHAPE = placing.SHAPES["hgx-h100-8nic"]
NOW = 1_796_032_800.0


@dataclass(slots=True)
class Clock:
    """Time that a test moves; every reading of it is a moment later."""

    at: float = 1000.0

    def __call__(self) -> float:
        return self.at


@dataclass(slots=True)
class Stage:
    """All that an agent has around it, and the agent."""

    folder: Path
    machine: Machine
    api: KindsApi
    kubelet: State
    clock: Clock = field(default_factory=Clock)
    node: Followed = field(init=False)
    metrics: Metrics = field(init=False)
    agent: Agent = field(init=False)

    def __post_init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """A new agent, as after a crash."""
        api = SlimApi(Place(self.api.url))
        self.metrics = Metrics(self.clock)
        self.node = Followed(api, NODES, "n1", lambda: 0.5)
        resources = PodResources(self.folder / "kubelet.sock", self._real)
        config = self.folder / "config.yaml"
        parts = Parts(
            Sight(self.machine.sys, self.machine.proc),
            Source(resources, config, api, "n1"),
            Writer(api, "n1", Times(self.clock, self._stamp, lambda: 0.5), self.metrics),
            self.node,
            self.metrics,
        )
        self.agent = Agent("n1", parts, Clocks(self.clock, lambda: NOW + self.clock.at))

    @staticmethod
    def _real() -> float:
        return 0.0

    def _stamp(self) -> str:
        return f"T{self.clock.at:.0f}"

    def after(self, seconds: float) -> dict[str, Any]:
        """The status once so much time has gone by and the agent has had its turn."""
        self.clock.at += seconds
        self.agent.round()
        return self.status

    @property
    def status(self) -> dict[str, Any]:
        """The status as the API server has it."""
        found: dict[str, Any] = self.api.objects.get(OBJECT, {}).get("status") or {}
        return found

    @property
    def free(self) -> str | None:
        """The annotation of the Node."""
        notes: dict[str, str] = self.api.objects[NODE]["metadata"].get("annotations", {})
        return notes.get("podrail.dev/free-rails")


def gpus(count: int = 8) -> Given:
    """What NVIDIA's plugin offers."""
    return Given("nvidia.com/gpu", tuple(machines.UUID.format(at) for at in range(count)), (0, 1))


@contextlib.contextmanager
def stage(folder: Path, shape: Topology = SHAPE, vfs: int = 0) -> Iterator[Stage]:
    """A node for the length of a block."""
    machine = machines.made(folder, shape, vfs=vfs)
    with kinds_api.serving() as api, kubelet_socket.serving(folder / "kubelet.sock") as kubelet:
        api.put(NODE, {"metadata": {}})
        api.served.add(COLLECTION)
        kubelet.offered = [gpus(len(shape.gpus))]
        yield Stage(folder, machine, api, kubelet)

"""Kubelets of a test that run no containers: they hand out devices, tell of them, and say Running.

Each node has a PodResources socket for its agent. Devices are handed out lowest first, each to one
pod only, and stay with it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import Any, Final

from controlplane.client import Client
from kubelet_socket import Given, Pod, State

POLL_SECONDS: Final = 0.3
Devices = Mapping[str, tuple[str, ...]]


@dataclass(slots=True)
class Node:
    """A node's devices by resource, its socket, and what each pod was given, by the pod's name."""

    devices: Devices
    socket: State
    given: dict[str, Devices] = field(default_factory=dict)

    def admit(self, namespace: str, pod: Mapping[str, Any]) -> bool:
        """Give the pod what it asks for; False if there is too little of something."""
        held = {one for given in self.given.values() for ids in given.values() for one in ids}
        found: dict[str, tuple[str, ...]] = {}
        for resource, count in asked(pod).items():
            free = [one for one in self.devices.get(resource, ()) if one not in held]
            found[resource] = tuple(free[:count])
            if len(free) < count:
                return False
        name = pod["metadata"]["name"]
        self.given[name] = found
        given = tuple(Given(resource, ids) for resource, ids in found.items())
        self.socket.pods = [*self.socket.pods, Pod(name, given, namespace)]
        return True


def asked(pod: Mapping[str, Any]) -> dict[str, int]:
    """The devices that a pod's only container asks for, by resource."""
    limits = pod["spec"]["containers"][0]["resources"]["limits"]
    return {name: int(count) for name, count in limits.items() if "/" in name}


class Kubelets:
    """The kubelets of several nodes for the pods of one namespace, in a thread of its own."""

    def __init__(self, client: Client, namespace: str, nodes: Mapping[str, Node]) -> None:
        self.nodes = nodes
        self.refused: list[str] = []
        self._client = client
        self._namespace = namespace
        self._starts: dict[str, str] = {}
        self._running: set[str] = set()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="kubelets", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End after the round under way."""
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopping.wait(POLL_SECONDS):
            try:
                answer = self._client.call("GET", f"/api/v1/namespaces/{self._namespace}/pods")
                if answer.status == 200:
                    self._take(answer.body["items"])
            except (OSError, HTTPException):
                # The API server is away; a kubelet goes on with what it has.
                continue

    def _take(self, pods: Iterable[Mapping[str, Any]]) -> None:
        for pod in pods:
            name, node = pod["metadata"]["name"], pod["spec"].get("nodeName")
            if node and name not in self._starts:
                # A kubelet notes the time by itself and sends it when it can.
                self._starts[name] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
                if not self.nodes[node].admit(self._namespace, pod):
                    self.refused.append(name)
            if name in self._starts and name not in self._running:
                self._say_running(name)

    def _say_running(self, name: str) -> None:
        path = f"/api/v1/namespaces/{self._namespace}/pods/{name}/status"
        status = {"phase": "Running", "startTime": self._starts[name]}
        if self._client.patch(path, {"status": status}).status == 200:
            self._running.add(name)

"""One real node of a test's control plane, from its namespaces to its Ready condition."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import multus
import yaml
from controlplane import binaries
from controlplane.installed import eventually
from controlplane.plane import TOKEN, Cluster
from controlplane.processes import Child

from realnode import cni, kubelet, needs, netns
from realnode.runtime import Runtime
from realnode.spaces import Spaces

READY_SECONDS: Final = 60
POD_SECONDS: Final = 60
CGROUPS: Final = Path("/sys/fs/cgroup")


class RealNode:
    """A running node; use as a context manager.

    over has folders of this machine that lie over others inside, such as over a part of /sys.
    config are changes to the KubeletConfiguration. The folder with the logs is kept if the block
    fails, or if somebody sets `keep`.
    """

    def __init__(
        self,
        cluster: Cluster,
        name: str = "real-0",
        *,
        labels: Mapping[str, str] | None = None,
        over: Mapping[str, Path] | None = None,
        config: Mapping[str, Any] | None = None,
    ) -> None:
        self._program = ready()
        self.cluster, self.name = cluster, name
        self.folder = Path(tempfile.mkdtemp(prefix="podrail-node-"))
        self.keep = False
        self.records = self.folder / "records"
        """Where a network's recorder writes."""
        self._labels, self._over, self._config = labels or {}, over or {}, config or {}
        self._ends = contextlib.ExitStack()

    def __enter__(self) -> RealNode:
        try:
            self._start()
        except BaseException:
            self.stop(keep=True)
            raise
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.stop(keep=self.keep or kind not in {None, KeyboardInterrupt})

    def stop(self, *, keep: bool) -> None:
        """End everything and take its traces off the machine."""
        self._ends.close()
        if keep:
            print(f"real node: logs are kept in {self.folder}", file=sys.stderr)
        else:
            shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def device_plugins(self) -> Path:
        """The folder of the kubelet's registration socket, as this machine sees it."""
        return self.folder / kubelet.DEVICE_PLUGINS[1:]

    @property
    def pod_resources(self) -> Path:
        """The PodResources socket, as this machine sees it."""
        return self.folder / kubelet.POD_RESOURCES[1:]

    @property
    def kubelet_config(self) -> Path:
        """The kubelet's configuration file, as this machine sees it."""
        return self.folder / kubelet.CONFIG[1:]

    @property
    def path(self) -> str:
        """The Node's path at the API server."""
        return f"/api/v1/nodes/{self.name}"

    def allocatable(self, resource: str) -> int:
        """How many devices of a resource the Node shows."""
        found = self.cluster.client.get(self.path)["status"].get("allocatable", {})
        return int(found.get(resource, 0))

    def running(self, namespace: str, name: str) -> dict[str, Any]:
        """A pod of this node once its containers run."""
        path = f"/api/v1/namespaces/{namespace}/pods/{name}"

        def runs() -> bool:
            status = self.cluster.client.get(path)["status"]
            assert status["phase"] in {"Pending", "Running"}, status
            return bool(status["phase"] == "Running")

        with self._explained(namespace, name):
            eventually(runs, f"{name} runs", POD_SECONDS)
        return self.cluster.client.get(path)

    def execute(self, pod: Mapping[str, Any], *command: str) -> str:
        """What a command prints in a pod's first container."""
        return self.runtime.execute(_container(pod), *command)

    def interfaces(self, pod: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
        """The IPv4 addresses of each interface in a pod's network namespace."""
        # busybox's ip has no JSON, so the machine's own looks in.
        place = str(self.runtime.pid(_container(pod)))
        said = self.spaces.run("nsenter", "--target", place, "--net", "ip", "-json", "addr")
        return {
            one["ifname"]: tuple(
                each["local"] for each in one["addr_info"] if each["family"] == "inet"
            )
            for one in json.loads(said)
        }

    def network(self, pod: Mapping[str, Any]) -> Path:
        """A pod's network namespace, for netns.inside."""
        return netns.of(self.spaces.pid, self.runtime.pid(_container(pod)))

    def restart_kubelet(self) -> None:
        """Kill the kubelet, if it still runs, and start another."""
        with contextlib.suppress(ProcessLookupError):
            self.kubelet.kill()
        self._start_kubelet()

    def _start(self) -> None:
        self._ends.callback(self._remove_cgroups)
        self._ends.callback(self.cluster.client.delete, self.path)
        self.spaces = Spaces(self.folder, self._over)
        self._ends.callback(self.spaces.stop)
        self._ends.callback(netns.relayed(netns.of(self.spaces.pid), self.cluster.port).stop)
        self._kubeconfig = self.cluster.kubeconfig_of(self.name, TOKEN)
        self.records.mkdir()
        self.runtime = Runtime(self.spaces, *cni.install(self.folder, self._kubeconfig))
        config = kubelet.configuration(self._config, f"/{self.folder.name}")
        self.kubelet_config.parent.mkdir()
        self.kubelet_config.write_text(yaml.safe_dump(config))
        self._start_kubelet()

    def _start_kubelet(self) -> None:
        command = kubelet.command(self._program, self._kubeconfig, self.name, self._labels)
        self.kubelet: Child = self.spaces.start("kubelet", *command)
        self.kubelet.wait_until(self._ready, READY_SECONDS)

    def _ready(self) -> bool:
        answer = self.cluster.client.call("GET", self.path)
        if answer.status != 200:
            return False
        conditions = answer.body["status"].get("conditions", ())
        return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)

    @contextlib.contextmanager
    def _explained(self, namespace: str, name: str) -> Any:
        try:
            yield
        except AssertionError as error:
            events = self.cluster.client.items(f"/api/v1/namespaces/{namespace}/events")
            said = [one["message"] for one in events if one["involvedObject"]["name"] == name]
            raise AssertionError(f"{error}: {said[-3:]}") from error

    def _remove_cgroups(self) -> None:
        """The kernel leaves groups without processes where they are."""
        own = [one for one in CGROUPS.glob(f"**/{self.folder.name}") if one.is_dir()]
        for root in own:
            for place in sorted((one for one in root.rglob("*") if one.is_dir()), reverse=True):
                place.rmdir()
            root.rmdir()


def ready() -> Path:
    """The kubelet, once all that a node takes is here; what is missing is built, if it can be.

    Raises:
        NotRun: with what is missing.
    """
    needs.check_here()
    multus.program(cni.PACKAGE)
    (program,) = binaries.ready(os.environ, [binaries.KUBELET]).values()  # noqa: TID251 - children live in our environment
    return program


def _container(pod: Mapping[str, Any]) -> str:
    return str(pod["status"]["containerStatuses"][0]["containerID"])

"""What the kubelet of this node tells: how it aligns devices, which containers hold which."""

import logging
from pathlib import Path
from typing import Final

from podrail.evidence.noderails import Allocation, Kubelet
from podrail.observation import kubelet
from podrail.observation.usage import Usage
from podrail_io import files
from podrail_io.files import FileError
from podrail_io.podresources import PodResources
from podrail_io.slim import ApiError, SlimApi
from podrail_io.unary import CallError

_LOG: Final = logging.getLogger(__name__)


class Source:
    """A node's kubelet: its socket, its configuration file, and /configz where that is allowed."""

    def __init__(self, resources: PodResources, config: Path, api: SlimApi, node: str) -> None:
        self._resources = resources
        self._config = config
        self._api = api
        self._configz = f"/api/v1/nodes/{node}/proxy/configz"
        self._usage = Usage()
        self._told = ""
        self.heard = False
        self.errors = 0

    def usage(self) -> Usage:
        """Which devices are held and offered; as last heard while the kubelet does not answer."""
        try:
            listed, offered = self._resources.listed(), self._resources.allocatable()
        except CallError as error:
            self.errors += 1
            self.heard = False
            self._tell(f"PodResources: {error}")
            return self._usage
        self.heard = True
        self._usage = Usage(
            held=tuple(
                Allocation(devices.resource, device, one.namespace, one.pod, one.container)
                for one in listed
                for devices in one.devices
                for device in devices.ids
            ),
            offered=None
            if offered is None
            else {one.resource: frozenset(one.ids) for one in offered},
        )
        return self._usage

    def settings(self) -> Kubelet:
        """How the kubelet aligns devices; empty where neither file nor /configz can be read."""
        try:
            (found, *_) = files.file_documents(self._config)
            if (settings := kubelet.read(found.document)) is not None:
                return settings
            self._tell(f"{self._config}: expected a KubeletConfiguration")
        except ValueError:
            self._tell(f"{self._config}: is empty")
        except FileError as error:
            self._tell(str(error))
        try:
            return kubelet.read(self._api.get(self._configz)) or Kubelet()
        except ApiError as error:
            self._tell(f"policy and scope are unknown: {error}")
            return Kubelet()

    def _tell(self, problem: str) -> None:
        """Log what has not been logged last."""
        if problem != self._told:
            self._told = problem
            _LOG.warning("kubelet not heard", extra={"problem": problem})

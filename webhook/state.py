"""What admission looks up: profiles from files, namespaces from a watch. No call on its path."""

import random
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from podrail import profiles
from podrail.admission import Directory
from podrail.profiles import Loaded
from podrail_io import files
from podrail_io.files import Placed
from podrail_io.kube import Api
from podrail_io.living import Living
from podrail_io.reflector import Reflector, World
from podrail_io.tls import Certificates
from webhook.settings import Settings

WAIT_SECONDS: Final = 0.3
"""How long a pod waits for its namespace, which may be younger than the watch's last event."""
STALE_SECONDS: Final = 300.0


class State:
    """The caches of one worker process."""

    def __init__(self, settings: Settings, certificates: Certificates | None) -> None:
        self.profiles = Living(settings.profiles, _load)
        self.certificates = certificates
        self.namespaces: Reflector[Mapping[str, str]] | None = None
        if settings.server or settings.kubeconfig or Api.in_cluster():
            api = Api.connect(settings.kubeconfig, settings.server)
            world = World(time.monotonic, random.random)
            self.namespaces = Reflector(api, "/api/v1/namespaces", _labels, world)

    def start(self) -> None:
        """Start the threads that keep the caches true."""
        self.profiles.start()
        if self.namespaces is not None:
            self.namespaces.start()

    def directory(self) -> Directory:
        """What admission looks up now."""
        return Directory(self.profiles.value.profiles, self._namespace_labels)

    def problems(self) -> Sequence[str]:
        """Why this worker should get no requests; empty if it should."""
        found = []
        if self.namespaces is not None and not self.namespaces.synced:
            found.append("namespaces are not synced")
        if self.certificates is not None and self.certificates.not_after < time.time():
            found.append("the certificate has expired")
        return found

    def _namespace_labels(self, name: str) -> Mapping[str, str] | None:
        if self.namespaces is None:
            return {}
        found = self.namespaces.get(name)
        return found if found is not None else self.namespaces.wait_for(name, WAIT_SECONDS)


def _labels(namespace: dict[str, Any]) -> Mapping[str, str]:
    return namespace["metadata"].get("labels") or {}


def _load(documents: list[Placed], earlier: Loaded | None) -> Loaded:
    shipped = files.package_documents("podrail", "data/profiles")
    return profiles.load([*shipped, *documents], earlier.profiles if earlier else None)

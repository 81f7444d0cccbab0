"""What admission looks up: profiles and namespaces, kept true by watches. No call on its path."""

import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from podrail import profiles
from podrail.admission.decision import Directory
from podrail.admission.vicinity import Vicinity
from podrail_io import files, prompt, validity
from podrail_io.kube import Api
from podrail_io.living import Living
from podrail_io.reflector import Reflector, World
from podrail_io.tls import Certificates
from webhook.settings import Settings
from webhook.surroundings import Surroundings

WAIT_SECONDS: Final = 0.3
"""How long a pod waits for its namespace, which may be younger than the watch's last event."""
STALE_SECONDS: Final = 300.0


@dataclass(frozen=True, slots=True)
class Namespace:
    """A namespace as admission looks at it."""

    labels: Mapping[str, str]
    annotations: Mapping[str, str]


class State:
    """The caches of one worker process."""

    def __init__(self, settings: Settings, certificates: Certificates | None) -> None:
        shipped = files.package_documents(*profiles.SHIPPED)
        self.profiles = Living(shipped, settings.profiles, profiles.layered)
        self.certificates = certificates
        self.namespaces: Reflector[Namespace] | None = None
        self.around: Surroundings | None = None
        if settings.server or settings.kubeconfig or Api.in_cluster():
            api = Api.connect(settings.kubeconfig, settings.server)
            world = World(time.monotonic, random.SystemRandom().random)
            self.namespaces = Reflector(api, "/api/v1/namespaces", _namespace, world)
            self.around = Surroundings(api, world, settings.isolation)
            self.profiles.follow(api, profiles.RESOURCES, profiles.resource, world)

    def start(self) -> None:
        """Start the threads that keep the caches true."""
        self.profiles.start()
        if self.namespaces is not None and self.around is not None:
            self.namespaces.start()
            self.around.start()

    def stop(self) -> None:
        """Follow the cluster no longer."""
        self.profiles.stop()
        if self.namespaces is not None and self.around is not None:
            self.namespaces.stop()
            self.around.stop()

    def directory(self) -> Directory:
        """What admission looks up now."""
        fabrics = self.profiles.value
        if self.around is None:
            return Directory(fabrics.profiles)
        return Directory(
            fabrics.profiles,
            self._namespace_labels,
            generation=self.around.jobs.generation,
            earlier=fabrics.at,
            vicinity=self._vicinity,
        )

    def problems(self) -> Sequence[str]:
        """Why this worker should get no requests; empty if it should."""
        found = [] if self.profiles.synced else ["profiles are not synced"]
        if self.namespaces is not None and not self.namespaces.synced:
            found.append("namespaces are not synced")
        if self.around is not None and not self.around.nads.synced:
            found.append("network attachment definitions are not synced")
        return [*found, *validity.problems(self.certificates)]

    def _namespace_labels(self, name: str) -> Mapping[str, str] | None:
        if self.namespaces is None:
            return {}
        found = self.namespaces.get(name)
        if found is None:
            prompt.about_to_wait()
            found = self.namespaces.wait_for(name, WAIT_SECONDS)
        return None if found is None else found.labels

    def _vicinity(self, namespace: str, labels: Mapping[str, str]) -> Vicinity:
        if self.namespaces is None or self.around is None:
            return Vicinity(labels)
        known = self.namespaces.get(namespace)
        return self.around.vicinity(namespace, labels, {} if known is None else known.annotations)


def _namespace(document: dict[str, Any]) -> Namespace:
    metadata = document["metadata"]
    return Namespace(metadata.get("labels") or {}, metadata.get("annotations") or {})

"""What the webhook is told at its start, by environment variables."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from podrail.multus.nad import Isolation
from podrail_io import serving
from podrail_io.environ import Environ
from podrail_io.serving import Serving


@dataclass(frozen=True, slots=True)
class Settings:
    """The webhook's settings."""

    serving: Serving
    """PODRAIL_LISTEN (0.0.0.0:8443), PODRAIL_CERT and PODRAIL_KEY (without them plain HTTP, for
    tests), PODRAIL_CLIENT_CA and PODRAIL_CLIENT_NAMES (kube-apiserver; joined by commas: without
    the CA everybody may speak to it), PODRAIL_WORKER_CLASS (hardened, or threads),
    PODRAIL_WORKERS (1), PODRAIL_THREADS (64)."""
    profiles: Path | None
    """PODRAIL_PROFILES: a folder of FabricProfiles beside the shipped ones; a profile of the same
    name takes a shipped one's place, and gives way to a custom resource's. Looked at every two
    seconds."""
    kubeconfig: Path | None
    """PODRAIL_KUBECONFIG: how to reach the API server from outside; else the service account."""
    server: str
    """PODRAIL_SERVER: the URL of an API server that wants no authentication (the demo's)."""
    isolation: Isolation
    """PODRAIL_NAMESPACE_ISOLATION (false) and PODRAIL_GLOBAL_NAMESPACES (default; joined by
    commas), both as in Multus's own configuration."""
    log_level: str
    """PODRAIL_LOG_LEVEL: debug, info, warning or error."""

    @classmethod
    def from_environ(cls, variables: Mapping[str, str]) -> "Settings":
        """The settings in the variables.

        Raises:
            SettingsError: every variable that is wrong.
        """
        read = Environ(variables, "PODRAIL_")
        host, port = read.address("LISTEN", "0.0.0.0:8443")
        isolated = read.truth("NAMESPACE_ISOLATION")
        settings = cls(
            serving=Serving(
                host=host,
                port=port,
                certfile=read.file("CERT"),
                keyfile=read.file("KEY"),
                clients=serving.clients_of(read, "kube-apiserver"),
                worker_class=read.choice("WORKER_CLASS", serving.HARDENED, serving.WORKER_CLASSES),
                workers=read.integer("WORKERS", 1, 1, 16),
                threads=read.integer("THREADS", 64, 1, 256),
            ),
            profiles=read.folder("PROFILES"),
            kubeconfig=read.file("KUBECONFIG"),
            server=read.text("SERVER"),
            isolation=Isolation.of(isolated, read.text("GLOBAL_NAMESPACES", "default")),
            log_level=read.log_level(),
        )
        read.done()
        return settings

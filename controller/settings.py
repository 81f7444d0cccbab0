"""What the controller is told at its start, by environment variables."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from podrail.multus.nad import Isolation
from podrail_io import serving
from podrail_io.environ import Environ
from podrail_io.serving import Serving


@dataclass(frozen=True, slots=True)
class Settings:
    """The controller's settings."""

    serving: Serving
    """PODRAIL_LISTEN (0.0.0.0:8080): health and metrics, nothing else. PODRAIL_WORKER_CLASS
    (hardened). One process: it holds the lease."""
    kubeconfig: Path | None
    """PODRAIL_KUBECONFIG: how to reach the API server from outside; else the service account."""
    server: str
    """PODRAIL_SERVER: the URL of an API server that wants no authentication."""
    profiles: Path | None
    """PODRAIL_PROFILES: a folder of FabricProfiles beside the shipped ones, as the webhook's."""
    namespace: str
    """PODRAIL_NAMESPACE (podrail-system): where the Lease podrail-controller is."""
    identity: str
    """PODRAIL_IDENTITY: the name in the Lease; empty: the host's name with a random part."""
    isolation: Isolation
    """PODRAIL_NAMESPACE_ISOLATION (false) and PODRAIL_GLOBAL_NAMESPACES (default; joined by
    commas), both as in Multus's own configuration."""
    schedulers: frozenset[str]
    """PODRAIL_SCHEDULERS (podrail; joined by commas): the schedulers that ask the extender, beside
    those that profiles name. default-scheduler where the cluster's own one does; none where nobody
    does: a profile that needs one is then not Ready."""
    stale_seconds: int
    """PODRAIL_AGENT_STALE_SECONDS (900): after so long an agent counts as silent; agents write each
    six minutes at least."""
    page: tuple[str, int] | None
    """PODRAIL_PAGE: where the rail map page is served, as in 127.0.0.1:8081; empty: nowhere. Nobody
    is asked who they are, so it is an address that only those reach who may see pods and nodes."""
    shapes: Path | None
    """PODRAIL_SHAPES: a folder of machine types beside the shipped catalog, for the page."""
    webhook: tuple[str, int]
    """PODRAIL_PAGE_WEBHOOK (podrail-webhook.<namespace>.svc:443): whose certificate it shows."""
    log_level: str
    """PODRAIL_LOG_LEVEL: debug, info, warning or error."""

    @classmethod
    def from_environ(cls, variables: Mapping[str, str]) -> "Settings":
        """The settings in the variables.

        Raises:
            SettingsError: every variable that is wrong.
        """
        read = Environ(variables, "PODRAIL_")
        host, port = read.address("LISTEN", "0.0.0.0:8080")
        worker = read.choice("WORKER_CLASS", serving.HARDENED, serving.WORKER_CLASSES)
        isolated = read.truth("NAMESPACE_ISOLATION")
        namespace = read.text("NAMESPACE", "podrail-system")
        settings = cls(
            serving=Serving(host, port, worker_class=worker, threads=4),
            kubeconfig=read.file("KUBECONFIG"),
            server=read.text("SERVER"),
            profiles=read.folder("PROFILES"),
            namespace=namespace,
            identity=read.text("IDENTITY"),
            isolation=Isolation.of(isolated, read.text("GLOBAL_NAMESPACES", "default")),
            schedulers=frozenset(_names(read.text("SCHEDULERS", "podrail"))) - {"none"},
            stale_seconds=read.integer("AGENT_STALE_SECONDS", 900, 60, 86_400),
            page=read.address("PAGE", "") if read.text("PAGE") else None,
            shapes=read.folder("SHAPES"),
            webhook=read.address("PAGE_WEBHOOK", f"podrail-webhook.{namespace}.svc:443"),
            log_level=read.log_level(),
        )
        read.done()
        return settings


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]

"""What the long-running podrail-certs is told at its start, by environment variables."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Final

from certs import authority
from certs.scene import Terms
from podrail_io import serving
from podrail_io.environ import Environ, SettingsError
from podrail_io.serving import Serving

AUTO: Final = "auto"
METHODS: Final = (AUTO, "cert-manager", "provided")
LEAF_SECONDS: Final = 30 * 86_400
MOST_LEAF_SECONDS: Final = 90 * 86_400
SETTLE_SECONDS: Final = 120
LIVES_SETTLED: Final = 10
"""A lost CA is replaced in the third of a leaf's life that is left when the leaf is renewed."""
ENTRIES: Final = "pod.podrail.dev,namespace.podrail.dev"


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of podrail-certs run."""

    method: str
    """PODRAIL_METHOD (auto): auto makes certificates; cert-manager and provided trust what somebody
    else puts into the Secret podrail-tls."""
    serving: Serving
    """PODRAIL_LISTEN (0.0.0.0:8080): health and metrics, nothing else."""
    kubeconfig: Path | None
    """PODRAIL_KUBECONFIG: how to reach the API server from outside; else the service account."""
    server: str
    """PODRAIL_SERVER: the URL of an API server that wants no authentication."""
    namespace: str
    """PODRAIL_NAMESPACE (podrail-system): where the Secrets, the Lease and the Service are."""
    service: str
    """PODRAIL_SERVICE (podrail-webhook): whose replicas serve with the certificate."""
    registration: str
    """PODRAIL_REGISTRATION (podrail): the name of the MutatingWebhookConfiguration."""
    entries: tuple[str, ...]
    """PODRAIL_ENTRIES: its entries that are ours, joined by commas."""
    terms: Terms
    """PODRAIL_HOSTS: more names and addresses of the certificate, joined by commas, beside those
    of the Service. PODRAIL_LEAF_SECONDS (30 days, 90 at most): its life; the CA's is ten times as
    long. PODRAIL_SETTLE_SECONDS (120, at most a tenth of that life): how long API servers may take
    to learn of a caBundle, and kubelets of a Secret; theirs is a minute and a half."""
    look_seconds: int
    """PODRAIL_LOOK_SECONDS (5): how often everything is looked at; a caBundle that somebody resets
    has to be back within 30 s."""
    identity: str
    """PODRAIL_IDENTITY: the name in the Lease; empty: the host's name with a random part."""
    log_level: str
    """PODRAIL_LOG_LEVEL: debug, info, warning or error."""

    @property
    def host(self) -> str:
        """The name by which the API server verifies the Service."""
        return f"{self.service}.{self.namespace}.svc"

    @classmethod
    def from_environ(cls, variables: Mapping[str, str]) -> "Settings":
        """The settings in the variables.

        Raises:
            SettingsError: every variable that is wrong.
        """
        read = Environ(variables, "PODRAIL_")
        host, port = read.address("LISTEN", "0.0.0.0:8080")
        namespace = read.text("NAMESPACE", "podrail-system")
        service = read.text("SERVICE", "podrail-webhook")
        life = read.integer("LEAF_SECONDS", LEAF_SECONDS, 30, MOST_LEAF_SECONDS)
        most = life // LIVES_SETTLED
        settings = cls(
            method=read.choice("METHOD", AUTO, METHODS),
            serving=Serving(host, port, worker_class=serving.HARDENED, threads=4),
            kubeconfig=read.file("KUBECONFIG"),
            server=read.text("SERVER"),
            namespace=namespace,
            service=service,
            registration=read.text("REGISTRATION", "podrail"),
            entries=_parts(read.text("ENTRIES", ENTRIES)),
            terms=Terms(
                _hosts(f"{service}.{namespace}.svc", read.text("HOSTS")),
                timedelta(seconds=life),
                read.integer("SETTLE_SECONDS", min(SETTLE_SECONDS, most), 1, most),
            ),
            look_seconds=read.integer("LOOK_SECONDS", 5, 1, 20),
            identity=read.text("IDENTITY"),
            log_level=read.log_level(),
        )
        read.done()
        return settings


def _hosts(service: str, others: str) -> tuple[str, ...]:
    try:
        found = (service, f"{service}.cluster.local", *map(authority.host, _parts(others)))
    except ValueError as error:
        raise SettingsError([f"PODRAIL_HOSTS: {error}"]) from error
    return tuple(dict.fromkeys(found))


def _parts(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())

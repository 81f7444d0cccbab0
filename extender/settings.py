"""What the extender is told at its start, by environment variables."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from podrail_io import serving
from podrail_io.environ import Environ
from podrail_io.serving import Serving


@dataclass(frozen=True, slots=True)
class Settings:
    """The extender's settings."""

    serving: Serving
    """PODRAIL_LISTEN (127.0.0.1:8888: it runs beside kube-scheduler, in the same pod),
    PODRAIL_CERT and PODRAIL_KEY (without them plain HTTP), PODRAIL_CLIENT_CA and
    PODRAIL_CLIENT_NAMES (kube-scheduler; joined by commas: without the CA everybody may bind),
    PODRAIL_WORKER_CLASS (hardened), PODRAIL_THREADS (16). One process: two ledgers double-book."""
    bulletin: tuple[str, int] | None
    """PODRAIL_BULLETIN (none): where health and metrics are also served, and nothing else: for
    probes and scrapers, which do not reach the loopback address."""
    profiles: Path | None
    """PODRAIL_PROFILES: a folder of FabricProfiles beside the shipped ones; custom resources take
    the place of those of the same name."""
    shapes: Path | None
    """PODRAIL_SHAPES: a folder of machine types beside the shipped catalog, in its format."""
    kubeconfig: Path | None
    """PODRAIL_KUBECONFIG: how to reach the API server from outside; else the service account."""
    server: str
    """PODRAIL_SERVER: the URL of an API server that wants no authentication (the demo's)."""
    scheduler: str
    """PODRAIL_SCHEDULER (podrail): pods of another schedulerName are bound without a change; empty
    means that every pod that comes is ours (`extend-existing`)."""
    stale_seconds: int
    """PODRAIL_STALE_SECONDS (300): with an older view every node passes and scores the same."""
    hold_seconds: int
    """PODRAIL_HOLD_SECONDS (60): how long rails are held for a pod whose bind the watch has not
    shown, and nodes for a nominated job of which no pod is bound; the scheduler's own assumption
    lasts as long as the bind does."""
    claim_seconds: int
    """PODRAIL_CLAIM_SECONDS (300): how long after the bind of its latest pod a job's block is kept
    for its rest; a claim only makes nodes worth less to other jobs."""
    nominate: bool
    """PODRAIL_NOMINATE (true): whether the next pods of a large job are nominated to their nodes,
    which spares kube-scheduler a look at all nodes for each. It takes the right to patch
    pods/status."""
    log_level: str
    """PODRAIL_LOG_LEVEL: debug, info, warning or error."""

    @classmethod
    def from_environ(cls, variables: Mapping[str, str]) -> "Settings":
        """The settings in the variables.

        Raises:
            SettingsError: every variable that is wrong.
        """
        read = Environ(variables, "PODRAIL_")
        host, port = read.address("LISTEN", "127.0.0.1:8888")
        worker = read.choice("WORKER_CLASS", serving.HARDENED, serving.WORKER_CLASSES)
        threads = read.integer("THREADS", 16, 1, 256)
        settings = cls(
            serving=Serving(
                host,
                port,
                certfile=read.file("CERT"),
                keyfile=read.file("KEY"),
                clients=serving.clients_of(read, "kube-scheduler"),
                worker_class=worker,
                threads=threads,
            ),
            bulletin=read.optional_address("BULLETIN"),
            profiles=read.folder("PROFILES"),
            shapes=read.folder("SHAPES"),
            kubeconfig=read.file("KUBECONFIG"),
            server=read.text("SERVER"),
            scheduler=variables.get("PODRAIL_SCHEDULER", "podrail"),
            stale_seconds=read.integer("STALE_SECONDS", 300, 1, 86_400),
            hold_seconds=read.integer("HOLD_SECONDS", 60, 1, 3600),
            claim_seconds=read.integer("CLAIM_SECONDS", 300, 1, 86_400),
            nominate=read.truth("NOMINATE", default=True),
            log_level=read.log_level(),
        )
        read.done()
        return settings

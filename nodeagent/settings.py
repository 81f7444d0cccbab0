"""What the node agent is told at its start, by environment variables."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from podrail_io import podresources, slim
from podrail_io.environ import Environ, SettingsError
from podrail_io.slim import Place


@dataclass(frozen=True, slots=True)
class Settings:
    """The node agent's settings."""

    node: str
    """PODRAIL_NODE: the name of the Node that it runs on, from spec.nodeName."""
    listen: tuple[str, int]
    """PODRAIL_LISTEN (0.0.0.0:8080): health and metrics, nothing else."""
    api: Place
    """PODRAIL_SERVER, PODRAIL_TOKEN_FILE and PODRAIL_CA_FILE: how to reach the API server from
    outside; else the service account."""
    sys: Path
    """PODRAIL_SYS (/sys): the host's, so that interfaces of its network namespace are there."""
    proc: Path
    """PODRAIL_PROC (/proc): its own; of NVIDIA's driver it shows what the host's does."""
    resources: Path
    """PODRAIL_POD_RESOURCES: the kubelet's socket."""
    kubelet_config: Path
    """PODRAIL_KUBELET_CONFIG (/var/lib/kubelet/config.yaml): read where it is mounted; elsewhere
    /configz is asked for through the API server, and where that is forbidden policy and scope are
    unknown."""
    log_level: str
    """PODRAIL_LOG_LEVEL: debug, info, warning or error."""

    @classmethod
    def from_environ(cls, variables: Mapping[str, str]) -> "Settings":
        """The settings in the variables.

        Raises:
            SettingsError: every variable that is wrong.
        """
        read = Environ(variables, "PODRAIL_")
        around = slim.in_cluster(variables)
        server = read.text("SERVER", around.server if around else "")
        token, ca = read.file("TOKEN_FILE"), read.file("CA_FILE")
        settings = cls(
            node=read.text("NODE"),
            listen=read.address("LISTEN", "0.0.0.0:8080"),
            api=around if around and not read.text("SERVER") else Place(server, token, ca),
            sys=Path(read.text("SYS", "/sys")),
            proc=Path(read.text("PROC", "/proc")),
            resources=Path(read.text("POD_RESOURCES", str(podresources.SOCKET))),
            kubelet_config=Path(read.text("KUBELET_CONFIG", "/var/lib/kubelet/config.yaml")),
            log_level=read.log_level(),
        )
        wanted = {"NODE": settings.node, "SERVER": settings.api.server}
        missing = [f"PODRAIL_{name}: is required" for name, value in wanted.items() if not value]
        try:
            read.done()
        except SettingsError as error:
            raise SettingsError([*error.problems, *missing]) from error
        if missing:
            raise SettingsError(missing)
        return settings

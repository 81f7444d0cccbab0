"""Serving a WSGI application with gunicorn: one way for all programs, hardened by default."""

import gc
import logging
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from gunicorn.app.base import BaseApplication
from gunicorn.glogging import Logger

from podrail_io.environ import Environ
from podrail_io.tls import Certificates, Clients

_LOG: Final = logging.getLogger(__name__)

HARDENED: Final = "hardened"
THREADS: Final = "threads"
_WORKERS: Final = {
    HARDENED: "podrail_io.worker.HardenedWorker",
    THREADS: "podrail_io.worker.ThreadsWorker",
}
WORKER_CLASSES: Final = tuple(_WORKERS)
"""Those that pass every test of tests/podrail_io/test_worker.py; none of gunicorn's own does."""
SWITCH_SECONDS: Final = 0.0005
"""How long a thread that computes keeps the main loop waiting for the interpreter (CPython 3.11):
with its usual 5 ms a small admission took twice as long beside one of 64 containers."""
_SHARED_MEMORY: Final = Path("/dev/shm")  # noqa: S108 - gunicorn's heartbeat file, on a read-only root


@dataclass(frozen=True, slots=True)
class Serving:
    """How an application is served."""

    host: str
    port: int
    """0 takes any free port; the log line "listening" tells which."""
    certfile: Path | None = None
    keyfile: Path | None = None
    """Without the two files plain HTTP is served."""
    worker_class: str = HARDENED
    """One of WORKER_CLASSES; a name of gunicorn's own is taken too, for comparisons."""
    workers: int = 1
    """Processes. Each has caches and metrics of its own, so 1 unless measured otherwise."""
    threads: int = 64
    """Requests answered at once outside the main loop; none waits for a peer."""
    keepalive: int = 95
    """Seconds. Longer than the 90 s that Go's client keeps an idle connection, so that it closes
    and never we: kube-apiserver does not retry a POST that meets our close."""
    graceful_timeout: int = 5
    """Seconds that requests in flight are given after SIGTERM."""
    clients: Clients | None = None
    """Who may speak to it; None is everybody."""


def serve(
    application: Callable[[], Any], serving: Serving, certificates: Certificates | None = None
) -> None:
    """Serve until a signal ends it.

    The application is made in each worker, after the fork, so the threads it starts live there.
    The certificates are the ones of certificates_of, for an application that reports on them.
    """
    _Gunicorn(application, serving, certificates or certificates_of(serving)).run()


class _Gunicorn(BaseApplication):  # type: ignore[misc]  # gunicorn is untyped
    def __init__(
        self, application: Callable[[], Any], serving: Serving, certificates: Certificates | None
    ) -> None:
        self._application = application
        self._serving = serving
        self._certificates = certificates
        super().__init__()

    def load_config(self) -> None:
        for name, value in options(self._serving, self._certificates).items():
            self.cfg.set(name, value)

    def load(self) -> Any:
        made = self._application()
        # What lives now lives on; looking through it at every large body would take a third of
        # the time of a 60 KB admission (CPython 3.11).
        gc.collect()
        gc.freeze()
        gc.set_threshold(50_000, 20, 100)
        sys.setswitchinterval(SWITCH_SECONDS)
        return made


class _Log(Logger):  # type: ignore[misc]  # gunicorn is untyped
    """Sends gunicorn's own lines through the root logger, whatever format it has."""

    def setup(self, cfg: Any) -> None:
        self.cfg = cfg
        self.error_log.handlers[:] = []
        self.error_log.propagate = True
        # Its start and stop lines are a developer's concern.
        self.error_log.setLevel(logging.WARNING)


def options(serving: Serving, certificates: Certificates | None) -> dict[str, Any]:
    """The settings of gunicorn, each for a reason (facts measured with gunicorn 27.0.1)."""
    host = f"[{serving.host}]" if ":" in serving.host else serving.host
    found: dict[str, Any] = {
        "bind": f"{host}:{serving.port}",
        "worker_class": _WORKERS.get(serving.worker_class, serving.worker_class),
        "workers": serving.workers,
        "threads": serving.threads,
        "keepalive": serving.keepalive,
        "graceful_timeout": serving.graceful_timeout,
        "timeout": 30,
        "http_protocols": "h1",
        # Its socket lies in HOME, which may be unwritable.
        "control_socket_disable": True,
        "preload_app": False,
        "accesslog": None,
        "logger_class": _Log,
        "when_ready": _ready,
    }
    if _SHARED_MEMORY.is_dir():
        found["worker_tmp_dir"] = str(_SHARED_MEMORY)
    if certificates is not None:
        found["certfile"], found["keyfile"] = str(serving.certfile), str(serving.keyfile)
        found["ssl_context"] = lambda _config, _default: certificates.context()
    return found


def _ready(arbiter: Any) -> None:
    for listener in arbiter.LISTENERS:
        host, port = listener.getsockname()[:2]
        _LOG.info("listening", extra={"address": f"{host}:{port}"})


def certificates_of(serving: Serving) -> Certificates | None:
    """The certificates that are served, or None for plain HTTP."""
    if serving.certfile is None or serving.keyfile is None:
        return None
    return Certificates(serving.certfile, serving.keyfile, time.monotonic, serving.clients)


def clients_of(read: Environ, usual: str) -> Clients | None:
    """Who may speak to a program: CLIENT_CA, a file, and CLIENT_NAMES, joined by commas."""
    ca = read.file("CLIENT_CA")
    names = (name.strip() for name in read.text("CLIENT_NAMES", usual).split(","))
    return None if ca is None else Clients(ca, frozenset(names))

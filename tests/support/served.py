"""A served application in a child process, and throw-away certificates for it.

Run as a script this file is that child: it serves one of the applications below as the JSON in its
first argument says and writes its log as JSON lines to stdout.
"""

from __future__ import annotations

import contextlib
import ctypes
import datetime as dt
import http.client
import json
import logging
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from flask import Flask, Response, request
from prometheus_client import CollectorRegistry

from podrail_io import prompt, serving, web

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

START_SECONDS: Final = 15.0
_DEATH_OF_PARENT: Final = 1  # PR_SET_PDEATHSIG, linux/prctl.h


@dataclass(frozen=True, slots=True)
class Authority:
    """A CA in a folder, ca.crt beside the leaves it makes."""

    folder: Path
    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    @property
    def file(self) -> Path:
        return self.folder / "ca.crt"

    def leaf(self, name: str, days: float = 1) -> Pair:
        """A new pair name.crt, name.key for localhost."""
        key = ec.generate_private_key(ec.SECP256R1())
        names = x509.SubjectAlternativeName([x509.DNSName("localhost")])
        leaf = _certificate("localhost", key, self.certificate.subject, days)
        certificate = leaf.add_extension(names, critical=False).sign(self.key, hashes.SHA256())
        pair = Pair(self.folder / f"{name}.crt", self.folder / f"{name}.key")
        pair.certfile.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        pair.keyfile.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        return pair


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its key, as files."""

    certfile: Path
    keyfile: Path

    def take(self, other: Pair) -> None:
        """Put the other pair into these files, each by a rename, as a mounted Secret changes."""
        for ours, theirs in ((self.certfile, other.certfile), (self.keyfile, other.keyfile)):
            staged = ours.with_suffix(".staged")
            staged.write_bytes(theirs.read_bytes())
            staged.rename(ours)


def authority(folder: Path) -> Authority:
    """A CA of its own in a folder."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "throw-away CA")])
    constraints = x509.BasicConstraints(ca=True, path_length=0)
    builder = _certificate("throw-away CA", key, name, days=1)
    certificate = builder.add_extension(constraints, critical=True).sign(key, hashes.SHA256())
    folder.mkdir(parents=True, exist_ok=True)
    made = Authority(folder, key, certificate)
    made.file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    return made


def _certificate(
    name: str, key: ec.EllipticCurvePrivateKey, issuer: x509.Name, days: float
) -> x509.CertificateBuilder:
    now = dt.datetime.fromtimestamp(time.time(), dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(minutes=5))
        .not_valid_after(now + dt.timedelta(days=days))
    )


@dataclass(frozen=True, slots=True)
class Served:
    """A running server."""

    process: subprocess.Popen[bytes]
    port: int
    log: Path
    trust: Path | None
    pair: Pair | None

    @property
    def url(self) -> str:
        return f"{'https' if self.trust else 'http'}://127.0.0.1:{self.port}"

    def connect(self, timeout: float = 5.0) -> http.client.HTTPConnection:
        """A new connection, not yet opened, that trusts the server's CA."""
        if self.trust is None:
            return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        context = ssl.create_default_context(cafile=self.trust)
        # The leaf is for localhost, which may mean ::1 here.
        context.check_hostname = False
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=timeout, context=context)

    def open(self) -> socket.socket:
        """A raw connection; closing it is the caller's."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=5)

    def handshaken(self) -> ssl.SSLSocket:
        """A connection that has finished its handshake and says nothing."""
        assert self.trust
        context = ssl.create_default_context(cafile=self.trust)
        return context.wrap_socket(self.open(), server_hostname="localhost")

    def call(
        self, method: str, path: str, body: bytes | None = None, timeout: float = 5.0
    ) -> tuple[int, bytes]:
        """Status and body of one call over a connection of its own."""
        with contextlib.closing(self.connect(timeout)) as connection:
            connection.request(method, path, body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            return answer.status, answer.read()

    def records(self) -> list[dict[str, Any]]:
        """What the server has logged; a line that is not a record fails the test."""
        return [json.loads(line) for line in self.log.read_text().splitlines()]

    def stop(self) -> float:
        """The seconds from SIGTERM to the end of the process."""
        start = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(30)
        return time.monotonic() - start


@contextlib.contextmanager
def served(
    folder: Path,
    application: str = "echo",
    trust: Authority | None = None,
    environment: Mapping[str, str] | None = None,
    **settings: Any,
) -> Iterator[Served]:
    """A server of one of APPLICATIONS on a free port, with TLS if there is an authority to trust."""
    # One of its own: servers that start at the same time would meet each other's half pair.
    pair = trust.leaf(folder.name) if trust else None
    if pair:
        settings = {"certfile": str(pair.certfile), "keyfile": str(pair.keyfile), **settings}
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "server.log"
    order = json.dumps({"application": application, "settings": settings})
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, __file__, order],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
        )
    try:
        port = _port(process, log)
        yield Served(process, port, log, trust.file if trust else None, pair)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _port(process: subprocess.Popen[bytes], log: Path) -> int:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        for line in log.read_text().splitlines():
            if '"listening"' in line:
                return int(json.loads(line)["address"].rpartition(":")[2])
        time.sleep(0.02)
    message = f"the server did not start within {START_SECONDS} s:\n{log.read_text()}"
    raise AssertionError(message)


def echo() -> Flask:
    """POST /echo gives the body back, /slow takes as long as asked, /fail is our own fault.

    /where and /waiting tell whether the main thread answers; the latter says that it may wait.
    """
    app = web.application("echo", lambda: (), CollectorRegistry())
    prompt.declare(app, "/echo", "/slow", "/where", "/waiting")

    @app.post("/echo")
    def _echo() -> Response:
        return web.raw(web.body())

    @app.post("/slow")
    def _slow() -> Response:
        time.sleep(float(request.args["seconds"]))
        return web.answer({"slept": True})

    @app.post("/where")
    def _where() -> Response:
        return web.answer(threading.current_thread() is threading.main_thread())

    @app.post("/waiting")
    def _waiting() -> Response:
        prompt.about_to_wait()
        return _where()

    @app.post("/fail")
    def _fail() -> Response:
        message = "private detail"
        raise RuntimeError(message)

    return app


def beating() -> Flask:
    """GET /beats tells how often a thread started by the application has run, and where."""
    app = web.application("beating", lambda: (), CollectorRegistry())
    beats = [0]

    def beat() -> None:
        while True:
            beats[0] += 1
            time.sleep(0.02)

    threading.Thread(target=beat, daemon=True).start()
    made_in = os.getpid()

    @app.get("/beats")
    def _beats() -> Response:
        here = {"made_in": made_in, "process": os.getpid(), "parent": os.getppid()}
        return web.answer({"beats": beats[0], **here})

    return app


def waiting() -> Flask:
    """POST /slow waits as long as asked, in a thread; /prompt is answered on the main loop."""
    app = web.application("waiting", lambda: (), CollectorRegistry())
    prompt.declare(app, "/prompt")

    @app.post("/slow")
    def _slow() -> Response:
        time.sleep(float(request.args["seconds"]))
        return web.answer({"slept": True})

    @app.post("/prompt")
    def _prompt() -> Response:
        return web.raw(web.body())

    return app


APPLICATIONS: Final[Mapping[str, Callable[[], Flask]]] = {
    "echo": echo,
    "beating": beating,
    "waiting": waiting,
}


class _Lines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        known = {"level": record.levelname, "logger": record.name, "message": record.getMessage()}
        trace = self.formatException(record.exc_info) if record.exc_info else None
        return json.dumps({**known, "address": getattr(record, "address", None), "trace": trace})


def _main(order: dict[str, Any]) -> None:
    # Whatever becomes of the test run, this server goes with it; its workers see their parent go.
    ctypes.CDLL(None).prctl(_DEATH_OF_PARENT, signal.SIGKILL)
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(_Lines())
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    settings = order["settings"]
    for name in ("certfile", "keyfile"):
        settings[name] = Path(settings[name]) if settings.get(name) else None
    application: Callable[[], Any] = APPLICATIONS[order["application"]]
    if settings.pop("preload", False):
        made = application()
        application = lambda: made  # noqa: E731 - what gunicorn's preload_app comes to
    serving.serve(application, serving.Serving(host="127.0.0.1", port=0, **settings))


if __name__ == "__main__":
    _main(json.loads(sys.argv[1]))

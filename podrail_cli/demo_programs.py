"""podrail's own programs as the demo's child processes, started by their console scripts."""

import http.client
import json
import os
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

START_SECONDS: Final = 30.0
STOP_SECONDS: Final = 6.0
ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""A closed terminal and a plain kill end the demo as Ctrl-C does: its programs must go with it."""


class DemoError(ValueError):
    """The demo cannot go on; the message says why."""


class Program:
    """A running program that serves HTTP and logs to a file."""

    def __init__(self, name: str, folder: Path, settings: Mapping[str, str]) -> None:
        self._name = name
        self._log = folder / f"{name}.log"
        self._authority = folder / "ca.crt" if "PODRAIL_CERT" in settings else None
        # The demo's children live in the environment that the user started it in.
        environ = {**os.environ, **settings, "PYTHONSAFEPATH": "1"}  # noqa: TID251
        with self._log.open("wb") as log, _held() as signals:
            self._process = subprocess.Popen(  # noqa: S603 - our own console script
                [script(name)],
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                # Ctrl-C goes to the demo, which ends its children itself.
                start_new_session=True,
            )
        try:
            for number in signals:
                signal.raise_signal(number)
            self.address = self._wait(self._listening)
            self._wait(self._ready)
        except BaseException:  # Ctrl-C comes here too, and nobody else knows the child yet.
            self.stop()
            raise

    @property
    def url(self) -> str:
        """Where it serves."""
        return f"{'https' if self._authority else 'http'}://{self.address}"

    def post(self, path: str, document: Any) -> Any:
        """What it answers to a document."""
        return self._call("POST", path, json.dumps(document))[1]

    def stop(self) -> None:
        """End it."""
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _call(self, method: str, path: str, body: str | None = None) -> tuple[int, Any]:
        host, port = self.address.rsplit(":", 1)
        if self._authority is None:
            connection = http.client.HTTPConnection(host, int(port), timeout=10)
        else:
            context = ssl.create_default_context(cafile=str(self._authority))
            connection = http.client.HTTPSConnection(host, int(port), timeout=10, context=context)
        with closing(connection):
            connection.request(method, path, body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            return response.status, json.loads(response.read())

    def told(self, message: str, key: str) -> str:
        """What its first log line with a message says under a key; empty if there is none yet."""
        for line in self._log.read_text(errors="replace").splitlines():
            if line.startswith("{") and (record := json.loads(line))["message"] == message:
                return str(record[key])
        return ""

    def _listening(self) -> str:
        return self.told("listening", "address")

    def _ready(self) -> str:
        return "ready" if self._call("GET", "/readyz")[0] == http.client.OK else ""

    def _wait(self, sought: Any) -> str:
        deadline = time.monotonic() + START_SECONDS
        while not (found := sought()):
            if self._process.poll() is not None or time.monotonic() > deadline:
                tail = self._log.read_text(errors="replace")[-2000:]
                raise DemoError(f"{self._name} did not start:\n{tail}")
            time.sleep(0.05)
        return str(found)


@contextmanager
def _held() -> Iterator[list[int]]:
    """The signals that came meanwhile; one amid Popen would leave a child that nobody knows."""
    came: list[int] = []
    before = {one: signal.signal(one, lambda number, _: came.append(number)) for one in ENDING}
    try:
        yield came
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def script(name: str) -> str:
    """The console script beside the one that is running."""
    beside = Path(sys.executable).parent / name
    if not beside.is_file():
        raise DemoError(f"{beside} is missing: is podrail installed in this environment?")
    return str(beside)


def certificates(folder: Path) -> None:
    """Make a CA and a certificate for the webhook."""
    command = [script("podrail-certs"), "create", "--out", str(folder), "--days", "1"]
    subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - our own console script

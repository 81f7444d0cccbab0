"""The part of an API server that podrail-certs uses, what the kubelet mounts, and who serves that."""

from __future__ import annotations

import base64
import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from kinds_api import Document, KindsApi

NAMESPACE: Final = "podrail-system"
SECRETS: Final = f"/api/v1/namespaces/{NAMESPACE}/secrets"
SLICES: Final = f"/apis/discovery.k8s.io/v1/namespaces/{NAMESPACE}/endpointslices"
REGISTRATION: Final = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/podrail"
REVIEWS: Final = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
LEASE: Final = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/podrail-certs"
OURS: Final = ("pod.podrail.dev", "namespace.podrail.dev")


class CertificatesApi(KindsApi):
    """Secrets, a registration, endpoints, and a clock of its own that stamps."""

    def __init__(self) -> None:
        super().__init__()
        self.ahead = timedelta()
        """How far its clock is ahead of this machine's."""
        self.served |= {SLICES, SECRETS}

    def register(self, *names: str) -> None:
        """Have a registration with these entries, as Helm would."""
        entries = [{"name": one, "clientConfig": {"service": {"name": "x"}}} for one in names]
        self.put(REGISTRATION, {"webhooks": entries})

    def bundles(self) -> dict[str, bytes]:
        """The caBundle of each entry."""
        entries = self.objects[REGISTRATION]["webhooks"]
        return {
            one["name"]: base64.b64decode(one["clientConfig"].get("caBundle", ""))
            for one in entries
        }

    def endpoint(self, name: str, address: str, *ports: int) -> None:
        """Have an endpoint of the Service."""
        found = {
            "ports": [{"port": one} for one in ports],
            "endpoints": [{"addresses": [address]}],
        }
        self.put(f"{SLICES}/{name}", found)

    def secret(self, name: str) -> dict[str, bytes]:
        """The data of a Secret; none if it is not there."""
        found = self.objects.get(f"{SECRETS}/{name}", {})
        return {key: base64.b64decode(text) for key, text in found.get("data", {}).items()}

    def fill(self, name: str, data: Mapping[str, bytes]) -> None:
        """Have a Secret with these data, as somebody else would write it."""
        before = self.objects.get(f"{SECRETS}/{name}", {})
        encoded = {key: base64.b64encode(text).decode() for key, text in data.items()}
        self.put(f"{SECRETS}/{name}", {**before, "data": encoded})

    def write(self, method: str, target: str, body: Document) -> tuple[int, Document]:
        """Reviews are stamped and not kept; an apply sets caBundles; the rest is the parent's."""
        path = urlsplit(target).path
        if path == REVIEWS:
            stamp = datetime.fromtimestamp(time.time(), UTC) + self.ahead
            return 201, {"metadata": {"creationTimestamp": f"{stamp:%Y-%m-%dT%H:%M:%SZ}"}}
        if path == REGISTRATION:
            with self._news:
                self.writes.append((method, target, body))
                given = {one["name"]: one["clientConfig"] for one in body["webhooks"]}
                entries = [
                    {**one, "clientConfig": {**one["clientConfig"], **given.get(one["name"], {})}}
                    for one in self.objects[REGISTRATION]["webhooks"]
                ]
                return 200, self.put(path, {**self.objects[REGISTRATION], "webhooks": entries})
        return super().write(method, target, body)


@contextlib.contextmanager
def serving() -> Iterator[CertificatesApi]:
    """A server for the length of a block."""
    api = CertificatesApi()
    try:
        yield api
    finally:
        api.stop()


class Follower:
    """Writes what it reads into files, late: a kubelet with a Secret, or an API server's caBundle."""

    def __init__(
        self, folder: Path, read: Callable[[], Mapping[str, bytes]], lag: float = 0.0
    ) -> None:
        self._folder = folder
        self._read = read
        self._lag = lag
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._before: Mapping[str, bytes] = {}
        folder.mkdir(parents=True, exist_ok=True)

    def __enter__(self) -> Follower:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopping.wait(0.1):
            found = self._read()
            # A Secret that is gone leaves the volume as it is.
            if found and found != self._before:
                self._stopping.wait(self._lag)
                self._write(found)
                self._before = found

    def _write(self, found: Mapping[str, bytes]) -> None:
        """All at once, by a link, as the kubelet does."""
        version = self._folder / f"..{time.time_ns()}"
        version.mkdir()
        for name, text in found.items():
            (version / name).write_bytes(text)
        link = self._folder / "..new"
        link.symlink_to(version.name)
        link.rename(self._folder / "..data")
        for name in found:
            entry = self._folder / name
            if not entry.is_symlink():
                entry.symlink_to(Path("..data") / name)


def metric(text: str, name: str) -> float:
    """A metric's value, by its name with labels as in the text."""
    (line,) = [one for one in text.splitlines() if one.startswith(f"{name} ")]
    return float(line.rpartition(" ")[2])


def logged(log: str, message: str) -> list[dict[str, Any]]:
    """The log's records with a message."""
    records = (json.loads(one) for one in log.splitlines() if one.startswith("{"))
    return [one for one in records if one["message"] == message]

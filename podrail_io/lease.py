"""A Lease of coordination.k8s.io: of several processes with different identities one is active.

The official client's election never steps down while the API server hangs (facts measured with
37.0.2). Here being active is a question of the own clock: `held` ends before anybody else may
take the Lease, whatever the API server does. Whoever writes asks `held` first, and gives the write
less time than SPARE_SECONDS.
"""

import datetime as dt
import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from podrail_io.kube import Api, Document, KubeError, StatusError

_LOG: Final = logging.getLogger(__name__)
LEASE_SECONDS: Final = 15
"""How long others wait after the last renewal that they saw; client-go's defaults, as the next."""
DEADLINE_SECONDS: Final = 10.0
"""How long after the start of a successful renewal the Lease counts as held."""
RETRY_SECONDS: Final = 2.0
REQUEST_SECONDS: Final = 3.0
SPARE_SECONDS: Final = LEASE_SECONDS - DEADLINE_SECONDS
"""What a write may take that began while the Lease was held."""
NOT_FOUND: Final = 404
CONFLICT: Final = 409


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a lease takes from around it; times are in seconds.

    clock never goes back; now is the wall clock, which others only read and never judge by; chance
    is in [0, 1); wait returns early when the event is set.
    """

    clock: Callable[[], float]
    now: Callable[[], dt.datetime]
    chance: Callable[[], float]
    wait: Callable[[threading.Event, float], object] = threading.Event.wait


class Lease:
    """The endeavour of one process to hold a Lease."""

    def __init__(
        self, api: Api, place: tuple[str, str], identity: str, world: Surroundings
    ) -> None:
        namespace, self._name = place
        self._api = api
        self._namespace = namespace
        self._collection = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        self._path = f"{self._collection}/{self._name}"
        self._identity = identity
        self._world = world
        self._until = float("-inf")
        self._seen: tuple[str, float] = ("", float("-inf"))
        self._stopping = threading.Event()
        self.errors = 0

    @property
    def held(self) -> bool:
        """True while nobody else can hold the Lease."""
        return self._world.clock() < self._until and not self._stopping.is_set()

    def start(self) -> None:
        """Try for the Lease from now on, in a thread of its own."""
        threading.Thread(target=self._run, name="lease", daemon=True).start()

    def stop(self) -> None:
        """Step down, and let others have the Lease at once if the API server answers."""
        held = self.held
        self._stopping.set()
        if held:
            self._guarded(self._release)

    def _run(self) -> None:
        while not self._stopping.is_set():
            before = self.held
            self._guarded(self._round)
            if self.held != before:
                _LOG.info("lease", extra={"lease": self._name, "held": self.held})
            # Two that start together must not stay in step.
            pause = RETRY_SECONDS * (1 + 0.2 * self._world.chance())
            self._world.wait(self._stopping, pause)

    def _guarded(self, act: Callable[[], None]) -> None:
        try:
            act()
        except KubeError as error:
            self.errors += 1
            _LOG.warning("lease not renewed", extra={"lease": self._name, "problem": str(error)})
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            # JSON, but no Lease.
            self.errors += 1
            _LOG.warning(
                "lease not understood", extra={"lease": self._name, "problem": repr(error)}
            )

    def _round(self) -> None:
        """Take the Lease or renew it, if that is possible now."""
        began = self._world.clock()
        try:
            found = self._api.get(self._path, timeout=REQUEST_SECONDS)
        except StatusError as error:
            if error.status != NOT_FOUND:
                raise
            self._write(None, began)
            return
        if self._free(found):
            self._write(found, began)
        else:
            self._until = float("-inf")

    def _free(self, found: Document) -> bool:
        """Whether it is ours, nobody's, or was not renewed for as long as its holder promised.

        By our own clock since we first saw this version: other machines' clocks are not ours.
        """
        spec, version = found.get("spec") or {}, found["metadata"]["resourceVersion"]
        now = self._world.clock()
        if version != self._seen[0]:
            self._seen = (version, now)
        holder = spec.get("holderIdentity")
        if not holder or holder == self._identity:
            return True
        return bool(now > self._seen[1] + float(spec.get("leaseDurationSeconds", LEASE_SECONDS)))

    def _write(self, found: Document | None, began: float) -> None:
        written = self._claim(found)
        try:
            if found is None:
                self._api.post(self._collection, written, REQUEST_SECONDS)
            else:
                self._api.put(self._path, written, REQUEST_SECONDS)
        except StatusError as error:
            if error.status != CONFLICT:
                raise
            # Somebody was faster: the next round looks who.
            return
        self._until = began + DEADLINE_SECONDS

    def _claim(self, found: Document | None) -> Document:
        """The Lease with us as its holder."""
        stamp = self._world.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        spec: dict[str, Any] = {} if found is None else dict(found.get("spec") or {})
        if spec.get("holderIdentity") != self._identity:
            taken = int(spec.get("leaseTransitions", 0)) + (found is not None)
            spec |= {"acquireTime": stamp, "leaseTransitions": taken}
        spec |= {
            "holderIdentity": self._identity,
            "leaseDurationSeconds": LEASE_SECONDS,
            "renewTime": stamp,
        }
        return self._document(found, spec)

    def _release(self) -> None:
        found = self._api.get(self._path, timeout=REQUEST_SECONDS)
        if found["spec"].get("holderIdentity") == self._identity:
            spec = {**found["spec"], "holderIdentity": "", "leaseDurationSeconds": 1}
            self._api.put(self._path, self._document(found, spec), REQUEST_SECONDS)

    def _document(self, found: Document | None, spec: dict[str, Any]) -> Document:
        metadata = {"name": self._name, "namespace": self._namespace}
        kept = metadata if found is None else found["metadata"]
        return {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": kept,
            "spec": spec,
        }

"""The loop that keeps certificates good: look at everything, take one step, look again.

Only the holder of the Lease looks and writes. Each step begins from what is really there, so a
lost answer, a conflict or a restart in between needs no care of its own.
"""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from certs import given, rotation, scene
from certs.calm import Observer
from certs.holdings import LEAF, Authorities, Served
from certs.metrics import Metrics
from certs.registration import Registration
from certs.scene import Keep, Scene, Serve, Step, Terms, Trust
from certs.settings import AUTO, Settings
from certs.vault import REQUEST_SECONDS, Found, Vault
from certs.witness import Witness
from podrail_io.kube import Api, KubeError, StatusError
from podrail_io.lease import Lease

_LOG: Final = logging.getLogger(__name__)
AUTHORITIES: Final = "podrail-ca"
SERVED: Final = "podrail-tls"
REVIEWS: Final = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
MOST_STEPS: Final = 8
"""In one look: a beginning takes four."""
WAIT_SECONDS: Final = 0.2
"""How often it is looked whether the Lease is held."""
STALE_SECONDS: Final = 60.0
CONFLICT: Final = 409
SKEW_SECONDS: Final = 60.0
"""How far this machine's clock may be from the API server's before it is said."""


@dataclass(frozen=True, slots=True)
class Look:
    """What was found, and the Secrets to write over."""

    scene: Scene
    authorities: Found
    served: Found
    entries: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Times:
    """now is this machine's wall clock; clock, in seconds, never goes back."""

    now: Callable[[], datetime]
    clock: Callable[[], float]


class Keeper:
    """What is kept, by the method of the settings."""

    def __init__(self, api: Api, lease: Lease, settings: Settings, times: Times) -> None:
        namespace = settings.namespace
        self._api = api
        self._lease = lease
        self._times = times
        self._terms: Terms = settings.terms
        self._makes = settings.method == AUTO
        self._pause = settings.look_seconds
        self._authorities = Vault(api, (namespace, AUTHORITIES), "Opaque")
        self._served = Vault(api, (namespace, SERVED), "kubernetes.io/tls")
        self._registration = Registration(api, settings.registration, settings.entries)
        self._witness = Witness(api, (namespace, settings.service), settings.host, times.clock)
        self._observer = Observer(times.clock)
        self._stopping = threading.Event()
        self._looked = float("-inf")
        self._broken: tuple[str, ...] = ()
        self._told: tuple[str, ...] = ()
        self.metrics = Metrics(lambda: lease.held)

    def start(self) -> None:
        """Begin, in a thread of its own."""
        threading.Thread(target=self._run, name="keeper", daemon=True).start()

    def stop(self) -> None:
        """End after the write under way."""
        self._stopping.set()

    def problems(self) -> tuple[str, ...]:
        """Why this process does not do its work; whoever stands by has none."""
        if not self._lease.held:
            return ()
        if self._times.clock() - self._looked > max(STALE_SECONDS, 3 * self._pause):
            return ("the Secrets and the registration could not be looked at",)
        return self._broken

    def _run(self) -> None:
        pause = WAIT_SECONDS
        while not self._stopping.wait(pause):
            pause = WAIT_SECONDS
            if self._lease.held:
                self.guarded()
                pause = self._pause

    def guarded(self) -> None:
        """One look with its steps; no error ends the thread."""
        try:
            self.look()
        except KubeError as error:
            self.metrics.errors.inc()
            _LOG.warning("look not ended", extra={"problem": str(error)})
        except Exception:  # noqa: BLE001 - the outermost loop of this program
            self.metrics.faults.inc()
            _LOG.exception("look failed")

    def look(self) -> None:
        """Look, and go step by step until all is well; raises KubeError."""
        for _ in range(MOST_STEPS):
            found = self._gather()
            self._looked = self._times.clock()
            self._tell(found.scene)
            taken = self._next(found.scene)
            if taken is None or not self._lease.held:
                return
            try:
                self._take(taken, found)
            except StatusError as error:
                # Somebody wrote meanwhile: what there is now is looked at again.
                if error.status != CONFLICT:
                    raise

    def _gather(self) -> Look:
        now = self._judge()
        authorities = self._authorities.read() if self._makes else Found(None, {})
        served = self._served.read()
        live = self._registration.read()
        seen = Scene(
            now,
            Authorities.read(authorities.data),
            Served.read(served.data),
            tuple(live.values()),
            self._witness.look(),
        )
        wanted = rotation.wanted(seen) if self._makes else given.wanted(seen)
        return Look(self._observer.look(seen, wanted), authorities, served, tuple(live))

    def _judge(self) -> datetime:
        """The API server's time: it verifies the certificates, so its clock is the one to go by.

        A question about oneself is open to everybody, is kept nowhere, and is stamped.
        """
        asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        stamp = self._api.post(REVIEWS, asked, REQUEST_SECONDS)["metadata"]["creationTimestamp"]
        return datetime.strptime(stamp, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)

    def _next(self, now: Scene) -> Step | None:
        return rotation.step(now, self._terms) if self._makes else given.step(now, self._terms)

    def _take(self, taken: Step, found: Look) -> None:
        match taken:
            case Keep(authorities):
                self._authorities.write(found.authorities, authorities.data())
                self._count_promotion(found.scene.authorities, authorities)
            case Trust(bundle):
                self._registration.trust(found.entries, bundle)
                self.metrics.repairs.inc()
            case Serve(data):
                self._served.write(found.served, {**found.served.data, **data})
                if LEAF[0] in data:
                    self.metrics.rotations.labels("leaf").inc()
        _LOG.info("step taken", extra={"step": type(taken).__name__.lower()})

    def _count_promotion(self, before: Authorities, after: Authorities) -> None:
        if after.signer != before.signer:
            self.metrics.rotations.labels("authority").inc()

    def _tell(self, now: Scene) -> None:
        """Have logs, metrics and readiness say what was found."""
        local = self._times.now()
        self.metrics.tell(now, local)
        self._broken = scene.broken(now)
        told = self._wrong(now, local)
        if told and told != self._told:
            _LOG.warning("certificates", extra={"problems": "; ".join(told)})
        self._told = told
        self.metrics.problems.set(len(told))

    def _wrong(self, now: Scene, local: datetime) -> tuple[str, ...]:
        if self._makes:
            found = [*now.authorities.problems, *now.served.problems]
        else:
            found = list(given.problems(now, self._terms))
        if not now.live:
            found.append("no entry of the webhook's is registered")
        if abs((local - now.now).total_seconds()) > SKEW_SECONDS:
            found.append("this machine's clock is not the API server's")
        return tuple(found)

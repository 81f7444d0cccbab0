"""The metrics of podrail-certs."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge

from certs import chain, scene
from certs.scene import Scene

DAY: Final = timedelta(days=1)


class Metrics:
    """The metrics of the process, in a registry of their own; those of a scene are its holder's."""

    def __init__(self, active: Callable[[], bool]) -> None:
        self.registry = CollectorRegistry()
        self.days = self._gauge("days_until_expiry", "Days that are left.", "certificate")
        self.replicas = self._gauge(
            "replicas",
            "Replicas by what they serve: a leaf that each caBundle trusts, one that it does not, "
            "or unseen where they could not be asked.",
            "serves",
        )
        self.trusted = self._gauge("trusted_authorities", "CAs in the caBundle: 2 in a rotation.")
        self.problems = self._gauge(
            "problems", "What is wrong with the Secrets and not mended yet."
        )
        self.skew = self._gauge("clock_skew_seconds", "This clock less the API server's.")
        self.rotations = self._counter("rotations", "Certificates that were made.", "certificate")
        self.repairs = self._counter("bundle_writes", "Times that caBundles were written.")
        self.errors = self._counter("errors", "Looks that the API server did not let end.")
        self.faults = self._counter("faults", "Looks that ended in an error of ours.")
        self._gauge("active", "1 while this process holds the lease.").set_function(active)
        for kind in ("leaf", "authority"):
            self.rotations.labels(kind)

    def tell(self, now: Scene, local: datetime) -> None:
        """Take over what a look has found."""
        signer = now.authorities.signer
        authorities = (signer.certificate,) if signer else now.served.trusted
        ends = min((one.not_valid_after_utc for one in authorities), default=None)
        self._left("authority", ends, now.now)
        leaf = now.served.leaf
        self._left("leaf", leaf.not_valid_after_utc if leaf else None, now.now)
        trusted = scene.everywhere(now)
        good = [one for one in now.sight.leaves if chain.leads(one, now.served.between, trusted)]
        self.replicas.labels("trusted").set(len(good))
        self.replicas.labels("untrusted").set(len(now.sight.leaves) - len(good) if now.live else 0)
        self.replicas.labels("unseen").set(now.sight.unseen)
        self.trusted.set(len(trusted))
        self.skew.set((local - now.now).total_seconds())

    def _left(self, kind: str, ends: datetime | None, now: datetime) -> None:
        self.days.labels(kind).set((ends - now) / DAY if ends else float("nan"))

    def _counter(self, name: str, told: str, *labels: str) -> Counter:
        return Counter(f"podrail_certs_{name}_total", told, labels, registry=self.registry)

    def _gauge(self, name: str, told: str, *labels: str) -> Gauge:
        return Gauge(f"podrail_certs_{name}", told, labels, registry=self.registry)

"""The webhook's metrics; no label holds what a user wrote."""

from prometheus_client import CollectorRegistry, Counter, Histogram

from podrail.admission.decision import Answer, Verdict
from podrail_io import validity
from podrail_io.tls import Certificates


class Metrics:
    """The metrics of one worker process, in a registry of their own."""

    def __init__(self, certificates: Certificates | None) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "podrail_admission_requests_total",
            "Admission requests by what became of the pod, and the code of the reason if any.",
            ["result", "reason"],
            registry=self.registry,
        )
        self._injections = Counter(
            "podrail_injections_total",
            "What pods were given: networks, devices by resource, variables, late annotations.",
            ["kind"],
            registry=self.registry,
        )
        self.refused = Counter(
            "podrail_requests_refused_total",
            "Bodies that were no admission review.",
            registry=self.registry,
        )
        self.seconds = Histogram(
            "podrail_admission_duration_seconds",
            "Time from a body to its answer.",
            buckets=(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5),
            registry=self.registry,
        )
        for verdict in Verdict:
            self._requests.labels(verdict.value, "")
        validity.export(certificates, self.registry)

    def count(self, answer: Answer) -> None:
        """Count an answer, and what its pod was given."""
        self._requests.labels(answer.verdict.value, answer.code).inc()
        marker = answer.marker
        if marker is None or not marker.injected:
            return
        given = {
            "networks": len(marker.networks),
            "resources": sum(marker.resources.values()),
            "variables": len(marker.env),
            "late": len(marker.late),
        }
        for kind, many in given.items():
            self._injections.labels(kind).inc(many)

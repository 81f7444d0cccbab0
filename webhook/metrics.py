"""The webhook's metrics; no label holds what a user wrote."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from podrail.admission import Verdict
from podrail_io.tls import Certificates


class Metrics:
    """The metrics of one worker process, in a registry of their own."""

    def __init__(self, certificates: Certificates | None) -> None:
        self.registry = CollectorRegistry()
        self.admissions = Counter(
            "podrail_admissions_total",
            "Admission requests by verdict.",
            ["verdict"],
            registry=self.registry,
        )
        self.refused = Counter(
            "podrail_requests_refused_total",
            "Bodies that were no admission review.",
            registry=self.registry,
        )
        self.seconds = Histogram(
            "podrail_admission_seconds",
            "Time from a body to its answer.",
            buckets=(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5),
            registry=self.registry,
        )
        for verdict in Verdict:
            self.admissions.labels(verdict.value)
        if certificates is not None:
            expiry = Gauge(
                "podrail_certificate_not_after_seconds",
                "When the served certificate expires.",
                registry=self.registry,
            )
            expiry.set_function(lambda: certificates.not_after)
            errors = Gauge(
                "podrail_certificate_reload_errors",
                "Changes of the certificate files that could not be loaded.",
                registry=self.registry,
            )
            errors.set_function(lambda: certificates.reload_errors)

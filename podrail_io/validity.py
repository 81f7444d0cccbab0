"""How long the served certificate is good, as metrics and as a reason not to be asked."""

from collections.abc import Iterable, Sequence

from prometheus_client import CollectorRegistry, Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from podrail_io.tls import Certificates


def export(certificates: Certificates | None, registry: CollectorRegistry) -> None:
    """Have metrics of the certificate in a registry, as it is at each scrape; None serves none."""
    if certificates is not None:
        registry.register(_Served(certificates))


def problems(certificates: Certificates | None) -> Sequence[str]:
    """Why nobody could speak to the server; empty if its certificate is good, or it needs none."""
    if certificates is not None and certificates.expired:
        return ("the certificate has expired",)
    return ()


class _Served(Collector):
    def __init__(self, certificates: Certificates) -> None:
        self._certificates = certificates

    def collect(self) -> Iterable[Metric]:
        yield GaugeMetricFamily(
            "podrail_cert_expiry_timestamp_seconds",
            "When the served certificate expires.",
            self._certificates.not_after,
        )
        yield CounterMetricFamily(
            "podrail_cert_reload_errors",
            "Changes of the certificate files that could not be loaded.",
            self._certificates.reload_errors,
        )

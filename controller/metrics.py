"""The controller's metrics; no label holds what a user wrote."""

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge


class Metrics:
    """The metrics of the process, in a registry of their own."""

    def __init__(self, active: Callable[[], bool], age: Callable[[], float]) -> None:
        self.registry = CollectorRegistry()
        self.active = active
        self.writes = self._counter("status_writes", "Statuses that were written.")
        self.errors = self._counter("status_errors", "Statuses the API server did not take.")
        self.faults = self._counter("faults", "Rounds that ended in an error of ours.")
        self.templates = self._counter("claim_templates", "Claim templates that were made.")
        self.template_errors = self._counter(
            "claim_template_errors", "Claim templates the API server did not take."
        )
        self.reports = self._counter("reports", "Reports that were written on pods.")
        self.report_errors = self._counter(
            "report_errors", "Reports and Events the API server did not take."
        )
        self.outcomes = Counter(
            "podrail_controller_outcomes_total",
            "Outcomes of pods that were told by an Event.",
            ["profile", "outcome"],
            registry=self.registry,
        )
        self.profiles = Gauge(
            "podrail_controller_profiles",
            "FabricProfiles by what their Ready condition says.",
            ["ready"],
            registry=self.registry,
        )
        for ready in ("True", "False"):
            self.profiles.labels(ready)
        self.gauge("active", "1 while this process holds the lease.", active)
        self.gauge("cache_age_seconds", "Seconds since the API server was last heard.", age)

    def _counter(self, name: str, told: str) -> Counter:
        return Counter(f"podrail_controller_{name}_total", told, registry=self.registry)

    def gauge(self, name: str, told: str, value: Callable[[], float]) -> None:
        """Have a value as the gauge podrail_controller_<name>."""
        gauge = Gauge(f"podrail_controller_{name}", told, registry=self.registry)
        gauge.set_function(value)

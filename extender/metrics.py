"""The extender's metrics; no label holds what a user wrote."""

from collections.abc import Callable, Iterable, Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector


class Metrics:
    """The metrics of the process, in a registry of their own."""

    def __init__(self, age: Callable[[], float], synced: Callable[[], bool]) -> None:
        self.registry = CollectorRegistry()
        self.seconds = Histogram(
            "podrail_extender_duration_seconds",
            "Time of a call, from body to answer.",
            ["verb"],
            buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2),
            registry=self.registry,
        )
        told = "Calls of kube-scheduler by what came of them."
        self.requests = self._counter("podrail_extender_requests", told, "verb", "result")
        told = "Nodes refused in filter calls, by reason."
        self.misfits = self._counter("podrail_nodes_refused", told, "reason")
        told = (
            "Pods that were bound, by how much of the alignment that their node's shape offers is "
            "expected; unscored where nothing is known or the pod is not ours."
        )
        self.placements = self._counter("podrail_placements", told, "alignment")
        told = (
            "Binds: placed; plain for a pod that is not ours or not known; stripped where the API "
            "server refused the annotations."
        )
        self.binds = self._counter("podrail_binds", told, "kind")
        told = "Bindings the API server did not take."
        self.bind_errors = self._counter("podrail_bind_errors", told)
        told = "Pods whose rails were in use by others when they were bound."
        self.conflicts = self._counter("podrail_rail_conflicts", told)
        told = "Nodes nominated for waiting pods of large jobs: made, failed, withdrawn."
        self.nominations = self._counter("podrail_nominations", told, "result")
        told = "Calls answered neutrally: the view of the cluster was too old."
        self.stale = self._counter("podrail_stale_calls", told)
        told = (
            "Prioritize calls in which all nodes are the same: the view is stale, the pod was not "
            "injected, or no candidate's topology is known."
        )
        self.unscored = self._counter("podrail_unscored_calls", told, "reason")
        self._gauge("cache_age_seconds", "Seconds since the API server was last heard.", age)
        self._gauge("cache_synced", "1 once all nodes and pods have been seen.", synced)

    def export_nodes(self, counted: Callable[[], Mapping[str, int]]) -> None:
        """Have the number of nodes by what is known of them, as it is at each scrape."""
        self.registry.register(_Nodes(counted))

    def count_unscored(self, why: str) -> None:
        """Count a prioritize call in which all nodes are the same."""
        self.unscored.labels(why).inc()

    def _counter(self, name: str, told: str, *labels: str) -> Counter:
        return Counter(f"{name}_total", told, labels, registry=self.registry)

    def _gauge(self, name: str, told: str, value: Callable[[], float]) -> None:
        Gauge(f"podrail_{name}", told, registry=self.registry).set_function(value)


class _Nodes(Collector):
    """How many nodes there are in each state."""

    def __init__(self, counted: Callable[[], Mapping[str, int]]) -> None:
        self._counted = counted

    def collect(self) -> Iterable[Metric]:
        told = "Nodes by the evidence that their topology is known by; none where it is not."
        family = GaugeMetricFamily("podrail_nodes", told, labels=["state"])
        for state, many in self._counted().items():
            family.add_metric([state], many)
        yield family

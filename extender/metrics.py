"""The extender's metrics; no label holds what a user wrote."""

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram


class Metrics:
    """The metrics of the process, in a registry of their own."""

    def __init__(self, age: Callable[[], float], synced: Callable[[], bool]) -> None:
        self.registry = CollectorRegistry()
        self.seconds = Histogram(
            "podrail_extender_seconds",
            "Time of a call, from body to answer.",
            ["verb"],
            buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2),
            registry=self.registry,
        )
        self.misfits = self._counter(
            "nodes_refused", "Nodes refused in filter calls, by reason.", "reason"
        )
        self.binds = self._counter(
            "binds",
            "Binds: placed; plain for a pod that is not ours or not known; stripped where the API "
            "server refused the annotations.",
            "kind",
        )
        self.bind_errors = self._counter("bind_errors", "Bindings the API server did not take.")
        self.conflicts = self._counter(
            "rail_conflicts", "Pods whose rails were in use by others when they were bound."
        )
        self.stale = self._counter(
            "stale_calls", "Calls answered neutrally: the view of the cluster was too old."
        )
        self.unscored = self._counter(
            "unscored_calls",
            "Prioritize calls in which all nodes are the same: the view is stale, the pod was not "
            "injected, or no candidate's topology is known.",
            "reason",
        )
        self._gauge("cache_age_seconds", "Seconds since the API server was last heard.", age)
        self._gauge("cache_synced", "1 once all nodes and pods have been seen.", synced)

    def count_unscored(self, why: str) -> None:
        """Count a prioritize call in which all nodes are the same."""
        self.unscored.labels(why).inc()

    def _counter(self, name: str, told: str, *labels: str) -> Counter:
        return Counter(f"podrail_{name}_total", told, labels, registry=self.registry)

    def _gauge(self, name: str, told: str, value: Callable[[], float]) -> None:
        Gauge(f"podrail_{name}", told, registry=self.registry).set_function(value)

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
        self.misfits = Counter(
            "podrail_nodes_refused_total",
            "Nodes refused in filter calls, by reason.",
            ["reason"],
            registry=self.registry,
        )
        self.binds = Counter(
            "podrail_binds_total",
            "Binds: placed; plain for a pod that is not ours or not known; stripped where the API "
            "server refused the annotations.",
            ["kind"],
            registry=self.registry,
        )
        self.bind_errors = Counter(
            "podrail_bind_errors_total",
            "Bindings that the API server did not take.",
            registry=self.registry,
        )
        self.conflicts = Counter(
            "podrail_rail_conflicts_total",
            "Pods whose rails were in use by others when they were bound.",
            registry=self.registry,
        )
        self.stale = Counter(
            "podrail_stale_calls_total",
            "Calls answered neutrally because the view of the cluster was too old.",
            registry=self.registry,
        )
        Gauge(
            "podrail_cache_age_seconds",
            "Seconds since the API server was last heard.",
            registry=self.registry,
        ).set_function(age)
        Gauge(
            "podrail_cache_synced",
            "1 once all nodes and pods have been seen.",
            registry=self.registry,
        ).set_function(lambda: float(synced()))

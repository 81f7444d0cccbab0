"""How many pods have which outcome, and what their rails are worth against what was expected."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from podrail.audit.outcome import Report


@dataclass(frozen=True, slots=True)
class _Entry:
    """What one pod adds."""

    profile: str
    outcome: str
    expected: float | None
    observed: float | None


class Census(Collector):
    """The counts, kept as pods come and go; exported only while this process is the active one."""

    def __init__(self, active: Callable[[], bool], known: Callable[[str], str]) -> None:
        self._active = active
        self._known = known
        self._entries: dict[str, _Entry] = {}
        self._pods: Counter[tuple[str, str]] = Counter()
        self._worth: dict[str, tuple[int, float, float]] = {}

    def put(self, key: str, report: Report | None) -> None:
        """Count a pod by its report in place of its last one; None: it is gone."""
        before = self._entries.pop(key, None)
        if before is not None:
            self._add(before, -1)
        if report is not None:
            expected = None if report.forecast is None else report.forecast.worth
            observed = None if report.observed is None else report.observed.worth
            entry = _Entry(self._known(report.profile), report.outcome, expected, observed)
            self._entries[key] = entry
            self._add(entry, 1)

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """The metrics."""
        pods = GaugeMetricFamily(
            "podrail_controller_pods", "Pods by outcome.", labels=["profile", "outcome"]
        )
        worth = GaugeMetricFamily(
            "podrail_controller_worth",
            "The mean worth of pods' rails, from 0 to 1, as expected at their placement and as "
            "observed; of pods where both are known.",
            labels=["profile", "side"],
        )
        if self._active():
            for (profile, outcome), count in sorted(self._pods.copy().items()):
                pods.add_metric([profile, outcome], count)
            for profile, (count, expected, observed) in sorted(self._worth.copy().items()):
                worth.add_metric([profile, "expected"], expected / count)
                worth.add_metric([profile, "observed"], observed / count)
        yield pods
        yield worth

    def _add(self, entry: _Entry, by: int) -> None:
        which = (entry.profile, entry.outcome)
        self._pods[which] += by
        if not self._pods[which]:
            del self._pods[which]
        if entry.expected is None or entry.observed is None:
            return
        count, expected, observed = self._worth.pop(entry.profile, (0, 0.0, 0.0))
        if count + by:
            sums = (expected + by * entry.expected, observed + by * entry.observed)
            self._worth[entry.profile] = (count + by, *sums)

"""Reports on pods: what each was promised and what it got, in its annotation and by Events.

Nothing waits for a report. Writes are few a second, bad news first; who does not hold the lease
only looks, so that it knows all when it takes over.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from controller import events, guard
from controller.agenda import Agenda
from controller.agents import Agents
from controller.census import Census
from controller.docket import Docket
from controller.metrics import Metrics
from controller.pace import Pace
from controller.scribe import AwayError, Scribe
from podrail.audit import record
from podrail.audit.outcome import Outcome, Report
from podrail.audit.record import Entry
from podrail.audit.subject import Subject

LOOK_SECONDS: Final = 0.2
MOST_WRITES: Final = 4
"""In each look: 20 pods a second, so that 50,000 new ones take three quarters of an hour."""
AWAY_SECONDS: Final = 5.0
"""The pause after an API server that could not be written to."""
AGENTS_SECONDS: Final = 10.0
PATIENCE_SECONDS: Final = 120.0
"""How long after its start a pod may be unknown before it is told so: agents look each 5 s."""
NEWS_SECONDS: Final = 600.0
"""That an older pod is as it should be is written down, but no Event tells it."""


@dataclass(frozen=True, slots=True)
class Clocks:
    """clock never goes back; now is seconds since the epoch; stamp is that as RFC 3339."""

    clock: Callable[[], float]
    now: Callable[[], float]
    stamp: Callable[[], str]


class Reporter:
    """The loop."""

    def __init__(
        self, docket: Docket, agents: Agents, scribe: Scribe, metrics: Metrics, clocks: Clocks
    ) -> None:
        self._docket = docket
        self._agents = agents
        self._scribe = scribe
        self._metrics = metrics
        self._clocks = clocks
        self._agenda = Agenda()
        self._pace = Pace(clocks.clock)
        self._census = Census(metrics.active, docket.rules.known)
        self._changed: set[str] = set()
        self._written: dict[str, tuple[str, Entry]] = {}
        self._agents_due = clocks.clock()
        self._stopping = threading.Event()
        metrics.registry.register(self._census)
        metrics.gauge("reports_waiting", "Reports to be written.", self._agenda.__len__)
        told = "Nodes whose agents have been silent for too long."
        metrics.gauge("stale_agents", told, lambda: len(agents.silent))

    def start(self) -> None:
        """Begin to follow the cluster and to report, in threads of its own."""
        self._docket.start()
        threading.Thread(target=self._run, name="reporter", daemon=True).start()

    def stop(self) -> None:
        """End after the write under way."""
        self._stopping.set()
        self._docket.stop()

    def _run(self) -> None:
        pause = LOOK_SECONDS
        while not self._stopping.wait(pause):
            done = guard.guarded(self.round, self._metrics.faults)
            pause = LOOK_SECONDS if done else AWAY_SECONDS

    def round(self) -> bool:
        """Look at what changed and write what is due; False if nothing can be written now."""
        self._changed |= self._docket.changed()
        while self._changed:
            # One by one, so that a fault of ours costs the look at one pod.
            self._consider(self._changed.pop())
        if self._docket.problems():
            return True
        now = self._clocks.clock()
        if now >= self._agents_due:
            self._agents_due = now + AGENTS_SECONDS
            self._agents.look(self._docket.rails.items(), self._clocks.now())
        if not self._metrics.active():
            return True
        try:
            self._write_some()
        except AwayError:
            return False
        return True

    def _consider(self, key: str) -> None:
        """Count the pod, and put what there is to say of it on the agenda."""
        pod = self._docket.pods.get(key)
        report = None if pod is None else self._docket.report(pod)
        self._census.put(key, report)
        if pod is None:
            self._written.pop(key, None)
        if pod is None or report is None or self._entry(pod, report) is None:
            self._agenda.drop(key)
            return
        due = self._pace.due(key)
        if report.outcome is Outcome.UNKNOWN and pod.started is not None:
            waited = self._clocks.now() - pod.started
            due = max(due, self._clocks.clock() + PATIENCE_SECONDS - waited)
        self._agenda.put(key, due, urgent=report.outcome is not Outcome.ALIGNED)

    def _entry(self, pod: Subject, report: Report) -> Entry | None:
        """What to write; what the watch does not show yet counts as told."""
        before = pod.told
        uid, written = self._written.get(pod.key, ("", None))
        if written is not None and uid == pod.uid and written.told.number > before.number:
            before = written.told
        else:
            self._written.pop(pod.key, None)
        old = pod.started is not None and self._clocks.now() - pod.started > NEWS_SECONDS
        stale = old and report.outcome is Outcome.ALIGNED and not before.number
        return record.entry(report, before, self._clocks.stamp(), news=not stale)

    def _write_some(self) -> None:
        for _ in range(MOST_WRITES):
            key = self._agenda.take(self._clocks.clock())
            if key is None:
                break
            try:
                self._write(key)
            except AwayError:
                self._pace.failed(key)
                self._consider(key)
                raise
        for silence in self._agents.news(self._clocks.now())[:MOST_WRITES]:
            self._scribe.tell(self._agents.event(silence, self._clocks.stamp()))
            self._agents.told(silence)

    def _write(self, key: str) -> None:
        """Say what there is to say of a pod by now, which may be nothing."""
        pod = self._docket.pods.get(key)
        report = None if pod is None else self._docket.report(pod)
        entry = None if pod is None or report is None else self._entry(pod, report)
        if pod is None or report is None or entry is None:
            return
        if entry.event is not None:
            event = events.of_pod(pod, report, entry.event, self._clocks.stamp())
            self._scribe.tell(event)
        if not self._scribe.annotate(pod, entry.text):
            self._pace.failed(key)
            self._consider(key)
            return
        self._pace.done(key)
        self._written[key] = (pod.uid, entry)
        if entry.event is not None:
            profile = self._docket.rules.known(report.profile)
            self._metrics.outcomes.labels(profile, report.outcome.value).inc()

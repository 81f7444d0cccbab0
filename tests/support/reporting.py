"""A reporter on a small API server, whose rounds and time a test moves."""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import random
import time
from typing import TYPE_CHECKING, Any

import audited
import builders
import reports_api
from reports_api import PODS, ReportsApi

from controller.agents import Agents
from controller.docket import NAMESPACES, RAILS, Docket, Rules
from controller.metrics import Metrics
from controller.reporter import Clocks, Reporter
from controller.scribe import Scribe
from podrail import names
from podrail.audit import sight, subject
from podrail.evidence import noderails
from podrail_io.kube import Api
from podrail_io.lease import Lease, Surroundings
from podrail_io.reflector import World

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from podrail.evidence.noderails import NodeRails

LEASE = "/apis/coordination.k8s.io/v1/namespaces/home/leases/podrail-controller"


def eventually(holds: Callable[[], bool], seconds: float = 15) -> bool:
    """Whether something comes true in time."""
    end = time.monotonic() + seconds
    while not holds() and time.monotonic() < end:
        time.sleep(0.02)
    return holds()


class Desk:
    """All that a reporter has around it."""

    def __init__(self, server: ReportsApi, identity: str = "me") -> None:
        self.server = server
        self.seconds = 30.0
        """How long after the pods' start it is."""
        self.profiles = builders.shipped()
        self.nodes = {audited.NODE: "uid-n1"}
        api = Api.connect(server=server.url)
        chance = random.SystemRandom().random
        around = Surroundings(
            time.monotonic, lambda: dt.datetime(2026, 1, 1, tzinfo=dt.UTC), chance
        )
        self.lease = Lease(api, ("home", "podrail-controller"), identity, around)
        self.metrics = Metrics(lambda: self.lease.held, lambda: 0.0)
        rules = Rules(frozenset({"podrail"}), "podrail-system", lambda: self.profiles)
        self.docket = Docket(api, World(time.monotonic, chance), rules)
        clocks = Clocks(
            lambda: self.seconds,
            lambda: audited.STARTED + self.seconds,
            lambda: f"T{self.seconds:.0f}",
        )
        scribe = Scribe(api, self.lease, self.metrics)
        agents = Agents(900, self.nodes.get)
        self.reporter = Reporter(self.docket, agents, scribe, self.metrics, clocks)

    def follow(self) -> None:
        """See the whole cluster, and hold the lease if nobody does."""
        self.follow_only()
        self.lease._guarded(self.lease._round)

    def follow_only(self) -> None:
        """See the whole cluster."""
        self.docket.start()
        assert eventually(lambda: not self.docket.problems())

    def stop(self) -> None:
        """End all threads."""
        self.reporter.stop()
        self.lease.stop()

    def after(self, seconds: float, rounds: int = 1) -> bool:
        """Whether all rounds went well after so much time, with all that happened seen."""
        assert eventually(self._current)
        self.seconds += seconds
        return all(self.reporter.round() for _ in range(rounds))

    def _current(self) -> bool:
        """Whether the watches have brought all that the server has."""
        kept = self.docket.pods.items()
        return all(
            _same(kept.get(f"{one['metadata']['namespace']}/{one['metadata']['name']}"), one)
            for path, one in self.server.objects.items()
            if path.startswith(f"{PODS}/")
        ) and all(
            _seen(self.docket.rails.get(path.rpartition("/")[2]), one)
            for path, one in self.server.objects.items()
            if path.startswith(f"{RAILS}/")
        )

    def put(self, *documents: dict[str, Any]) -> None:
        """Have pods on the server."""
        for one in documents:
            self.server.put(f"{PODS}/{one['metadata']['name']}", one)

    def see(self, found: NodeRails) -> None:
        """Have the agent write what it sees."""
        self.server.put(f"{RAILS}/{found.name}", audited.written(found))

    def said(self, pod: str = "worker-0") -> dict[str, Any]:
        """The report on a pod; empty if there is none."""
        found: dict[str, Any] = json.loads(self.server.note(pod, names.OBSERVED) or "{}")
        return found

    def told(self) -> list[tuple[str, int]]:
        """The reasons and counts of the Events."""
        return sorted((one["reason"], one["count"]) for one in self.server.told.values())

    def metric(self, name: str, **labels: str) -> float | None:
        """A metric of the controller."""
        return self.metrics.registry.get_sample_value(f"podrail_controller_{name}", labels)


def _same(kept: Any, pod: dict[str, Any]) -> bool:
    found = subject.kept(pod)
    return bool(kept == found)


def _seen(kept: Any, rails: dict[str, Any]) -> bool:
    found = sight.of(noderails.read({**rails, "metadata": {"name": "n1"}}))
    return found is not None and kept is not None and bool(kept.observed_at == found.observed_at and kept.ports == found.ports and kept.pods == found.pods)  # fmt: skip


@contextlib.contextmanager
def desk() -> Iterator[Desk]:
    """A reporter on a server that serves its kinds, for the length of a block."""
    with reports_api.serving() as server:
        server.served |= {PODS, RAILS, NAMESPACES}
        found = Desk(server)
        try:
            yield found
        finally:
            found.stop()

"""Nominations: once a large job is being bound, the nodes of its other pods are written ahead.

kube-scheduler tries a pod's status.nominatedNodeName before it looks at all nodes, and takes it if
it fits (1.22). So the pods of a job cost a look at one node each. The nodes are those that a look
at all of them would have led to; a nomination that does not fit costs that look, as before.
"""

import logging
import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from extender import holding
from extender.asking import Desk
from extender.cluster import Cluster
from extender.judge import Judge
from extender.known import NOMINATOR, Known
from extender.metrics import Metrics
from podrail_io.kube import Api, KubeError, StatusError

_LOG: Final = logging.getLogger(__name__)
FEWEST_NODES: Final = 500
"""In a smaller cluster a look at all nodes costs no more than the write: tried with eight rails."""
SKIPPED: Final = 16
"""The pods that came first are taken before a nomination would reach kube-scheduler."""
FEWEST_PODS: Final = 48
"""With fewer besides those, the job is bound before a nomination is of use."""
MOST_PODS: Final = 256
"""In one round: what happens meanwhile is taken into account in the next."""
SWEEP_SECONDS: Final = 5.0
PAUSE_SECONDS: Final = 0.2
"""Between two rounds: a job whose pods are bound by the dozen is looked at a few times a second."""
WITHOUT_RIGHT_SECONDS: Final = 600.0
"""How long nobody is nominated after the API server said that we may not."""
WRITERS: Final = 4
"""Writes at once, so that they come before kube-scheduler also at an API server under load."""
_WRITE_SECONDS: Final = 2.0
_FORBIDDEN, _BUSY = 403, 429
_SERVER: Final = 500


@dataclass(slots=True)
class Nominator:
    """Nominates in a thread of its own, told of each bind, so that no call waits for it."""

    api: Api
    cluster: Cluster
    desk: Desk
    judge: Judge
    scheduler: str
    metrics: Metrics
    clock: Callable[[], float]
    seconds: float
    """Nominations of a job of which no pod was bound for so long are withdrawn."""
    _writers: ThreadPoolExecutor = field(default_factory=partial(ThreadPoolExecutor, WRITERS))
    _told: "queue.SimpleQueue[str]" = field(default_factory=queue.SimpleQueue)
    _not_before: float = 0.0
    _swept: float = 0.0

    def start(self) -> None:
        """Begin, in a thread that never keeps the process alive."""
        threading.Thread(target=self._run, name="nominator", daemon=True).start()

    def taken(self, job: str) -> None:
        """Hear that a pod of a job is about to be bound."""
        self._told.put(job)

    def _run(self) -> None:
        while True:
            try:
                self.round()
            except Exception:  # noqa: BLE001 - a plan that fails costs speed, and must end nothing
                _LOG.exception("nominator fault")
            time.sleep(PAUSE_SECONDS)

    def round(self) -> None:
        """Wait for binds, and do what is due."""
        with suppress(queue.Empty):
            jobs = {self._told.get(timeout=SWEEP_SECONDS)}
            while not self._told.empty():
                jobs.add(self._told.get())
            for job in jobs:
                self.nominate(job)
        if self.clock() - self._swept >= SWEEP_SECONDS:
            self._swept = self.clock()
            self.withdraw()

    def nominate(self, job: str) -> None:
        """Nominate the job's pods, if there are enough of them and of nodes."""
        asked = self.judge.lately(job)
        if asked is None or not asked.kind or self.clock() < self._not_before:
            return
        if len(self.cluster.survey.nodes.view) < FEWEST_NODES:
            return
        ahead, left = 0, list[tuple[str, Known]]()
        for key, pod in self.cluster.waiting.of(job).items():
            if self.cluster.planned(pod.uid):
                ahead += 1
            elif pod.kind == asked.kind:
                left.append((key, pod))
        left = left[max(SKIPPED - ahead, 0) :][:MOST_PODS]
        if len(left) < FEWEST_PODS:
            return
        while left:
            nodes = self.judge.best(left[0][1], asked.nodes)
            left = left[len(nodes) :] if nodes and self._each(left, nodes) else []

    def withdraw(self) -> None:
        """Take back the nominations of jobs that got no further in time."""
        for key, pod in self.cluster.waiting.stuck(self.clock() - self.seconds):
            error = self._write(key, {"uid": pod.uid}, {})
            self.metrics.nominations.labels("withdrawn" if error is None else "failed").inc()

    def _each(self, pods: Sequence[tuple[str, Known]], nodes: Sequence[str]) -> bool:
        """Nominate a pod for each node; False if there is no use in going on."""
        return all(list(self._writers.map(self._one, pods, nodes)))

    def _one(self, named: tuple[str, Known], node: str) -> bool:
        key, pod = named
        wanted = holding.of(pod, self.desk, self.scheduler)
        if wanted is None:
            return False
        tenant = self.cluster.tenant(key, node, wanted.held, planned=True)
        if not self.cluster.plan(pod.uid, tenant, lambda spot: wanted.rails(spot).rails):
            return True
        # Whoever changed the pod since, by binding it most of all, makes this write fail.
        version = wanted.document["metadata"].get("resourceVersion")
        about = {"uid": pod.uid, "resourceVersion": version}
        error = self._write(key, about, {"nominatedNodeName": node})
        self.metrics.nominations.labels("made" if error is None else "failed").inc()
        if error is None:
            return True
        self.cluster.give_up(pod.uid)
        return self._goes_on(error)

    def _goes_on(self, error: KubeError) -> bool:
        """Whether the next pod may fare better."""
        if not isinstance(error, StatusError) or error.status == _BUSY or error.status >= _SERVER:
            return False
        if error.status == _FORBIDDEN:
            self._not_before = self.clock() + WITHOUT_RIGHT_SECONDS
            _LOG.warning("no right to nominate", extra={"problem": str(error)})
            return False
        return True

    def _write(
        self, key: str, about: Mapping[str, Any], status: Mapping[str, str]
    ) -> KubeError | None:
        """What the API server has against a pod's status as far as it is ours."""
        namespace, _, name = key.partition("/")
        body = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": namespace, **about},
            "status": dict(status),
        }
        path = f"/api/v1/namespaces/{namespace}/pods/{name}/status"
        try:
            self.api.apply(path, body, NOMINATOR, timeout=_WRITE_SECONDS)
        except KubeError as error:
            return error
        return None

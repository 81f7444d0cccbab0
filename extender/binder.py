"""The bind: choose the rails, then create the Binding that carries them into the pod.

Bind never refuses for a reason of podrail's own: an error of an ignorable extender only makes
kube-scheduler bind the pod itself, without its placement.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from extender import holding
from extender.announcer import Announcer
from extender.asking import Desk
from extender.cluster import Cluster
from extender.holding import Holding
from extender.metrics import Metrics
from extender.node import Spot
from podrail import binding, names, placement
from podrail.extension import Bind
from podrail.placement import Alignment, Choice
from podrail.score.choice import Rails
from podrail_io.kube import Api, KubeError, StatusError

_LOG: Final = logging.getLogger(__name__)
DEADLINE_SECONDS: Final = 1.5
"""For all of a bind; below kube-scheduler's httpTimeout of 2 s, so that it hears of a slow API
server from us."""
WAIT_SECONDS: Final = 0.3
_CONTENT: Final = frozenset({400, 413, 422})
"""Answers that may be about the annotations."""
_UNSURE: Final = 500
"""From here on, and without an answer, the Binding may have been made all the same."""


@dataclass(frozen=True, slots=True)
class Binder:
    """What a bind needs."""

    api: Api
    cluster: Cluster
    desk: Desk
    scheduler: str
    metrics: Metrics
    announcer: Announcer
    clock: Callable[[], float]
    taken: Callable[[str], None]
    """Told of the job of each pod that is about to be bound to its place."""

    def bind(self, asked: Bind) -> str:
        """Bind the pod; what went wrong comes back, empty if nothing did."""
        began = self.clock()
        until = began + DEADLINE_SECONDS
        plan = self._plan(asked)
        kind, annotations = plan.kind, plan.annotations
        error = self._attempt(asked, annotations, until)
        if annotations and isinstance(error, StatusError) and error.status in _CONTENT:
            _LOG.error("annotations refused", extra={"uid": asked.uid, "problem": str(error)})
            kind = "stripped"
            error = self._attempt(asked, {}, until)
        if error is None:
            self.metrics.binds.labels(kind).inc()
            self.metrics.placements.labels(plan.alignment.value).inc()
            told = {"uid": asked.uid, "namespace": asked.namespace, "pod": asked.name}
            told |= {"node": asked.node, "kind": kind, "alignment": plan.alignment.value}
            _LOG.info("pod bound", extra={**told, "ms": round((self.clock() - began) * 1000, 3)})
            if plan.conflict:
                self._tell_conflict(asked)
            return ""
        if isinstance(error, StatusError) and error.status < _UNSURE:
            self.cluster.abandon(asked.uid)
        self.metrics.bind_errors.inc()
        _LOG.warning("bind failed", extra={"uid": asked.uid, "problem": str(error)})
        return "the API server did not take the binding"

    def _plan(self, asked: Bind) -> "_Plan":
        """What the Binding carries. What the pod takes is counted before anything else is done."""
        key = f"{asked.namespace}/{asked.name}"
        # kube-scheduler's watch may be ahead of ours.
        pod = self.cluster.pods.get(key) or self.cluster.pods.wait_for(key, WAIT_SECONDS)
        if pod is None or pod.uid != asked.uid:
            return _PLAIN
        wanted, made = holding.of(pod, self.desk, self.scheduler), list[Rails]()
        if wanted is None:
            return _PLAIN

        def pick(spot: Spot) -> tuple[int, ...]:
            made.append(wanted.rails(spot))
            return made[0].rails

        tenant = self.cluster.tenant(key, asked.node, wanted.held)
        spot = self.cluster.hold(asked.uid, tenant, pick)
        self.taken(wanted.wish.job.key)
        return _planned(asked.node, wanted, spot, made[0])

    def _tell_conflict(self, asked: Bind) -> None:
        self.metrics.conflicts.inc()
        _LOG.warning("rails are shared", extra={"uid": asked.uid, "node": asked.node})
        self.announcer.shared(asked)

    def _attempt(
        self, asked: Bind, annotations: Mapping[str, str], until: float
    ) -> KubeError | None:
        """What the API server has against the Binding; None if it took it."""
        metadata: dict[str, Any] = {
            "name": asked.name,
            "namespace": asked.namespace,
            # The API server refuses a Binding whose UID is another pod's of the same name.
            "uid": asked.uid,
        }
        if annotations:
            metadata["annotations"] = dict(annotations)
        body = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": metadata,
            "target": {"apiVersion": "v1", "kind": "Node", "name": asked.node},
        }
        path = f"/api/v1/namespaces/{asked.namespace}/pods/{asked.name}/binding"
        try:
            self.api.post(path, body, timeout=until - self.clock())
        except KubeError as error:
            return error
        return None


@dataclass(frozen=True, slots=True)
class _Plan:
    """A bind's kind, for the metric, the annotations it carries, and whether rails are shared."""

    kind: str
    annotations: Mapping[str, str]
    conflict: bool = False
    alignment: Alignment = Alignment.UNSCORED


_PLAIN: Final = _Plan("plain", {})


def _planned(node: str, wanted: Holding, spot: Spot, made: Rails) -> _Plan:
    """The annotations of a pod whose rails are chosen."""
    wish, fabric = wanted.wish, wanted.fabric
    rails, annotations = made.rails, dict[str, str]()
    if fabric is not None:
        picked = Choice(rails, None, made.conflict)
        late = binding.late(wanted.document, wish, fabric, spot.standing.labels, picked)
        annotations |= late.annotations
        # The user, or the size, may have left other rails in the pod than were chosen.
        rails = late.rails
    choice = placement.chosen(spot.state, wish, fabric, rails, conflict=made.conflict)
    score = None
    if spot.state is not None:
        score = placement.score(spot.state, wish, fabric, spot.kin, spot.near)
    topology = spot.standing.topology
    annotations[names.PLACEMENT] = placement.record(node, topology, wish, choice, score)
    return _Plan("placed", annotations, made.conflict, placement.alignment(choice))

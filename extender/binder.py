"""The bind: choose the rails, then create the Binding that carries them into the pod.

Bind never refuses for a reason of podrail's own: an error of an ignorable extender only makes
kube-scheduler bind the pod itself, without its placement.
"""

import logging
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from extender.cluster import Cluster, Node
from extender.metrics import Metrics
from podrail import binding, names, placement
from podrail.extension import Bind
from podrail.fabric import Profile
from podrail.placement import Choice, Wish
from podrail.score import state
from podrail.score.state import State
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
    profiles: Callable[[], Mapping[str, Profile]]
    scheduler: str
    hold_seconds: int
    metrics: Metrics
    clock: Callable[[], float]

    def bind(self, asked: Bind) -> str:
        """Bind the pod; what went wrong comes back, empty if nothing did."""
        until = self.clock() + DEADLINE_SECONDS
        kind, annotations = self._plan(asked)
        error = self._attempt(asked, annotations, until)
        if annotations and isinstance(error, StatusError) and error.status in _CONTENT:
            _LOG.error("annotations refused", extra={"uid": asked.uid, "problem": str(error)})
            kind = "stripped"
            error = self._attempt(asked, {}, until)
        if error is None:
            self.metrics.binds.labels(kind).inc()
            return ""
        if isinstance(error, StatusError) and error.status < _UNSURE:
            self.cluster.abandon(asked.uid)
        self.metrics.bind_errors.inc()
        _LOG.warning("bind failed", extra={"uid": asked.uid, "problem": str(error)})
        return "the API server did not take the binding"

    def _plan(self, asked: Bind) -> tuple[str, Mapping[str, str]]:
        """What kind of bind it is, for the metric, and the annotations it carries."""
        # kube-scheduler's watch may be ahead of ours.
        pod = self.cluster.pods.wait_for(f"{asked.namespace}/{asked.name}", WAIT_SECONDS)
        if pod is None or pod.uid != asked.uid or pod.document is None:
            return "plain", {}
        profiles = self.profiles()
        wish = placement.wish(pod.document, gpu_resources(profiles))
        given = pod.document["spec"].get("schedulerName")
        if wish is None or (self.scheduler and given != self.scheduler):
            return "plain", {}
        node = self.cluster.nodes.get(asked.node) or Node({}, None)
        return "placed", self._annotations(asked, pod.document, wish, node)

    def _annotations(
        self, asked: Bind, pod: Mapping[str, Any], wish: Wish, node: Node
    ) -> Mapping[str, str]:
        profile = self.profiles().get(wish.marker.profile)
        known = None if node.topology is None else state.idle(node.topology)
        choice = self._choice(asked, wish, known, profile)
        if choice.conflict:
            self.metrics.conflicts.inc()
            _LOG.warning("rails are shared", extra={"uid": asked.uid, "node": asked.node})
        annotations: dict[str, str] = {}
        if profile is not None:
            late = binding.late(pod, wish, profile, node.labels, choice)
            annotations |= late.annotations
            # The user, or the size, may have left other rails in the pod than were chosen.
            choice = placement.chosen(known, wish, profile, late.rails, conflict=choice.conflict)
        score = None if known is None else placement.score(known, wish, profile)
        annotations[names.PLACEMENT] = placement.record(
            asked.node, node.topology, wish, choice, score
        )
        return annotations

    def _choice(
        self, asked: Bind, wish: Wish, known: State | None, profile: Profile | None
    ) -> Choice:
        """The rails, chosen and held in one step: no other bind comes between."""
        made: list[Choice] = []

        def pick(used: Counter[int]) -> tuple[int, ...]:
            made.append(placement.choose(known, wish, profile, used))
            return made[0].rails

        self.cluster.hold(asked.uid, asked.node, self.hold_seconds, pick)
        return made[0]

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


def gpu_resources(profiles: Mapping[str, Profile]) -> tuple[str, ...]:
    """The names under which GPUs are asked for in any fabric."""
    return tuple(sorted({name for profile in profiles.values() for name in profile.gpu_resources}))

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
from podrail import binding, placement
from podrail.extension import Bind
from podrail.fabric import Profile
from podrail.placement import Choice, Wish
from podrail_io.kube import Api, KubeError, StatusError

_LOG: Final = logging.getLogger(__name__)
DEADLINE_SECONDS: Final = 1.5
"""Below kube-scheduler's httpTimeout of 2 s, so that it hears of a slow API server from us."""
WAIT_SECONDS: Final = 0.3
_CONTENT: Final = frozenset({400, 413, 422})


@dataclass(frozen=True, slots=True)
class Binder:
    """What a bind needs."""

    api: Api
    cluster: Cluster
    profiles: Callable[[], Mapping[str, Profile]]
    scheduler: str
    hold_seconds: int
    metrics: Metrics

    def bind(self, asked: Bind) -> str:
        """Bind the pod; what went wrong comes back, empty if nothing did."""
        kind, annotations = self._plan(asked)
        self.metrics.binds.labels(kind).inc()
        try:
            self._post(asked, annotations)
        except KubeError as error:
            if annotations and isinstance(error, StatusError) and error.status in _CONTENT:
                return self._plain(asked, error)
            self.cluster.release(asked.uid)
            self.metrics.bind_errors.inc()
            _LOG.warning("bind failed", extra={"uid": asked.uid, "problem": str(error)})
            return "the API server did not take the binding"
        return ""

    def _plain(self, asked: Bind, refusal: KubeError) -> str:
        """A Binding that the API server dislikes for its annotations is made without them."""
        _LOG.error("annotated binding refused", extra={"uid": asked.uid, "problem": str(refusal)})
        try:
            self._post(asked, {})
        except KubeError:
            return "the API server did not take the binding"
        return ""

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
        choice = self._choice(asked, wish, node, profile)
        if choice is not None and choice.conflict:
            self.metrics.conflicts.inc()
            _LOG.warning("rails are shared", extra={"uid": asked.uid, "node": asked.node})
        late = (
            {} if profile is None else binding.annotations(pod, wish, profile, node.labels, choice)
        )
        return binding.bounded(late, placement.record(asked.node, node.topology, wish, choice))

    def _choice(
        self, asked: Bind, wish: Wish, node: Node, profile: Profile | None
    ) -> Choice | None:
        topology = node.topology
        if topology is None:
            return None
        candidates = wish.marker.rails if profile is None else tuple(range(profile.rails.count))
        made: list[Choice] = []

        def pick(used: Counter[int]) -> tuple[int, ...]:
            made.append(placement.choose(topology, wish, candidates, used))
            return made[0].rails

        self.cluster.hold(asked.uid, asked.node, self.hold_seconds, pick)
        return made[0]

    def _post(self, asked: Bind, annotations: Mapping[str, str]) -> None:
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
        self.api.post(path, body, timeout=DEADLINE_SECONDS)


def gpu_resources(profiles: Mapping[str, Profile]) -> tuple[str, ...]:
    """The names under which GPUs are asked for in any fabric."""
    return tuple(sorted({name for profile in profiles.values() for name in profile.gpu_resources}))

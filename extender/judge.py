"""Filter and prioritize over names: pure reads of the cluster's view, one verdict a topology."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from extender.binder import gpu_resources
from extender.cluster import Cluster
from podrail import placement
from podrail.extension import Arguments
from podrail.fabric import Profile
from podrail.placement import Misfit, Wish
from podrail.score import state, value
from podrail.topology import Topology

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Judge:
    """Answers kube-scheduler's two questions."""

    cluster: Cluster
    profiles: Callable[[], Mapping[str, Profile]]
    stale_seconds: float

    @property
    def stale(self) -> bool:
        """True if the view is too old to judge by."""
        return self.cluster.age() > self.stale_seconds

    def filter(self, asked: Arguments) -> tuple[list[str], dict[str, Misfit]]:
        """The nodes that the pod may run on, and why not for each of the others."""
        wish = self._wish(asked)
        if wish is None:
            return list(asked.nodes), {}
        fabric = self._fabric(wish)
        verdicts = self._each(
            asked.nodes, lambda topology: placement.judge(state.idle(topology), wish, fabric)
        )
        refused = {
            node: verdict
            for node, verdict in zip(asked.nodes, verdicts, strict=True)
            if verdict is not None
        }
        return [node for node in asked.nodes if node not in refused], refused

    def prioritize(self, asked: Arguments) -> list[int]:
        """A score for each node, in the order of the names."""
        wish = self._wish(asked)
        if wish is None:
            return [0] * len(asked.nodes)
        fabric = self._fabric(wish)
        return value.points(
            self._each(
                asked.nodes,
                lambda topology: placement.score(state.idle(topology), wish, fabric).value,
            )
        )

    def _wish(self, asked: Arguments) -> Wish | None:
        if self.stale:
            return None
        return placement.wish(asked.pod, gpu_resources(self.profiles()))

    def _fabric(self, wish: Wish) -> Profile | None:
        return self.profiles().get(wish.marker.profile)

    def _each(self, nodes: Sequence[str], verdict: Callable[[Topology], T]) -> list[T | None]:
        """The verdict for each node; None where nothing is known. Shapes share one object."""
        made: dict[int, T | None] = {}
        found: list[T | None] = []
        known = self.cluster.nodes.items().get
        for name in nodes:
            node = known(name)
            topology = None if node is None else node.topology
            if id(topology) not in made:
                made[id(topology)] = None if topology is None else verdict(topology)
            found.append(made[id(topology)])
        return found

"""What the page follows of the cluster, apart from what reports follow: it may be slow.

Nothing is followed before somebody has looked at the page.
"""

import threading
from collections.abc import Callable, Mapping
from typing import Any, Final

from podrail.evidence import noderails
from podrail.railmap import facts
from podrail.railmap.scene import Facts
from podrail_io.kube import Api
from podrail_io.reflector import Reflector, World

PODS: Final = "/api/v1/pods"
NODES: Final = "/api/v1/nodes"
RAILS: Final = f"/apis/{noderails.API_VERSION}/noderails"


class Watch:
    """Pods, nodes and what agents say; spaces has the fabric that each namespace's label names."""

    def __init__(self, api: Api, world: World, spaces: Callable[[], Mapping[str, str]]) -> None:
        self._spaces = spaces
        self._begun = threading.Lock()
        self._pods: Reflector[facts.Pod] = Reflector(api, PODS, facts.pod, world)
        self._nodes: Reflector[facts.Node] = Reflector(api, NODES, facts.node, world)
        self._agents: Reflector[facts.Agent] = Reflector(api, RAILS, facts.agent, world)

    @property
    def _all(self) -> tuple[Reflector[Any], ...]:
        return (self._pods, self._nodes, self._agents)

    def start(self) -> None:
        """Begin to follow the cluster, if that has not begun yet."""
        if self._begun.acquire(blocking=False):
            for each in self._all:
                each.start()

    def stop(self) -> None:
        """Follow it no longer."""
        for each in self._all:
            each.stop()

    @property
    def synced(self) -> bool:
        """True once all has been seen."""
        return all(each.synced for each in self._all)

    def age(self) -> float:
        """Seconds since the oldest view was confirmed."""
        return max(each.age() for each in self._all)

    def facts(self) -> Facts:
        """What is known now."""
        return Facts(
            nodes=self._nodes.items(),
            pods=self._pods.items(),
            agents=self._agents.items(),
            spaces=self._spaces(),
        )

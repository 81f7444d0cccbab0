"""The pods that may have to be reported on, as the watches bring them, and the verdict on each.

Watches only note what changed; one thread asks for it and judges. Nothing of a pod, node or
namespace is kept but what the verdict takes.
"""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from podrail import names
from podrail.audit import outcome, sight, subject
from podrail.audit.outcome import Ours, Report
from podrail.audit.sight import Sight
from podrail.audit.subject import Subject
from podrail.evidence import cluster, noderails
from podrail.evidence.atlas import Unused
from podrail.fabric import Profile
from podrail_io.kube import Api, Document
from podrail_io.reflector import Change, Reflector, World

PODS: Final = "/api/v1/pods"
NAMESPACES: Final = "/api/v1/namespaces"
RAILS: Final = f"/apis/{noderails.API_VERSION}/noderails"
SYSTEM: Final = frozenset({"kube-system", "kube-node-lease"})
"""The namespaces of which the webhook sees no pod, podrail's own apart."""


class Rules:
    """Whose pods are ours, by the profiles as they are now; made anew when those change."""

    def __init__(
        self, schedulers: frozenset[str], own: str, profiles: Callable[[], Mapping[str, Profile]]
    ) -> None:
        self._schedulers = schedulers
        self._spared = SYSTEM | {own}
        self._profiles = profiles
        self._made: tuple[Mapping[str, Profile], Ours] | None = None

    @property
    def now(self) -> Ours:
        """What the profiles make of it."""
        profiles = self._profiles()
        if self._made is None or self._made[0] is not profiles:
            schedulers = {one.extras.scheduler_name for one in profiles.values()} - {""}
            gpus = {name for one in profiles.values() for name in one.gpu_resources}
            ours = Ours(self._schedulers | schedulers, frozenset(gpus), self._spared)
            self._made = (profiles, ours)
        return self._made[1]

    def known(self, profile: str) -> str:
        """The name if there is such a profile, else nothing: what a user wrote is no label."""
        return profile if profile in self._profiles() else ""


class Docket:
    """Follows pods, NodeRails and namespaces: which pods to look at, and the verdict on each."""

    def __init__(self, api: Api, world: World, rules: Rules) -> None:
        self.rules = rules
        self._ours = rules.now
        self._news: deque[tuple[str, Change[Any]]] = deque()
        self._on: dict[str, set[str]] = {}
        self.pods: Reflector[Subject] = self._watch(api, PODS, subject.kept, world)
        self.rails: Reflector[Sight] = self._watch(api, RAILS, _sight, world)
        self.spaces: Reflector[str] = self._watch(api, NAMESPACES, _fabric, world)

    def start(self) -> None:
        """Begin to follow the cluster."""
        for each in (self.pods, self.rails, self.spaces):
            each.start()

    def stop(self) -> None:
        """Follow it no longer."""
        for each in (self.pods, self.rails, self.spaces):
            each.stop()

    def problems(self) -> list[str]:
        """What has not been seen yet."""
        views = (("pods", self.pods), ("NodeRails", self.rails), ("namespaces", self.spaces))
        return [f"{name} are not synced" for name, one in views if not one.synced]

    def changed(self) -> set[str]:
        """The pods of which something has changed since this was last asked."""
        found: set[str] = set()
        spaces: set[str] = set()
        while self._news:
            path, change = self._news.popleft()
            if path == PODS:
                self._placed(change)
                found.add(change.key)
            elif path == RAILS:
                found |= self._touched(change)
            else:
                spaces.add(change.key)
        if spaces:
            found |= {key for key in self.pods.items() if key.partition("/")[0] in spaces}
        ours = self.rules.now
        if ours != self._ours:
            self._ours = ours
            found |= self.pods.items().keys()
        return found

    def report(self, pod: Subject) -> Report | None:
        """The verdict on a pod, by all that is known now."""
        seen = self.rails.get(pod.node) if pod.node else None
        return outcome.judge(pod, seen, self._ours, self.spaces.get(pod.namespace) or "")

    def _touched(self, change: Change[Sight]) -> set[str]:
        """The pods of a node of which its agent says something new."""
        there = self._on.get(change.key, set())
        before, after = change.before, change.after
        if before is None or after is None or before.observed_at is None:
            return there
        if replace(before, observed_at=after.observed_at) != after:
            return there
        # Heartbeats come by thousands, and are news of pods that began since the last one.
        pods = ((key, self.pods.get(key)) for key in there)
        return {
            key for key, pod in pods if pod and pod.started and pod.started > before.observed_at
        }

    def _placed(self, change: Change[Subject]) -> None:
        """Which pods each node has."""
        before, after = change.before, change.after
        if before is not None and before.node:
            there = self._on.get(before.node, set())
            there.discard(change.key)
            if not there:
                self._on.pop(before.node, None)
        if after is not None and after.node:
            self._on.setdefault(after.node, set()).add(change.key)

    def _watch(
        self, api: Api, path: str, keep: Callable[[Document], Any], world: World
    ) -> Reflector[Any]:
        return Reflector(api, path, keep, world, lambda change: self._news.append((path, change)))


def _sight(document: Document) -> Sight | None:
    """What a NodeRails says; one that cannot be read says nothing."""
    found = cluster.node_rails(
        {"kind": noderails.KIND, "apiVersion": noderails.API_VERSION} | document
    )
    return None if isinstance(found, Unused) else sight.of(found)


def _fabric(document: Document) -> str | None:
    """The profile that a namespace's label names."""
    found = (document["metadata"].get("labels") or {}).get(names.FABRIC)
    return None if found in {None, "", names.OPT_OUT} else str(found)

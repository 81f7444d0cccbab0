"""The caches of what is around a pod: networks, policies, claims and the generations of jobs.

Each is a watch; a kind that the API server does not serve counts as seen and empty. Admission
reads them and never waits for them.
"""

import threading
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from podrail import fit, marker, names
from podrail.admission import netpolicy
from podrail.admission.netpolicy import Policy
from podrail.admission.vicinity import Vicinity
from podrail.dra import claim
from podrail.gang import job
from podrail.multus import nad
from podrail.multus.nad import Isolation, Nad
from podrail_io.kube import Api
from podrail_io.reflector import Change, Reflector, World

POLICIES: Final = "/apis/networking.k8s.io/v1/networkpolicies"
PODS: Final = "/api/v1/pods"

Classes = frozenset[str]


@dataclass(frozen=True, slots=True)
class Member:
    """A living pod of a job, with the profile it was injected with and in which generation."""

    profile: str
    job: str
    generation: int


class Jobs:
    """Which generation of their profile the living pods of each job have."""

    def __init__(self, api: Api, world: World) -> None:
        self._lock = threading.Lock()
        self._generations: dict[tuple[str, str], Counter[int]] = {}
        self.pods: Reflector[Member] = Reflector(api, PODS, member, world, self._changed)

    def generation(self, profile: str, key: str) -> int | None:
        """The generation that the job began with: the lowest that a living pod of it has."""
        with self._lock:
            living = self._generations.get((profile, key))
            return min(living) if living else None

    def _changed(self, change: Change[Member]) -> None:
        with self._lock:
            for one, count in ((change.before, -1), (change.after, 1)):
                if one is None:
                    continue
                living = self._generations.setdefault((one.profile, one.job), Counter())
                living[one.generation] += count
                if not living[one.generation]:
                    del living[one.generation]
                if not living:
                    del self._generations[one.profile, one.job]


def member(pod: dict[str, Any]) -> Member | None:
    """What is kept of a pod: nothing if it has ended, or has no rails of podrail's."""
    metadata = pod["metadata"]
    text = (metadata.get("annotations") or {}).get(names.INJECTED)
    if text is None or fit.ended(pod):
        return None
    injected = marker.injected(text)
    if injected is None or not injected.injected:
        return None
    key = job.of(pod, metadata["namespace"]).key
    return Member(injected.profile, key, injected.generation)


class Surroundings:
    """All of it, for one cluster."""

    def __init__(self, api: Api, world: World, isolation: Isolation) -> None:
        self._isolation = isolation
        self._policies: defaultdict[str, dict[str, Policy]] = defaultdict(dict)
        self.jobs = Jobs(api, world)
        self.nads: Reflector[Nad] = Reflector(api, nad.DEFINITIONS, nad.read, world)
        self.policies: Reflector[Policy] = Reflector(
            api, POLICIES, netpolicy.read, world, self._policy_changed
        )
        self.templates: Reflector[Classes] = Reflector(api, claim.TEMPLATES, _of_template, world)
        self.claims: Reflector[Classes] = Reflector(api, claim.CLAIMS, _of_claim, world)

    @property
    def _all(self) -> tuple[Reflector[Any], ...]:
        return self.jobs.pods, self.nads, self.policies, self.templates, self.claims

    def start(self) -> None:
        """Begin to follow the cluster."""
        for one in self._all:
            one.start()

    def stop(self) -> None:
        """Follow it no longer."""
        for one in self._all:
            one.stop()

    def vicinity(
        self, namespace: str, labels: Mapping[str, str], annotations: Mapping[str, str]
    ) -> Vicinity:
        """What is around the pods of a namespace with these labels and annotations."""
        policies = self._policies.get(namespace)
        return Vicinity(
            labels=labels,
            annotations=annotations,
            nads=self.nads.view if self.nads.synced else None,
            isolation=self._isolation,
            policies=tuple(policies.copy().values()) if policies else (),
            claim_classes=self._classes,
        )

    def _classes(self, namespace: str, entry: Mapping[str, Any]) -> Classes | None:
        template, own = claim.named(entry, namespace)
        return self.templates.get(template) if template else self.claims.get(own)

    def _policy_changed(self, change: Change[Policy]) -> None:
        namespace, _, name = change.key.partition("/")
        if change.after is not None:
            self._policies[namespace][name] = change.after
        else:
            self._policies[namespace].pop(name, None)


def _of_template(document: dict[str, Any]) -> Classes:
    return claim.classes(claim.of_template(document))


def _of_claim(document: dict[str, Any]) -> Classes | None:
    spec = claim.of_claim(document)
    return None if spec is None else claim.classes(spec)

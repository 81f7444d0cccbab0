"""What a pod asks for, as the extender reads it: once for filter, prioritize and bind."""

from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from extender.claimed import Claimed
from podrail import placement
from podrail.dra import worth
from podrail.dra.worth import Asked as Claims
from podrail.evidence.cluster import Resources
from podrail.fabric import Profile
from podrail.gang import job
from podrail.gang.job import Job, Lookup
from podrail.placement import Wish

MOST: Final = 2048
Document = Mapping[str, Any]
Profiles = Mapping[str, Profile]


@dataclass(frozen=True, slots=True)
class Asked:
    """A pod of a job: what it wishes, its fabric if there is such a profile now, what it claims.

    A pod that claims NICs by DRA need not have been injected: then it has no wish.
    """

    job: Job
    wish: Wish | None
    fabric: Profile | None
    claims: Claims | None

    @property
    def gpus(self) -> int:
        """How many GPUs the pod takes."""
        if self.claims is not None:
            return self.claims.gpus
        return 0 if self.wish is None else self.wish.gpus


class Names:
    """The profiles, and how GPUs and NICs are called in any of them."""

    def __init__(self, profiles: Callable[[], Profiles]) -> None:
        self._current = profiles
        self._made: tuple[Profiles, Resources] = ({}, Resources((), ()))

    @property
    def profiles(self) -> Profiles:
        """The profiles as they are now."""
        return self._current()

    def resources(self) -> Resources:
        """The names of GPUs and of NICs; made anew when the profiles change."""
        of, made = self._made
        now = self._current()
        if of is not now:
            made = resources(now)
            self._made = (now, made)
        return made


class Desk:
    """Reads pods. kube-scheduler asks about the same pod several times, so the last are kept."""

    def __init__(self, names: Names, lookup: Lookup, claimed: Claimed) -> None:
        self._names = names
        self._lookup = lookup
        self._claimed = claimed
        self._read: OrderedDict[tuple[str, str, Collection[str]], tuple[Wish | None]] = (
            OrderedDict()
        )

    def asked(self, pod: Document) -> Asked | None:
        """What an injected pod asks for, or one that claims NICs; None for any other."""
        namespace = str(pod["metadata"].get("namespace", ""))
        wish, claims = self._wish(pod), self._claims(pod, namespace)
        if wish is None and claims is None:
            return None
        # The size of a job may change while it runs.
        now = job.of(pod, namespace, self._lookup)
        if wish is None:
            return Asked(now, None, None, claims)
        fabric = self._names.profiles.get(wish.marker.profile)
        return Asked(now, replace(wish, job=now), fabric, claims)

    def _claims(self, pod: Document, namespace: str) -> Claims | None:
        if not pod["spec"].get("resourceClaims"):
            return None
        return worth.of(pod, self._claimed.of(namespace), self._names.resources().gpus)

    def _wish(self, pod: Document) -> Wish | None:
        metadata, gpus = pod["metadata"], tuple(self._names.resources().gpus)
        uid, version = metadata.get("uid"), metadata.get("resourceVersion")
        if not (isinstance(uid, str) and isinstance(version, str) and uid and version):
            return placement.wish(pod, gpus)
        key = (uid, version, gpus)
        found = self._read.get(key)
        if found is None:
            found = self._read[key] = (placement.wish(pod, gpus),)
            if len(self._read) > MOST:
                self._read.popitem(last=False)
        return found[0]


def resources(profiles: Profiles) -> Resources:
    """The names under which GPUs and NICs are asked for in any fabric."""
    gpus = {name for profile in profiles.values() for name in profile.gpu_resources}
    nics = {one.name for profile in profiles.values() for one in profile.resources if not one.size}
    return Resources(tuple(sorted(gpus)), tuple(sorted(nics - gpus)))

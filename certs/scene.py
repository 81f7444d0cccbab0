"""What is the case at one moment, the steps that can be taken, and who has to be trusted.

Pure: the API server's time, what the Secrets and the registration say, what the replicas showed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Final

from cryptography import x509

from certs import chain
from certs.holdings import Authorities, Data, Served

Certificates = tuple[x509.Certificate, ...]
Seconds = Mapping[x509.Certificate, float]
_NONE: Final[Seconds] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Terms:
    """How certificates are made: for whom, for how long, and how long a change needs to settle."""

    hosts: tuple[str, ...]
    life: timedelta
    """A leaf's; its CA lives ten times as long."""
    settle: float
    """Seconds in which every API server has a new caBundle, and every kubelet a new Secret."""


@dataclass(frozen=True, slots=True)
class Sight:
    """The leaves that the replicas were seen to serve, and how many could not be asked."""

    leaves: Certificates = ()
    unseen: int = 0


@dataclass(frozen=True, slots=True)
class Calm:
    """For how many seconds in a row a CA has been trusted everywhere, or been of no use."""

    trusted: Seconds = field(default_factory=lambda: _NONE)
    idle: Seconds = field(default_factory=lambda: _NONE)


@dataclass(frozen=True, slots=True)
class Scene:
    """All of it."""

    now: datetime
    authorities: Authorities = field(default_factory=Authorities)
    served: Served = field(default_factory=Served)
    live: tuple[bytes, ...] = ()
    """The caBundle of each of our entries; none while nothing is registered, so nobody calls."""
    sight: Sight = field(default_factory=Sight)
    calm: Calm = field(default_factory=Calm)


@dataclass(frozen=True, slots=True)
class Keep:
    """Write the CAs to their Secret."""

    authorities: Authorities


@dataclass(frozen=True, slots=True)
class Trust:
    """Write this caBundle to our entries."""

    bundle: bytes


@dataclass(frozen=True, slots=True)
class Serve:
    """Write these data to the replicas' Secret."""

    data: Data


Step = Keep | Trust | Serve


def leaves(scene: Scene) -> Certificates:
    """Every leaf that is served, or is about to be."""
    mine = scene.served.leaf
    return scene.sight.leaves if mine is None else (*scene.sight.leaves, mine)


def everywhere(scene: Scene) -> Certificates:
    """Who is trusted by each of our entries."""
    first, *others = [_parsed(one) for one in scene.live] or [()]
    return tuple(one for one in first if all(one in other for other in others))


def broken(scene: Scene) -> tuple[str, ...]:
    """Why the API server's calls fail, or would; none if they do not."""
    trusted, sent, mine = everywhere(scene), scene.served.between, scene.served.leaf
    if mine is None or not chain.current(mine, scene.now):
        return ("there is no valid certificate to serve",)
    if scene.live and not chain.leads(mine, sent, trusted):
        return ("the certificate to serve is not trusted by each caBundle",)
    if scene.live and not all(chain.leads(one, sent, trusted) for one in scene.sight.leaves):
        return ("a replica serves a certificate that is not trusted by each caBundle",)
    return ()


def idle(scene: Scene, wanted: Sequence[x509.Certificate]) -> Certificates:
    """Who is trusted beside the wanted ones and of no use: no leaf leads to it alone.

    While a replica cannot be asked, nobody is.
    """
    if scene.sight.unseen:
        return ()
    sent = scene.served.between
    others = [one for one in leaves(scene) if not chain.leads(one, sent, wanted)]
    return tuple(
        one
        for one in _known(scene)
        if one not in wanted and not any(chain.leads(leaf, sent, (one,)) for leaf in others)
    )


def bundle(scene: Scene, wanted: Sequence[x509.Certificate], settle: float) -> bytes:
    """Who has to be trusted, as PEM: the wanted ones, and who may still be of use.

    Who is remembered in the Secret stays until it has been idle for as long as a change takes to
    settle; whom only the registration names, a stranger perhaps, goes at once when idle.
    """
    remembered, useless = scene.served.trusted, scene.calm.idle
    kept = (
        one
        for one in _known(scene)
        if chain.current(one, scene.now)
        and (one not in useless or (one in remembered and useless[one] < settle))
    )
    return chain.text((*wanted, *kept))


def _known(scene: Scene) -> Certificates:
    named = (one for text in scene.live for one in _parsed(text))
    return tuple(dict.fromkeys((*scene.served.trusted, *named)))


def _parsed(text: bytes) -> Certificates:
    """Nobody checks a caBundle before it is used (Kubernetes 1.36): it may hold anything."""
    try:
        return chain.parse(text)
    except ValueError:
        return ()

"""The method auto: the next step towards certificates that nobody ever has to look after. Pure.

A CA is trusted before it signs: the new one is kept beside the old, goes into every caBundle, and
signs once that has settled; the old one is trusted until no replica needs it any more. Whatever
is lost or broken is made anew in the same order, and every crash leaves a state to go on from.
"""

from typing import Final

from cryptography import x509

from certs import authority, chain, holdings, scene
from certs.authority import Pair
from certs.holdings import TRUSTED, Authorities
from certs.scene import Certificates, Keep, Scene, Serve, Step, Terms, Trust


def wanted(now: Scene) -> Certificates:
    """The CA that signs, and the one that will."""
    pairs = (now.authorities.signer, now.authorities.coming)
    return tuple(pair.certificate for pair in pairs if pair is not None and _usable(pair, now))


def step(now: Scene, terms: Terms) -> Step | None:
    """What is to be done next; None if all is as it should be."""
    for rule in _RULES:
        if (found := rule(now, terms)) is not None:
            return found
    return None


def _begin(now: Scene, terms: Terms) -> Step | None:
    """Make a CA to come where none can sign, or where the one that signs is to be replaced."""
    signer, coming = now.authorities.signer, now.authorities.coming
    if _usable(coming, now):
        return None
    if _usable(signer, now) and signer and not authority.due(signer.certificate, now.now):
        return None
    return Keep(Authorities(signer, authority.authority(now.now, terms.life)))


def _tidy(now: Scene, _terms: Terms) -> Step | None:
    """Drop what is broken beside a CA that can sign."""
    found = now.authorities
    if not found.problems or not _usable(found.signer, now):
        return None
    return Keep(Authorities(found.signer, found.coming))


def _trust(now: Scene, terms: Terms) -> Step | None:
    """Have each entry trust whom it has to."""
    bundle = scene.bundle(now, wanted(now), terms.settle)
    return None if all(one == bundle for one in now.live) else Trust(bundle)


def _promote(now: Scene, terms: Terms) -> Step | None:
    """Have the new CA sign, once every API server trusts it: at once if nobody can be refused."""
    coming = now.authorities.coming
    if coming is None or not _usable(coming, now):
        return None
    protected = now.sight.unseen or any(chain.current(one, now.now) for one in scene.leaves(now))
    settled = now.calm.trusted.get(coming.certificate, 0.0) >= terms.settle
    if now.live and protected and not settled:
        return None
    return Keep(Authorities(coming))


def _serve(now: Scene, terms: Terms) -> Step | None:
    """Give the replicas a leaf of the CA that signs, and who is trusted."""
    signer = now.authorities.signer
    if signer is None or not _usable(signer, now):
        return None
    trusted = scene.bundle(now, wanted(now), terms.settle)
    leaf = now.served.leaf
    if leaf is None or not _good(leaf, signer, now, terms):
        made = authority.leaf(signer, terms.hosts, now.now, terms.life)
        return Serve(holdings.served(made, chain.parse(trusted)))
    return None if chain.text(now.served.trusted) == trusted else Serve({TRUSTED: trusted})


def _usable(pair: Pair | None, now: Scene) -> bool:
    return pair is not None and chain.current(pair.certificate, now.now)


def _good(leaf: x509.Certificate, signer: Pair, now: Scene, terms: Terms) -> bool:
    return (
        chain.issued(leaf, signer.certificate)
        and chain.current(leaf, now.now)
        and not authority.due(leaf, now.now)
        and set(terms.hosts) == set(authority.hosts(leaf))
    )


_RULES: Final = (_begin, _tidy, _trust, _promote, _serve)

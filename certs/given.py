"""The methods cert-manager and provided: somebody else makes the Secret, its CAs are trusted. Pure.

Nothing is written but the caBundle; the CA before stays in it while a replica still needs it.
"""

from collections.abc import Iterable
from typing import Final

from cryptography import x509

from certs import authority, chain, scene
from certs.scene import Certificates, Scene, Step, Terms, Trust

LEFT: Final = 1 / 3
"""Of a certificate's life; with less it should have been replaced, and it is said."""


def wanted(now: Scene) -> Certificates:
    """The CAs in the Secret, if the certificate beside them is theirs; else nobody can be sure."""
    leaf, trusted = now.served.leaf, now.served.trusted
    return trusted if leaf and chain.leads(leaf, now.served.between, trusted) else ()


def step(now: Scene, terms: Terms) -> Step | None:
    """The caBundle that is to be written, if there is one."""
    trusted = wanted(now)
    if not trusted:
        return None
    bundle = scene.bundle(now, trusted, terms.settle)
    return None if all(one == bundle for one in now.live) else Trust(bundle)


def problems(now: Scene, terms: Terms) -> tuple[str, ...]:
    """What is wrong with the Secret, or soon will be; for whoever has to mend it."""
    leaf = now.served.leaf
    found = list(now.served.problems)
    if leaf is None:
        return tuple(found or ["tls.crt: there is none"])
    if not wanted(now):
        found.append("tls.crt: it does not lead to a certificate in ca.crt")
    ends = f"{leaf.not_valid_after_utc:%Y-%m-%d %H:%MZ}"
    if not chain.current(leaf, now.now):
        found.append(f"tls.crt: it is valid from {leaf.not_valid_before_utc:%Y-%m-%d} to {ends}")
    elif _ending(leaf, now):
        found.append(f"tls.crt: it ends on {ends} and has not been replaced")
    missing = _missing(leaf, terms.hosts)
    return (*found, *(f"tls.crt: it is not for {host}" for host in missing))


def _ending(leaf: x509.Certificate, now: Scene) -> bool:
    life = leaf.not_valid_after_utc - leaf.not_valid_before_utc
    return leaf.not_valid_after_utc - now.now < LEFT * life


def _missing(leaf: x509.Certificate, hosts: Iterable[str]) -> list[str]:
    """The hosts that the certificate is not for; its names may begin with *."""
    try:
        names = authority.hosts(leaf)
    except x509.ExtensionNotFound:
        return list(hosts)
    return [one for one in hosts if one not in names and f"*.{one.partition('.')[2]}" not in names]

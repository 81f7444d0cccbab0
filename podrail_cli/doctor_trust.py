"""The certificates of the webhook: the CAs that the API server trusts, and what is served."""

import base64
import binascii
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature

from podrail.doctor import admission, fields
from podrail.doctor.cluster import Certificate, Cluster

Document = Mapping[str, Any]
_TLS: Final = "tls.crt"


def secrets(cluster: Cluster) -> tuple[tuple[str, str], ...]:
    """Namespace and name of the Secrets that the webhook's pods mount."""
    found = {
        (fields.text(pod, "metadata", "namespace"), name)
        for pod in cluster.programs("webhook")
        for volume in fields.parts(pod, "spec", "volumes")
        if (name := fields.text(volume, "secret", "secretName"))
    }
    return tuple(sorted(found))


def certificates(cluster: Cluster, found: Iterable[Document]) -> tuple[Certificate, ...]:
    """Those in caBundle, then the first of each of these Secrets, and whether it is vouched for."""
    entries = admission.ours(cluster).values()
    bundles = {fields.text(entry, "clientConfig", "caBundle") for entry in entries}
    trusted = [one for text in sorted(bundles) for one in _read(text)]
    served = [
        (fields.place(secret), chain)
        for secret in found
        if (chain := _read(fields.text(secret, "data", _TLS)))
    ]
    return (
        *(_made("the CA in caBundle", one, authority=True) for one in trusted),
        *(_leaf(f"the certificate in Secret {place}", chain, trusted) for place, chain in served),
    )


def _leaf(
    place: str, chain: list[x509.Certificate], trusted: list[x509.Certificate]
) -> Certificate:
    vouched = any(_vouches(ca, one) for ca in trusted for one in chain) if trusted else None
    return replace(_made(place, chain[0], authority=False), vouched=vouched)


def _made(place: str, one: x509.Certificate, *, authority: bool) -> Certificate:
    return Certificate(place, one.not_valid_before_utc, one.not_valid_after_utc, authority)


def _vouches(ca: x509.Certificate, one: x509.Certificate) -> bool:
    """True if the CA has signed the certificate, or is it."""
    if ca == one:
        return True
    try:
        one.verify_directly_issued_by(ca)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def _read(text: str) -> list[x509.Certificate]:
    """The certificates in the base64 of a PEM file; none if it is something else."""
    try:
        return x509.load_pem_x509_certificates(base64.b64decode(text, validate=True))
    except (binascii.Error, ValueError):
        return []

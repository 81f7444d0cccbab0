"""Whether the webhook's certificate is one that the API server trusts, and for how long."""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from podrail.doctor import admission
from podrail.doctor.cluster import Certificate, Cluster
from podrail.doctor.finding import Finding, Topic

CERTIFICATE: Final = Topic("certificate", "Certificate")
LATE: Final = 0.2
"""With less than this of its life left it should have been renewed: podrail-certs and cert-manager
do so when a third is left."""
_LOOK: Final = (
    "kubectl -n podrail-system get secrets --field-selector type=kubernetes.io/tls, as somebody "
    "who may."
)
_RENEW: Final = "Look at podrail-certs or cert-manager: they should have renewed it."


def certificate(cluster: Cluster) -> Iterator[Finding]:
    """The CAs in caBundle and what the webhook serves: neither expired, one signed by the other."""
    if not cluster.certificates:
        why = "no caBundle that can be read" if admission.ours(cluster) else "not registered"
        yield CERTIFICATE.unknown(why, "First mend what stands above, then ask again.")
        return
    wrong = [
        finding for one in cluster.certificates if (finding := _wrong(one, cluster.now)) is not None
    ]
    yield from wrong
    leaves = [one for one in cluster.certificates if not one.authority]
    if not leaves and cluster.probe is not None and cluster.probe.injected:
        yield CERTIFICATE.ok("the API server trusts what is served; nobody may read when it ends")
    elif not leaves:
        yield CERTIFICATE.unknown("caBundle is there; what is served could not be read", _LOOK)
    elif not wrong:
        yield CERTIFICATE.ok(f"{leaves[0].place}, until {leaves[0].not_after:%Y-%m-%d}, is trusted")


def _wrong(one: Certificate, now: datetime | None) -> Finding | None:
    if one.vouched is False:
        return CERTIFICATE.fail(
            f"{one.place} is signed by none of the CAs in caBundle: every call fails",
            "Have podrail-certs or cert-manager write its CA into caBundle.",
        )
    if now is None:
        return None
    if one.not_after <= now:
        return CERTIFICATE.fail(f"{one.place} ended on {one.not_after:%Y-%m-%d}", _RENEW)
    if one.not_after - now < LATE * (one.not_after - one.not_before):
        return CERTIFICATE.warn(f"{one.place} ends on {one.not_after:%Y-%m-%d}", _RENEW)
    return None

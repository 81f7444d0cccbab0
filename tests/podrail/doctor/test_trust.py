"""Whether the webhook's certificate is trusted, and for how long."""

from __future__ import annotations

from datetime import timedelta

import installations
import pytest
from installations import NOW, told

from podrail.doctor import trust
from podrail.doctor.cluster import Certificate, Probe

MADE = NOW - timedelta(days=1)
CA = Certificate("the CA in caBundle", MADE, NOW + timedelta(days=900), authority=True)


def leaf(days: float, *, vouched: bool | None = True) -> Certificate:
    """A served certificate that ends so many days from now."""
    ends = NOW + timedelta(days=days)
    return Certificate("a/tls", ends - timedelta(days=90), ends, authority=False, vouched=vouched)


@pytest.mark.parametrize(
    ("certificates", "line"),
    [
        ((CA, leaf(89)), "ok: a/tls, until 2027-02-27, is trusted"),
        ((CA, leaf(3)), "warn: a/tls ends on 2026-12-03"),
        ((CA, leaf(-1)), "fail: a/tls ended on 2026-11-29"),
        ((CA, leaf(90, vouched=False)), "fail: a/tls is signed by none of the CAs in caBundle"),
        ((CA,), "ok: the API server trusts what is served"),
        ((), "unknown: no caBundle that can be read"),
    ],
    ids=["well", "ends soon", "ended", "another CA", "not to be read", "none"],
)
def test_what_is_said_of_certificates(certificates: tuple[Certificate, ...], line: str) -> None:
    """The worst is told; a dry run that came back marked proves that what is served is trusted."""
    (only,) = told(trust.certificate, installations.cluster(certificates=certificates))
    assert only.startswith(line)


def test_a_ca_that_ends_is_told_earlier() -> None:
    """A fifth of its life: its follower has to be trusted by everybody first."""
    made, ends = NOW - timedelta(days=880), NOW + timedelta(days=20)
    old = Certificate("the CA", made, ends, authority=True)
    found = installations.cluster(certificates=(old, leaf(90)))
    assert ["warn: the CA ends on 2026-12-20"] == told(trust.certificate, found)


def test_what_is_served_may_be_unknown() -> None:
    """Without a dry run too."""
    found = installations.cluster(certificates=(CA,), probe=Probe(injected=False))
    assert ["unknown: caBundle is there; what is served could not be read"] == told(
        trust.certificate, found
    )


def test_a_dump_has_no_time() -> None:
    """So an end is not judged."""
    found = installations.cluster(certificates=(CA, leaf(-1)), now=None)
    assert ["ok: a/tls, until 2026-11-29, is trusted"] == told(trust.certificate, found)


def test_without_a_registration_there_is_nothing_to_trust() -> None:
    """It was told above."""
    found = installations.cluster(without=["MutatingWebhookConfiguration"], certificates=())
    assert ["unknown: not registered"] == told(trust.certificate, found)

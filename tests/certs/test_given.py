"""The methods cert-manager and provided: trusted and told, never made."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import issued
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from issued import HOST, NOW, TERMS

from certs import authority, given
from certs.authority import Pair
from certs.holdings import Served
from certs.scene import Scene, Sight, Trust

DAY = timedelta(days=1)
OLD, NEW = authority.authority(NOW - DAY, DAY), authority.authority(NOW, DAY)


def leaf(of: Pair, days: float = 0.0, *hosts: str) -> Pair:
    """A leaf that was made so many days ago, for one day."""
    return authority.leaf(of, hosts or (HOST,), NOW - days * DAY, DAY)


def good(**changed: Any) -> Scene:
    """Nothing is to be done, but for what is changed."""
    return issued.good(NEW, **{"leaf": leaf(NEW), **changed})


def nameless() -> Pair:
    """A leaf without names."""
    pair = leaf(NEW)
    builder = (
        x509.CertificateBuilder()
        .subject_name(pair.certificate.subject)
        .issuer_name(NEW.certificate.subject)
        .public_key(pair.key.public_key())
        .serial_number(7)
        .not_valid_before(NOW)
        .not_valid_after(NOW + DAY)
    )
    return Pair(builder.sign(NEW.key, hashes.SHA256()), pair.key)


def test_nothing_is_done_where_all_is_well() -> None:
    """Nor is there anything to say."""
    now = good()
    assert (None, ()) == (given.step(now, TERMS), given.problems(now, TERMS))


def test_a_new_ca_is_trusted_beside_the_one_that_replicas_still_need() -> None:
    """It stays until none of them serves its leaf."""
    mine, theirs = leaf(NEW), leaf(OLD)
    now = good(leaf=mine, live=(issued.bundle(OLD),), sight=Sight((theirs.certificate,)))
    assert Trust(issued.bundle(OLD, NEW)) == given.step(now, TERMS)


def test_a_bundle_is_never_taken_from_a_secret_whose_leaf_is_not_its_cas() -> None:
    """Half a change would lock everybody out."""
    broken = issued.served(leaf(OLD), NEW)
    now = good(served=broken, live=(b"",))
    assert given.step(now, TERMS) is None
    assert ("tls.crt: it does not lead to a certificate in ca.crt",) == given.problems(now, TERMS)


@pytest.mark.parametrize(
    ("served", "problem"),
    [
        pytest.param(Served(), "tls.crt: there is none", id="nothing"),
        pytest.param(Served(problems=("tls.crt: broken",)), "tls.crt: broken", id="broken"),
        pytest.param(
            issued.served(leaf(NEW, 2), NEW), "tls.crt: it is valid from", id="expired"
        ),
        pytest.param(
            issued.served(leaf(NEW, 0.6), NEW), "", id="young"
        ),
        pytest.param(
            issued.served(leaf(NEW, 0.7), NEW), "and has not been replaced", id="ending"
        ),
        pytest.param(
            issued.served(leaf(NEW, 0, "a.svc"), NEW), f"it is not for {HOST}", id="host"
        ),
        pytest.param(issued.served(nameless(), NEW), f"it is not for {HOST}", id="no names"),
        pytest.param(
            issued.served(leaf(NEW, 0, "*.podrail-system.svc"), NEW), "", id="wildcard"
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(served: Served, problem: str) -> None:
    """In words for whoever makes the Secret."""
    found = given.problems(good(served=served), TERMS)
    assert [True] * bool(problem) == [problem in one for one in found]

"""Who is trusted, who is of use, and whether calls would fail."""

from __future__ import annotations

import issued
import pytest

from certs import scene
from certs.calm import Observer
from certs.holdings import Served
from certs.scene import Scene, Sight

CA, OTHER = issued.ca(), issued.ca(1)


@pytest.mark.parametrize(
    ("now", "problem"),
    [
        pytest.param(issued.good(CA), "", id="well"),
        pytest.param(issued.good(CA, served=Served()), "there is no valid certificate", id="none"),
        pytest.param(
            issued.good(CA, leaf=issued.leaf(CA, 61)), "there is no valid certificate", id="ended"
        ),
        pytest.param(
            issued.good(CA, live=(issued.bundle(CA), issued.bundle(OTHER))),
            "the certificate to serve is not trusted by each",
            id="one entry is without",
        ),
        pytest.param(
            issued.good(CA, sight=Sight((issued.leaf(OTHER).certificate,))),
            "a replica serves a certificate that is not trusted",
            id="a replica is behind",
        ),
        pytest.param(issued.good(CA, live=()), "", id="not registered"),
    ],
)
def test_why_calls_would_fail(now: Scene, problem: str) -> None:
    """By what is served and what is trusted."""
    found = scene.broken(now)
    assert bool(problem) == bool(found)
    assert all(problem in one for one in found)


def test_trusted_everywhere_is_what_each_entry_trusts() -> None:
    """Garbage trusts nobody."""
    both = issued.bundle(CA, OTHER)
    assert {CA.certificate, OTHER.certificate} == set(scene.everywhere(issued.good(live=(both,))))
    one = issued.good(live=(both, issued.bundle(CA)))
    assert (CA.certificate,) == scene.everywhere(one)
    assert () == scene.everywhere(issued.good(live=(both, b"garbage")))


def test_an_expired_ca_is_not_trusted_on() -> None:
    """Whatever a replica serves."""
    gone = issued.ca(700)
    now = issued.good(CA, live=(issued.bundle(CA, gone),), sight=Sight((), 1))
    assert issued.bundle(CA) == scene.bundle(now, [CA.certificate], 0)


def test_time_counts_while_something_goes_on_without_a_break() -> None:
    """Trust that is taken away begins anew, and so does being of no use."""
    clock = iter([0.0, 0.0, 5.0, 5.0, 6.0, 6.0, 9.0, 9.0])
    observer = Observer(lambda: next(clock))
    both = issued.good(CA, live=(issued.bundle(CA, OTHER),))
    alone = issued.good(CA, live=(issued.bundle(CA),))
    looks = [observer.look(one, (CA.certificate,)).calm for one in (both, both, alone, both)]
    assert [0, 5, None, 0] == [one.trusted.get(OTHER.certificate) for one in looks]
    assert [0, 5, None, 0] == [one.idle.get(OTHER.certificate) for one in looks]
    assert [0, 5, 6, 9] == [one.trusted[CA.certificate] for one in looks]


def test_nobody_is_idle_while_a_replica_cannot_be_asked() -> None:
    """It may serve anything."""
    now = issued.good(CA, live=(issued.bundle(CA, OTHER),), sight=Sight((), 1))
    assert () == scene.idle(now, [CA.certificate])

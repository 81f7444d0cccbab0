"""What podrail-certs run is told."""

from __future__ import annotations

from datetime import timedelta

import pytest

from certs.settings import Settings
from podrail_io.environ import SettingsError


def test_defaults() -> None:
    """Thirty days, looked at every five seconds, for the webhook's Service."""
    found = Settings.from_environ({})
    hosts = (
        "podrail-webhook.podrail-system.svc",
        "podrail-webhook.podrail-system.svc.cluster.local",
    )
    assert ("auto", hosts, timedelta(days=30), 120, 5) == (
        found.method,
        found.terms.hosts,
        found.terms.life,
        found.terms.settle,
        found.look_seconds,
    )
    assert ("pod.podrail.dev", "namespace.podrail.dev") == found.entries


def test_other_names() -> None:
    """Of the Service, and beside it; addresses as a certificate tells them, each once."""
    found = Settings.from_environ(
        {
            "PODRAIL_SERVICE": "w",
            "PODRAIL_NAMESPACE": "n",
            "PODRAIL_HOSTS": "a.b, 0::1,a.b",
            "PODRAIL_ENTRIES": "x, y",
        }
    )
    assert ("w.n.svc", "w.n.svc.cluster.local", "a.b", "::1") == found.terms.hosts
    assert ("w.n.svc", ("x", "y")) == (found.host, found.entries)


def test_a_short_life_settles_soon() -> None:
    """In a tenth of it at most, so that a lost CA is replaced before its last leaf ends."""
    assert 6 == Settings.from_environ({"PODRAIL_LEAF_SECONDS": "60"}).terms.settle


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("METHOD", "magic", "one of auto, cert-manager, provided"),
        ("LEAF_SECONDS", str(91 * 86_400), "a whole number from 30 to 7776000"),
        ("SETTLE_SECONDS", "260000", "a whole number from 1 to 259200"),
        ("LOOK_SECONDS", "30", "a whole number from 1 to 20"),
        ("HOSTS", "a b", "expected a DNS name or an IP address, got 'a b'"),
    ],
)
def test_wrong_ones_are_said(name: str, value: str, expected: str) -> None:
    """With the name of the variable and what was expected."""
    with pytest.raises(SettingsError) as caught:
        Settings.from_environ({f"PODRAIL_{name}": value})
    (problem,) = caught.value.problems
    assert f"PODRAIL_{name}" in problem
    assert expected in problem

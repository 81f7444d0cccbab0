"""What is told of the served certificate."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import served
from prometheus_client import CollectorRegistry, generate_latest

from podrail_io import validity
from podrail_io.tls import Certificates


def told(certificates: Certificates | None) -> CollectorRegistry:
    """A registry with what is told of them."""
    registry = CollectorRegistry()
    validity.export(certificates, registry)
    return registry


def test_the_served_certificate_is_shown(tmp_path: Path) -> None:
    """When it expires, and how many changes could not be loaded."""
    pair = served.authority(tmp_path).leaf("tls", days=1)
    registry = told(Certificates(pair.certfile, pair.keyfile, time.monotonic))
    left = registry.get_sample_value("podrail_cert_expiry_timestamp_seconds")
    assert left is not None
    assert 86_000 < left - time.time() <= 86_400
    assert 0 == registry.get_sample_value("podrail_cert_reload_errors_total")


def test_a_pair_that_cannot_be_loaded_is_counted(tmp_path: Path) -> None:
    """A counter that rises, beside the expiry of the pair that is served on."""
    pair = served.authority(tmp_path).leaf("tls", days=1)
    seconds = iter(range(0, 100, 10))
    certificates = Certificates(pair.certfile, pair.keyfile, lambda: float(next(seconds)))
    pair.keyfile.write_text("no key")
    certificates.context()
    shown = generate_latest(told(certificates)).decode()
    assert "podrail_cert_reload_errors_total 1.0\n" in shown
    assert "# TYPE podrail_cert_reload_errors_total counter\n" in shown


def test_plain_http_has_no_certificate_to_show() -> None:
    """No gauge that stands at nought, and nothing that could be over."""
    registry = told(None)
    assert registry.get_sample_value("podrail_cert_expiry_timestamp_seconds") is None
    assert () == validity.problems(None)


@pytest.mark.parametrize(
    ("days", "expected"),
    [(-0.001, ["the certificate has expired"]), (1.0, [])],
    ids=["old", "new"],
)
def test_an_expired_certificate_is_a_problem(
    tmp_path: Path, days: float, expected: list[str]
) -> None:
    """Nobody could connect anyway; a fresh one is none."""
    pair = served.authority(tmp_path).leaf("tls", days)
    certificates = Certificates(pair.certfile, pair.keyfile, time.monotonic)
    assert expected == list(validity.problems(certificates))

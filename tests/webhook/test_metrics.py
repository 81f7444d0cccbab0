"""The webhook's metrics."""

import time
from pathlib import Path

import served
from prometheus_client import generate_latest

from podrail_io.tls import Certificates
from webhook.metrics import Metrics


def test_the_served_certificate_is_shown(tmp_path: Path) -> None:
    """When it expires, and how many changes could not be loaded."""
    pair = served.authority(tmp_path).leaf("tls", days=1)
    registry = Metrics(Certificates(pair.certfile, pair.keyfile, time.monotonic)).registry
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
    told = generate_latest(Metrics(certificates).registry).decode()
    assert "podrail_cert_reload_errors_total 1.0\n" in told
    assert "# TYPE podrail_cert_reload_errors_total counter\n" in told


def test_plain_http_has_no_certificate_to_show() -> None:
    """No gauge that stands at nought."""
    registry = Metrics(None).registry
    assert registry.get_sample_value("podrail_cert_expiry_timestamp_seconds") is None

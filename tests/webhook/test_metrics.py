"""The webhook's metrics."""

import time
from pathlib import Path

import served

from podrail_io.tls import Certificates
from webhook.metrics import Metrics


def test_the_served_certificate_is_shown(tmp_path: Path) -> None:
    """When it expires, and how many changes could not be loaded."""
    pair = served.authority(tmp_path).leaf("tls", days=1)
    registry = Metrics(Certificates(pair.certfile, pair.keyfile, time.monotonic)).registry
    left = registry.get_sample_value("podrail_certificate_not_after_seconds")
    assert left is not None
    assert 86_000 < left - time.time() <= 86_400
    assert 0 == registry.get_sample_value("podrail_certificate_reload_errors")


def test_plain_http_has_no_certificate_to_show() -> None:
    """No gauge that stands at nought."""
    registry = Metrics(None).registry
    assert registry.get_sample_value("podrail_certificate_not_after_seconds") is None

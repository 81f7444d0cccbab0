"""The webhook's metrics."""

import time
from pathlib import Path

import served

from podrail_io.tls import Certificates
from webhook.metrics import Metrics


def test_the_served_certificate_is_shown(tmp_path: Path) -> None:
    """Beside what became of the pods."""
    pair = served.authority(tmp_path).leaf("tls", days=1)
    registry = Metrics(Certificates(pair.certfile, pair.keyfile, time.monotonic)).registry
    left = registry.get_sample_value("podrail_cert_expiry_timestamp_seconds")
    assert left is not None
    assert left > time.time()

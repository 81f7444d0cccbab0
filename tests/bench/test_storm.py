"""The quantiles of the API server's histogram."""

from __future__ import annotations

import math

import pytest
import storm

BUCKETS = [(0.005, 0), (0.025, 50), (0.1, 90), (0.5, 100), (math.inf, 100)]


@pytest.mark.parametrize(
    ("share", "seconds"),
    [(0.25, 0.015), (0.5, 0.025), (0.9, 0.1), (0.95, 0.3), (1.0, 0.5)],
)
def test_a_quantile_is_linear_within_its_bucket(share: float, seconds: float) -> None:
    """As Prometheus's histogram_quantile has it."""
    assert seconds == pytest.approx(storm.quantile(share, BUCKETS))


def test_beyond_the_last_finite_bound_it_is_that_bound() -> None:
    """What took longer than anything counts tells no more than that."""
    assert 0.5 == storm.quantile(0.99, [(0.5, 10), (math.inf, 100)])

"""What the extender is told at its start."""

from __future__ import annotations

from pathlib import Path

import pytest

from extender.settings import Settings
from podrail_io.environ import SettingsError


def test_without_a_variable_it_listens_on_loopback_only() -> None:
    """It runs beside kube-scheduler, in the same pod."""
    found = Settings.from_environ({})
    assert ("127.0.0.1", 8888, 1) == (
        found.serving.host,
        found.serving.port,
        found.serving.workers,
    )
    assert ("podrail", 300, 60) == (found.scheduler, found.stale_seconds, found.hold_seconds)


def test_an_empty_scheduler_name_means_every_pod() -> None:
    """As `extend-existing` needs it; empty is not the same as absent."""
    assert "" == Settings.from_environ({"PODRAIL_SCHEDULER": ""}).scheduler


def test_every_wrong_variable_is_named_at_once(tmp_path: Path) -> None:
    """With its value and what was expected."""
    with pytest.raises(SettingsError) as caught:
        Settings.from_environ(
            {
                "PODRAIL_LISTEN": "nowhere",
                "PODRAIL_STALE_SECONDS": "0",
                "PODRAIL_HOLD_SECONDS": "soon",
                "PODRAIL_SHAPES": str(tmp_path / "none"),
                "PODRAIL_LOG_LEVEL": "loud",
            }
        )
    for name in ("LISTEN", "STALE_SECONDS", "HOLD_SECONDS", "SHAPES", "LOG_LEVEL"):
        assert f"PODRAIL_{name}" in str(caught.value)

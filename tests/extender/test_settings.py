"""What the extender is told at its start."""

from __future__ import annotations

from pathlib import Path

import pytest

from extender.settings import Settings
from podrail_io.environ import SettingsError
from podrail_io.tls import Clients


def test_without_a_variable_it_listens_on_loopback_only() -> None:
    """It runs beside kube-scheduler, in the same pod."""
    found = Settings.from_environ({})
    assert ("127.0.0.1", 8888, 1) == (
        found.serving.host,
        found.serving.port,
        found.serving.workers,
    )
    assert found.bulletin is None
    assert ("podrail", 300, 60) == (found.scheduler, found.stale_seconds, found.hold_seconds)


def test_health_and_metrics_may_be_served_elsewhere_too() -> None:
    """Where probes and scrapers reach them; a wrong address is told."""
    assert ("::", 8889) == Settings.from_environ({"PODRAIL_BULLETIN": "[::]:8889"}).bulletin
    with pytest.raises(SettingsError, match="PODRAIL_BULLETIN: expected host:port"):
        Settings.from_environ({"PODRAIL_BULLETIN": "8889"})


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


def test_it_may_know_its_clients(tmp_path: Path) -> None:
    """By a CA of their own; kube-scheduler's name is the usual one."""
    (tmp_path / "ca.crt").touch()
    ca = {"PODRAIL_CLIENT_CA": str(tmp_path / "ca.crt")}
    usual = Settings.from_environ(ca).serving.clients
    named = Settings.from_environ({**ca, "PODRAIL_CLIENT_NAMES": "a, b"}).serving.clients
    assert Clients(tmp_path / "ca.crt", frozenset({"kube-scheduler"})) == usual
    assert Clients(tmp_path / "ca.crt", frozenset({"a", "b"})) == named
    assert Settings.from_environ({}).serving.clients is None

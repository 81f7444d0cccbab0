"""The node agent's settings."""

from pathlib import Path

import pytest

from nodeagent.settings import Settings
from podrail_io.environ import SettingsError
from podrail_io.slim import Place


def test_the_hosts_own_places_are_the_default(tmp_path: Path) -> None:
    """Only the node and the API server must be told."""
    token = tmp_path / "token"
    token.write_text("t")
    found = Settings.from_environ(
        {"PODRAIL_NODE": "n1", "PODRAIL_SERVER": "http://x", "PODRAIL_TOKEN_FILE": str(token)}
    )
    assert ("n1", Place("http://x", token)) == (found.node, found.api)
    assert (Path("/sys"), Path("/proc")) == (found.sys, found.proc)
    assert Path("/var/lib/kubelet/pod-resources/kubelet.sock") == found.resources


def test_every_wrong_variable_is_told() -> None:
    """By name, all at once; missing ones too."""
    with pytest.raises(SettingsError) as caught:
        Settings.from_environ({"PODRAIL_LISTEN": "x"})
    assert ["PODRAIL_LISTEN", "PODRAIL_NODE", "PODRAIL_SERVER"] == [
        one.partition(":")[0] for one in caught.value.problems
    ]

"""The statistics of real interfaces, through the kernel."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest

from podrail_io import ethtool

NAME = "podrailq0"


@pytest.fixture
def interface() -> Iterator[str]:
    """One end of a veth pair."""
    command = ["ip", "link", "add", NAME, "type", "veth", "peer", "name", "podrailq1"]
    try:
        made = subprocess.run(command, check=False, capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("NOT RUN: there is no ip command")
    if made.returncode:
        pytest.skip(f"NOT RUN: no veth pair can be made: {made.stderr.strip()}")
    try:
        yield NAME
    finally:
        subprocess.run(["ip", "link", "del", NAME], check=False, capture_output=True)


def test_an_interfaces_statistics_have_names(interface: str) -> None:
    """A veth tells the index of its peer."""
    found = ethtool.statistics(interface)
    assert found["peer_ifindex"] > 0
    assert all(name.isprintable() for name in found)


@pytest.mark.parametrize("name", ["lo", "no-such", "", "x" * 40])
def test_an_interface_without_statistics_has_none(name: str) -> None:
    """None of its own, or not in this network namespace."""
    assert {} == ethtool.statistics(name)

"""How a host spreads what it receives over CPUs."""

import pytest

from podrail.evidence.noderails import MOST_FLOWS, Netdev
from podrail.observation import steering
from podrail.observation.steering import Queue

ETH = "bus/pci/devices/0000:01:00.0/net/eth{}/mtu"


@pytest.mark.parametrize(
    ("queues", "expected"),
    [
        ([("0\n", "0\n")], (1, 0, 0)),
        ([("00000000,00000000\n", "0"), ("00000000,00000001\n", "2048\n")], (2, 1, 1)),
        ([("", "")], (1, 0, 0)),
        ([("ff", "many")], (1, 1, 0)),
    ],
    ids=["one CPU", "half of them", "not readable", "nonsense"],
)
def test_queues_are_counted_with_those_that_are_steered(
    queues: list[tuple[str, str]], expected: tuple[int, int, int]
) -> None:
    """A mask of zeros is RPS off, no flows is RFS off."""
    assert Netdev("eth0", *expected) == steering.read("eth0", (Queue(*one) for one in queues))


def test_an_interface_without_queues_is_none() -> None:
    """As in another network namespace."""
    assert steering.read("eth0", ()) is None


def test_one_interface_stands_for_each_function_that_is_the_hosts() -> None:
    """Its first; others of it are representors, and a VF is for a pod."""
    virtual = "bus/pci/devices/0000:01:00.1"
    files = {ETH.format(1): "1500", ETH.format(0): "1500", f"{virtual}/net/eth9/mtu": "1500", "class/x": ""}  # fmt: skip
    assert ("eth0",) == steering.netdevs(files, {f"{virtual}/physfn": "devices/pci/x"})


@pytest.mark.parametrize(
    ("text", "expected"),
    [("0\n", 0), ("32768\n", 32768), (None, None), ("9" * 30, MOST_FLOWS), ("-1", None)],
    ids=["off", "on", "another namespace", "absurd", "nonsense"],
)
def test_flows_of_sockets_are_known_or_not(text: str | None, expected: int | None) -> None:
    """Only the host's network namespace has the sysctl."""
    assert expected == steering.entries({} if text is None else {steering.ENTRIES: text})

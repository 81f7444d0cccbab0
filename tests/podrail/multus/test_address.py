"""Addresses are counted as the IPAM plugins count them."""

from __future__ import annotations

from typing import Any

import pytest

from podrail.multus import address
from podrail.reading import Reader


def sizes(ipam: dict[str, Any]) -> list[int | None]:
    """The sizes of the pools."""
    return [pool.size for pool in address.pools(Reader.of(ipam, "ipam"))]


@pytest.mark.parametrize(
    ("ipam", "expected"),
    [
        ({"type": "host-local", "subnet": "10.0.0.0/24"}, [253]),
        ({"type": "host-local", "subnet": "10.0.0.0/30"}, [1]),
        ({"type": "host-local", "subnet": "10.0.0.0/24", "gateway": "10.1.0.1"}, [254]),
        (
            {
                "type": "host-local",
                "subnet": "10.0.0.0/24",
                "rangestart": "10.0.0.10",
                "rangeend": "10.0.0.19",
            },
            [10],
        ),
        ({"type": "host-local", "subnet": "fd00::/120"}, [254]),
        (
            {
                "type": "host-local",
                "ranges": [
                    [{"subnet": "10.0.0.0/24"}, {"subnet": "10.0.1.0/24"}],
                    [{"subnet": "fd00::/64"}],
                ],
            },
            [506, 2**64 - 2],
        ),
        ({"type": "whereabouts", "range": "10.0.0.0/24"}, [254]),
        ({"type": "whereabouts", "range": "10.0.0.7/24"}, [254]),
        ({"type": "whereabouts", "range": "10.0.0.6/31"}, [2]),
        ({"type": "whereabouts", "range": "10.0.0.10-10.0.0.19/24"}, [10]),
        (
            {
                "type": "whereabouts",
                "range": "10.0.0.0/24",
                "range_start": "10.0.0.100",
                "range_end": "10.0.0.199",
                "exclude": ["10.0.0.0/25", "10.0.0.199"],
            },
            [71],
        ),
        (
            {
                "type": "whereabouts",
                "ipranges": [{"range": "10.0.0.0/28"}, {"range": "fd00::/124"}],
            },
            [14, 15],
        ),
        ({"type": "static", "addresses": [{"address": "10.0.0.9/24"}]}, [1]),
        ({"type": "nv-ipam", "poolname": "rail0,rail0-v6"}, [None, None]),
        ({"type": "dhcp"}, []),
        ({}, []),
    ],
)
def test_a_pool_has_as_many_addresses_as_its_plugin_gives(
    ipam: dict[str, Any], expected: list[int | None]
) -> None:
    """The network, its gateway and its broadcast address are given to nobody."""
    assert expected == sizes(ipam)


@pytest.mark.parametrize(
    ("ipam", "path"),
    [
        ({"type": "host-local"}, "ipam.ranges"),
        ({"type": "host-local", "ranges": [{"subnet": "10.0.0.0/24"}]}, "ipam.ranges[0]"),
        ({"type": "host-local", "subnet": "10.0.0.1/24"}, "ipam.subnet"),
        ({"type": "host-local", "subnet": "10.0.0.0"}, "ipam.subnet"),
        ({"type": "host-local", "subnet": "10.0.0.0/31"}, "ipam.subnet"),
        ({"type": "host-local", "subnet": "10.0.0.0/24", "gateway": "me"}, "ipam.gateway"),
        ({"type": "host-local", "subnet": "10.0.0.0/24", "rangestart": "x"}, "ipam.rangestart"),
        ({"type": "host-local", "subnet": "10.0.0.0/24", "rangeend": "10.1.0.1"}, "ipam.rangeend"),
        ({"type": "whereabouts", "range": "10.0.0.0/99"}, "ipam.range"),
        ({"type": "whereabouts", "range": "x-10.0.0.9/24"}, "ipam.range"),
        ({"type": "whereabouts", "range": "10.0.0.0/24", "exclude": ["y"]}, "ipam.exclude"),
        ({"type": "static", "addresses": [{"address": "z"}]}, "ipam.addresses[0].address"),
    ],
)
def test_what_a_plugin_refuses_is_a_problem_with_its_path(ipam: dict[str, Any], path: str) -> None:
    """Nothing is raised; the problem names the field."""
    reader = Reader.of(ipam, "ipam")
    address.pools(reader)
    assert [path] == [problem.path for problem in reader.problems]


def test_a_range_that_was_left_empty_has_no_addresses() -> None:
    """An end before the start is no negative count."""
    ipam = {"type": "whereabouts", "range": "10.0.0.9-10.0.0.1/24"}
    assert [0] == sizes(ipam)

"""The table of variables."""

import re

import checkout
import pytest

from podrail.nccl import settings as nccl
from podrail.nccl import variables
from podrail.nccl.variable import Group, Who, Whole


def test_every_variable_is_of_a_family_that_a_profile_may_set() -> None:
    """The table and the families do not drift apart, and every name can stand in a profile."""
    assert [] == [name for name in variables.TABLE if not name.startswith(nccl.PREFIXES)]
    assert [] == [name for name in variables.TABLE if not nccl.NAME.fullmatch(name)]


def test_every_variable_of_nccl_has_a_first_release() -> None:
    """Three numbers, as in the tags of its repository; others have none."""
    release = re.compile(r"2\.\d+\.\d+")
    assert [] == [
        one.name
        for one in variables.TABLE.values()
        if bool(release.fullmatch(one.since)) is not nccl.is_nccl(one.name)
    ]


def test_no_variable_is_listed_twice() -> None:
    """A name in two tables would hide one of its rows."""
    source = checkout.text(checkout.ROOT / "podrail/nccl/variables.py")
    source += checkout.text(checkout.ROOT / "podrail/nccl/debugging.py")
    names = re.findall(r'^ +\(?"([A-Z]+_[A-Za-z0-9_]+)",', source, re.MULTILINE)
    assert sorted(variables.TABLE) == sorted(names)


def test_ranges_hold_a_number() -> None:
    """No range is empty."""
    ranges = [one.grammar for one in variables.TABLE.values() if isinstance(one.grammar, Whole)]
    assert [] == [one for one in ranges if one.low > one.high]


@pytest.mark.parametrize(
    ("name", "group", "who"),
    [
        ("NCCL_SOCKET_IFNAME", Group.SYSTEM, Who.ALWAYS),
        ("NCCL_IB_TC", Group.SYSTEM, Who.PLATFORM),
        ("NCCL_IB_QPS_PER_CONNECTION", Group.DEBUGGING, Who.OPT_IN),
        ("NCCL_NET_GDR_LEVEL", Group.DEBUGGING, Who.PLATFORM),
        ("NCCL_PROTO", Group.DEBUGGING, Who.NEVER),
        ("NCCL_GRAPH_FILE", Group.NONE, Who.NEVER),
        ("UCX_TLS", Group.NONE, Who.OPT_IN),
    ],
)
def test_sections_are_those_of_the_manual(name: str, group: Group, who: Who) -> None:
    """Two sections of env.rst, and none for what it does not list."""
    found = variables.TABLE[name]
    assert (group, who) == (found.group, found.who)


def test_the_page_is_up_to_date() -> None:
    """docs/user/nccl.md ends with the table: write variables.page() there after a change."""
    assert checkout.text(checkout.ROOT / "docs/user/nccl.md").endswith(variables.page())

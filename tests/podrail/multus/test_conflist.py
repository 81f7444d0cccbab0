"""CNI configurations as the plugins read them."""

from __future__ import annotations

import json
from typing import Any

import nads
import pytest

from podrail.multus import conflist


def read(*plugins: dict[str, Any]) -> conflist.Conflist:
    """The configuration with these plugins, which has no problem."""
    found = conflist.read(nads.chain(*plugins), "spec.config")
    assert found.problems == ()
    return found


def test_a_single_plugin_is_a_chain_of_one() -> None:
    """A type at the top makes it one, whatever else is there (multus-cni v4.3)."""
    found = conflist.read('{"type":"macvlan","master":"ens1","mtu":9000,"plugins":[]}', "c")
    assert (("macvlan",), 9000, "ens1") == (found.types, found.mtu, found.plugins[0].master)


def test_keys_are_read_whatever_their_case() -> None:
    """As encoding/json of Go reads them."""
    text = '{"Plugins":[{"TYPE":"sriov","Ipam":{"type":"host-local","SubNet":"10.0.0.0/24"}}]}'
    found = conflist.read(text, "c")
    assert (("sriov",), "host-local", 253) == (found.types, found.ipam, found.pools[0].size)


@pytest.mark.parametrize("config", [None, ""])
def test_no_configuration_is_one_on_the_node(config: object) -> None:
    """Nothing is known then, and nothing is wrong."""
    assert conflist.Conflist() == conflist.read(config, "spec.config")


@pytest.mark.parametrize(
    ("config", "path"),
    [
        ({"type": "macvlan"}, "c"),
        ("{", "c"),
        ('{"type": NaN}', "c"),
        ("[" * 100_000, "c"),
        ("[]", "c"),
        ("{}", "c.plugins"),
        ('{"plugins": []}', "c.plugins"),
        ('{"plugins": [{}]}', "c.plugins[0].type"),
        ('{"type": "macvlan", "mtu": "9000"}', "c.mtu"),
        ('{"type": "macvlan", "ipam": "dhcp"}', "c.ipam"),
        (
            '{"type": "tuning", "sysctl": {"net.core.somaxconn": 500}}',
            "c.sysctl.net.core.somaxconn",
        ),
        ('{"type": "sriov", "ipam": {"type": "host-local", "subnet": "x/y"}}', "c.ipam.subnet"),
    ],
)
def test_a_malformed_configuration_is_a_value_with_problems(config: object, path: str) -> None:
    """Nothing is raised; the first problem says where."""
    assert path == conflist.read(config, "c").problems[0].path


def test_other_plugins_may_give_keys_other_types() -> None:
    """A plugin that is not known here is not judged."""
    found = conflist.read('{"type":"multi-nic","ipam":"...","mtu":"big","master":["a"]}', "c")
    assert ((), 0) == (found.problems, found.mtu)


def test_the_last_plugin_that_sets_the_mtu_wins() -> None:
    """The plugin tuning runs after the plugin that makes the interface."""
    assert 4220 == read({"type": "macvlan", "mtu": 9000}, {"type": "tuning", "mtu": 4220}).mtu


@pytest.mark.parametrize(
    ("plugin", "expected"),
    [
        ({"type": "sriov"}, True),
        ({"type": "ib-sriov"}, True),
        ({"type": "host-device"}, True),
        ({"type": "host-device", "device": "ens3"}, False),
        ({"type": "host-device", "pciBusID": "0000:18:00.1"}, False),
        ({"type": "macvlan", "master": "ens3"}, False),
    ],
)
def test_a_plugin_needs_a_device_if_it_names_none(plugin: dict[str, Any], expected: bool) -> None:
    """VFs and host devices come from the device plugin."""
    assert expected == read(plugin).needs_device


@pytest.mark.parametrize(
    ("plugins", "expected"),
    [
        ([{"type": "sriov"}], False),
        ([{"type": "sriov"}, {"type": "rdma"}], True),
        ([{"type": "ib-sriov", "rdmaIsolation": True}], True),
        ([{"type": "ib-sriov"}], False),
    ],
)
def test_the_rdma_device_moves_with_rdma_cni_or_isolation(
    plugins: list[dict[str, Any]], expected: bool
) -> None:
    """ib-sriov-cni can do it alone."""
    assert expected == read(*plugins).isolates_rdma


@pytest.mark.parametrize(
    ("routes", "more", "expected"),
    [
        ([{"dst": "0.0.0.0/0"}], [], True),
        ([{"dst": "::/0"}], [], True),
        ([{"dst": "10.0.0.0/8"}], [], False),
        ([{"dst": "0.0.0.0/0", "table": 100}], [], False),
        ([{"dst": "0.0.0.0/0"}], [{"type": "sbr"}], False),
        ([{"dst": "0.0.0.0/0"}], [{"type": "route-override", "flushroutes": True}], False),
        ([], [{"type": "bridge", "isDefaultGateway": True}], True),
    ],
)
def test_a_default_route_counts_in_the_main_table_only(
    routes: list[Any], more: list[dict[str, Any]], expected: bool
) -> None:
    """The plugin sbr moves it away, route-override drops it."""
    ipam = {**nads.whereabouts(), "routes": routes}
    assert expected == read({"type": "macvlan", "ipam": ipam}, *more).default_route


@pytest.mark.parametrize(
    ("sysctl", "expected"),
    [
        ({"net.ipv4.conf.IFNAME.arp_announce": "2", "net.ipv4.conf.IFNAME.arp_ignore": "1"}, True),
        ({"net/ipv4/conf/all/arp_announce": "2", "net/ipv4/conf/all/arp_ignore": "2"}, True),
        ({"net.ipv4.conf.IFNAME.arp_announce": "2"}, False),
        ({"net.ipv4.conf.IFNAME.arp_filter": "1"}, False),
        ({"net.ipv4.conf.IFNAME.arp_announce": "0", "net.ipv4.conf.all.arp_ignore": "1"}, False),
    ],
)
def test_arp_is_tuned_by_announce_and_ignore(sysctl: dict[str, str], expected: bool) -> None:
    """arp_filter alone needs source routing."""
    found = read({"type": "macvlan"}, {"type": "tuning", "sysctl": sysctl})
    assert expected == found.answers_for_itself


def test_source_routing_answers_for_itself() -> None:
    """The plugin sbr gives each interface a table of its own."""
    assert read({"type": "macvlan"}, {"type": "sbr"}).answers_for_itself


def test_a_chain_has_the_name_of_its_document() -> None:
    """The name is kept; host-local's files go by it."""
    assert "net" == conflist.read(json.dumps({"type": "ptp", "name": "net"}), "c").name

"""Addresses of rails: whose, how many, in which subnets."""

from __future__ import annotations

from typing import Any

import builders
import nads
import pytest

from podrail.multus import lint

SHARED: dict[str, Any] = {
    "attachment": "SharedDevice",
    "rails": {"count": 2, "gpus": 8},
    "networks": [{"name": "default/rail0", "rail": 0}, {"name": "default/rail1", "rail": 1}],
}
VFS: dict[str, Any] = {
    "attachment": "SriovVF",
    "rails": {"count": 2, "gpus": 8},
    "networks": SHARED["networks"],
    "resources": [{"name": "a.b/vf"}],
}


def codes(spec: dict[str, Any], definitions: list[Any], nodes: list[Any]) -> list[str]:
    """The codes that a profile gets."""
    found = lint.check(builders.fabric(**spec), nads.made(*definitions), nodes)
    return [one.code for one in found]


def pair(ipam: Any, *more: Any, resource: str = "", **plugin: Any) -> list[Any]:
    """Two rails with the same addresses."""
    return [nads.rail(k, *more, ipam=ipam, resource=resource, **plugin) for k in range(2)]


@pytest.mark.parametrize(("count", "expected"), [(0, 2), (1, 0), (2, 2)])
def test_a_pool_of_each_node_collides_unless_there_is_one_node(count: int, expected: int) -> None:
    """Nodes of an empty pool are still to come."""
    definitions = [nads.rail(k, ipam=nads.host_local(f"10.0.{k}.0/24")) for k in range(2)]
    assert ["HostLocalPool"] * expected == codes(SHARED, definitions, nads.nodes(count))


@pytest.mark.parametrize(
    ("spec", "network", "nodes", "expected"),
    [
        # 16 of each rail's interfaces: 2 nodes, 8 pods of one GPU each; both rails share the range.
        (SHARED, "10.0.0.0/26", 2, []),
        (SHARED, "10.0.0.0/27", 2, ["SubnetTooSmall"]),
        ({**SHARED, "partial": "Deny"}, "10.0.0.0/29", 3, []),
        ({**SHARED, "partial": "Deny"}, "10.0.0.0/29", 4, ["SubnetTooSmall"]),
        # 4 VFs a node, whichever of the two networks takes them.
        (VFS, "10.0.0.0/28", 3, []),
        (VFS, "10.0.0.0/28", 4, ["SubnetTooSmall"]),
    ],
)
def test_a_subnet_must_do_for_all_interfaces_at_a_time(
    spec: dict[str, Any], network: str, nodes: int, expected: list[str]
) -> None:
    """As many as there are devices, or as pods with one GPU fit."""
    resource = "a.b/vf" if spec is VFS else ""
    definitions = pair(nads.whereabouts(network), {"type": "sbr"}, resource=resource)
    assert expected == codes(spec, definitions, nads.nodes(nodes, **{"a.b__vf": 4}))


def test_one_node_must_fit_into_its_own_pool() -> None:
    """Counted on each node, host-local must do for that node only."""
    definitions = [nads.rail(k, ipam=nads.host_local(f"10.0.{k}.0/29")) for k in range(2)]
    assert ["SubnetTooSmall"] * 2 == codes(SHARED, definitions, nads.nodes(1))


def test_a_static_address_does_for_one_interface() -> None:
    """All pods get the same, and the advice is another IPAM."""
    ipam = {"type": "static", "addresses": [{"address": "10.9.0.5/24"}]}
    profile = builders.fabric(**SHARED)
    found = lint.check(profile, nads.made(nads.rail(0, ipam=ipam), nads.rail(1)), nads.nodes(1))
    assert ["SubnetTooSmall"] == [one.code for one in found]
    assert found[0].message.endswith("use an IPAM of the whole cluster")


@pytest.mark.parametrize(
    ("ipam", "more", "kind", "expected"),
    [
        (nads.whereabouts("10.0.0.0/16"), [], "macvlan", ["SameSubnetNoArp"]),
        (nads.whereabouts("10.0.0.0/16"), [nads.TUNED], "macvlan", []),
        (nads.whereabouts("10.0.0.0/16"), [{"type": "sbr"}], "macvlan", []),
        (nads.whereabouts("10.0.0.0/16"), [], "ib-sriov", []),
        ({"type": "nv-ipam", "poolName": "rails"}, [], "macvlan", ["SameSubnetNoArp"]),
        ({"type": "dhcp"}, [], "macvlan", []),
    ],
    ids=["untuned", "tuned", "sbr", "infiniband", "nv-ipam", "unknown"],
)
def test_rails_in_one_subnet_must_each_answer_for_themselves(
    ipam: Any, more: list[Any], kind: str, expected: list[str]
) -> None:
    """Else Linux lets any interface answer ARP for all; InfiniBand has no ARP on its way."""
    resource = "a.b/vf" if kind == "ib-sriov" else ""
    spec = {**SHARED, "resources": [{"name": "a.b/vf"}]}
    definitions = pair(ipam, *more, type=kind, resource=resource)
    assert expected == codes(spec, definitions, nads.nodes(2, **{"a.b__vf": 4}))


def test_a_network_that_is_no_rail_may_have_another_mtu() -> None:
    """Storage does not share the rails' switches."""
    storage = nads.document("storage", nads.chain({"type": "macvlan", "mtu": 1500}))
    networks = [*SHARED["networks"], {"name": "default/storage", "interface": "st0"}]
    definitions = [nads.rail(0, mtu=9000), nads.rail(1), storage]
    assert [] == codes({**SHARED, "networks": networks}, definitions, nads.nodes(2))

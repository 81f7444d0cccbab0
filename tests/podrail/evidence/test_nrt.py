"""NodeResourceTopology: devices counted by NUMA node, and the kubelet's policy."""

from __future__ import annotations

from typing import Any

import pytest

from podrail.errors import MalformedError
from podrail.evidence import nrt
from podrail.topology import Tier


def zone(number: int, **resources: object) -> dict[str, Any]:
    listed = [
        {
            "name": name.replace("__", "/"),
            "capacity": count,
            "allocatable": count,
            "available": count,
        }
        for name, count in resources.items()
    ]
    return {"name": f"node-{number}", "type": "Node", "resources": listed}


def document(*zones: dict[str, Any]) -> dict[str, Any]:
    attributes = [
        {"name": "topologyManagerPolicy", "value": "restricted"},
        {"name": "topologyManagerScope", "value": "pod"},
    ]
    return {"metadata": {"name": "n1"}, "attributes": attributes, "zones": list(zones)}


def read(*zones: dict[str, Any]) -> nrt.Reported:
    return nrt.read(document(*zones), ["gpu"], ["x.io/rail"], "nrt")


def test_devices_are_counted_by_numa_node() -> None:
    """They have no identity: the same node or not is all that can be told."""
    found = read(
        zone(0, gpu="2", x_io="1", cpu="32", memory="1Gi"), zone(1, gpu=1, **{"x.io/rail": "1"})
    )
    assert ((0, 0, 1), [1]) == (found.topology.gpus, [nic.numa for nic in found.topology.nics])
    assert ((Tier.SYS,), (Tier.SYS,), (Tier.NODE,)) == found.topology.tiers
    assert False is found.topology.complete


def test_the_kubelets_policy_is_told() -> None:
    """NFD writes it as attributes of the object."""
    found = read()
    assert ("n1", "restricted", "pod") == (found.node, found.policy, found.scope)


def test_a_zone_of_another_kind_or_name_has_no_numa_node() -> None:
    """Switches as zones are no NUMA nodes; a node without a number is unknown."""
    other = {**zone(0, gpu="1"), "type": "PCIeSwitch"}
    unnamed = {**zone(0, gpu="1", **{"x.io/rail": 1}), "name": "left"}
    found = read(other, unnamed).topology
    assert ((None,), ((None,),)) == (found.gpus, found.tiers)


def test_every_problem_is_told_with_its_path() -> None:
    """A count that is no quantity."""
    with pytest.raises(MalformedError) as caught:
        read(zone(0, gpu="many"), zone(1, gpu="-1"))
    assert ["nrt.zones[0].resources[0].capacity", "nrt.zones[1].resources[0].capacity"] == [
        problem.path for problem in caught.value.problems
    ]

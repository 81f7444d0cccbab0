"""The node agent beside a real kubelet: what it reports is what the kubelet handed out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from controlplane.installed import eventually
from realnode import seen
from realnode.fabrics import Hardware
from realnode.node import RealNode

pytestmark = [pytest.mark.node, pytest.mark.parametrize("laid", ["sriov-rails"], indirect=True)]
SECONDS = 30


@pytest.fixture
def status(laid: RealNode) -> Callable[[], dict[str, Any]]:
    """The status of the node's NodeRails, each time anew."""
    path = f"/apis/podrail.dev/v1alpha1/noderails/{laid.name}"
    return lambda: dict(laid.cluster.client.get(path)["status"])


def test_the_kubelets_policy_and_the_plugins_resources_are_reported(
    status: Callable[[], dict[str, Any]], hardware: Hardware
) -> None:
    """The policy out of the kubelet's own file; a NIC's resource is that of its VFs."""
    expected = {rail: f"nvidia.com/rail{rail}" for rail in hardware.rails}

    def resources() -> dict[int, str]:
        return {one["rail"]: one.get("resource", "") for one in status()["nics"]}

    eventually(lambda: expected == resources(), "each rail has its resource", SECONDS)
    assert ("none", "container") == (status()["kubelet"]["policy"], status()["kubelet"]["scope"])


def test_a_pods_devices_are_reported_as_long_as_it_holds_them(
    status: Callable[[], dict[str, Any]], laid: RealNode, room: str
) -> None:
    """Each device of each resource, with the container that holds it."""
    pod = seen.document("sriov-rails", 4, "held")
    laid.cluster.client.create(pod, room)
    held = seen.of(laid, room, "held").held
    expected = {(name, device, room, "held", "train") for name, ids in held.items() for device in ids}  # fmt: skip

    def reported() -> set[tuple[str, ...]]:
        keys = ("resource", "deviceID", "namespace", "pod", "container")
        return {tuple(one[key] for key in keys) for one in status().get("allocations", ())}

    assert 8 == len(expected)
    eventually(lambda: expected == reported(), "the allocation is reported", SECONDS)
    laid.cluster.client.delete(f"/api/v1/namespaces/{room}/pods/held")
    eventually(lambda: not reported(), "nothing is held", SECONDS)

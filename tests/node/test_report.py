"""Predicted against observed on the real node: what the controller says of pods that run there.

The kubelet chooses the devices, the agent hears of them through PodResources, and the report is
held against what the kubelet itself says.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import machines
import pytest
import reported
from controlplane.client import Client
from controlplane.installed import eventually, metric
from controlplane.processes import Child
from realnode import seen
from realnode.fabrics import Hardware
from realnode.node import RealNode
from realnode.seen import Seen

from podrail import names

pytestmark = pytest.mark.node
SECONDS = 30
GPU = "nvidia.com/gpu"
SHARED = "rdma/hca_shared_devices_a"


@dataclass(frozen=True, slots=True)
class Case:
    """A whole node's pod, and what its rails are told by."""

    fabric: str
    by: str = "devices"


CASES = {
    "whole": Case("sriov-rails"),
    "pool": Case("sriov-pool"),
    "shared": Case("macvlan-rails", by="markers"),
}
EVERY = pytest.mark.parametrize(
    ("laid", "placed"),
    [pytest.param(case.fabric, name, id=name) for name, case in CASES.items()],
    indirect=True,
)


@pytest.fixture(scope="module")
def placed(
    request: pytest.FixtureRequest, laid: RealNode, room: str, controller: Child
) -> Iterator[Seen]:
    """A case's pod, running and reported on."""
    assert controller.process.poll() is None
    name = f"seen-{request.param}"
    with running(laid, room, {name: seen.document(CASES[request.param].fabric, 8, name)}) as pods:
        yield pods[name]


@contextlib.contextmanager
def running(
    node: RealNode, room: str, pods: dict[str, dict[str, Any]]
) -> Iterator[dict[str, Seen]]:
    """Pods for the length of a block, once they run and are reported on."""
    client, paths = node.cluster.client, [f"/api/v1/namespaces/{room}/pods/{one}" for one in pods]
    try:
        for one in pods.values():
            client.create(one, room)
        for name, path in zip(pods, paths, strict=True):
            node.running(room, name)
            eventually(reported_on(client, path), f"{name} is reported on", SECONDS)
        yield {name: seen.of(node, room, name) for name in pods}
    finally:
        for path in paths:
            client.delete(path)
            eventually(gone(client, path), f"{path} is gone", 40)


def reported_on(client: Client, path: str) -> Callable[[], bool]:
    """Whether there is a report on a pod."""
    return lambda: bool(reported.outcome(client, path))


def gone(client: Client, path: str) -> Callable[[], bool]:
    """Whether there is no pod."""
    return lambda: client.call("GET", path).status == 404


def held_gpus(pod: Seen) -> list[int]:
    """The GPUs that the kubelet says the pod holds, by index."""
    return [at for at in range(8) if machines.UUID.format(at) in pod.held[GPU]]


# First of all: the node has no room for these beside a case's pod.
@pytest.mark.parametrize("laid", ["sriov-rails"], indirect=True)
def test_of_two_pods_with_the_same_rails_one_is_degraded(
    laid: RealNode, room: str, controller: Child
) -> None:
    """The kubelet gives one the GPUs beside their rails, and the other what is left."""
    assert controller.process.poll() is None
    pods = {
        name: seen.document("sriov-rails", 4, name, annotations={names.RAILS: "0,1,2,3"})
        for name in ("half-0", "half-1")
    }
    with running(laid, room, pods) as found:
        reports = {name: reported.said(dict(one.pod)) for name, one in found.items()}
        near = {name: held_gpus(one) == [0, 1, 2, 3] for name, one in found.items()}
        told = reported.told(laid.cluster.client, room)
    assert [False, True] == sorted(near.values())
    for name, report in reports.items():
        outcome = "RailsAligned" if near[name] else "RailsDegraded"
        codes = [one["code"] for one in report["reasons"]]
        assert (outcome, near[name]) == (report["outcome"], "Misaligned" not in codes)
        assert {outcome: 1} == told[name]


@EVERY
def test_a_report_says_what_the_kubelet_handed_out(
    placed: Seen, request: pytest.FixtureRequest, hardware: Hardware
) -> None:
    """GPUs by index and NICs by name, out of the devices that PodResources names."""
    report = reported.said(dict(placed.pod))
    counted = {name: ids for name, ids in placed.held.items() if name not in {GPU, SHARED}}
    on = sorted({hardware.rail(device) for ids in counted.values() for device in ids})
    by = CASES[request.node.callspec.params["placed"]].by
    assert (by, held_gpus(placed)) == (report["by"], report["gpus"])
    assert (on or placed.placement["rails"]) == report["rails"]
    assert len(on) == len(report["nics"])


@EVERY
def test_a_pod_that_got_what_was_foretold_is_aligned(
    placed: Seen, laid: RealNode, room: str, request: pytest.FixtureRequest, controller: Child
) -> None:
    """Annotation, one Event, and one pod more in the metric of its profile."""
    report = reported.said(dict(placed.pod))
    expected = (report["expected"]["rails"], report["expected"]["worth"])
    assert ("RailsAligned", []) == (report["outcome"], report["reasons"])
    assert expected == (placed.placement["rails"], placed.placement["expected"])
    assert report["worth"] >= report["expected"]["worth"]
    name = placed.pod["metadata"]["name"]
    assert {"RailsAligned": 1} == reported.told(laid.cluster.client, room)[name]
    fabric = CASES[request.node.callspec.params["placed"]].fabric
    labels = f'{{outcome="RailsAligned",profile="{fabric}"}}'
    assert 1 == metric(controller, f"podrail_controller_pods{labels}")
    assert 1 <= metric(controller, f"podrail_controller_outcomes_total{labels}")


@EVERY
def test_the_agent_shows_each_device_of_the_pod(placed: Seen, laid: RealNode, room: str) -> None:
    """In the NodeRails of its node, as long as the pod runs."""
    client, name = laid.cluster.client, placed.pod["metadata"]["name"]
    status: dict[str, Any] = client.get(f"/apis/podrail.dev/v1alpha1/noderails/{laid.name}")[
        "status"
    ]
    listed = {
        (one["resource"], one["deviceID"])
        for one in status["allocations"]
        if (one["namespace"], one["pod"]) == (room, name)
    }
    assert {(resource, one) for resource, ids in placed.held.items() for one in ids} == listed

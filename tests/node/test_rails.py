"""Two pods of one job on the real node: they meet on each of their rails, and on no other one's."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any, Final

import pytest
from controlplane.installed import eventually
from realnode import netns, seen
from realnode.node import RealNode
from realnode.seen import Seen

from podrail import names

pytestmark = [pytest.mark.node, pytest.mark.parametrize("laid", ["sriov-rails"], indirect=True)]
SECONDS: Final = 1.0
GREETING: Final = b"over this rail"


def job(name: str) -> dict[str, Any]:
    """Two pods with half of the node's GPUs each."""
    pod = {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 0,
        "containers": [seen.container(4)],
    }
    template = {"metadata": {"labels": {names.FABRIC: "sriov-rails"}}, "spec": pod}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"completions": 2, "parallelism": 2, "template": template},
    }


@pytest.fixture(scope="module")
def pair(laid: RealNode, room: str) -> Iterator[tuple[Seen, Seen]]:
    """The pods of a job, running."""
    client, path = laid.cluster.client, f"/api/v1/namespaces/{room}/pods"
    client.create(job("train"), room)
    eventually(lambda: len(client.items(path)) == 2, "the job's pods are there")
    one, other = (seen.of(laid, room, pod["metadata"]["name"]) for pod in client.items(path))
    yield one, other
    client.call(
        "DELETE", f"/apis/batch/v1/namespaces/{room}/jobs/train?propagationPolicy=Background"
    )
    eventually(lambda: not client.items(path), "the job's pods are gone", 40)


def bound(interface: str) -> socket.socket:
    """A TCP socket that hears and speaks on one interface only."""
    # A destination alone would not do: Linux answers on any interface for every address it has.
    found = socket.socket()
    found.settimeout(SECONDS)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, interface.encode())
    return found


def heard(node: RealNode, pods: tuple[Seen, Seen], interfaces: tuple[str, str]) -> bytes:
    """What the second pod says on its interface to who calls from the first one's; else nothing."""
    caller, callee = pods
    with netns.inside(node.network(callee.pod)):
        listener = bound(interfaces[1])
        listener.bind((callee.interfaces[interfaces[1]][0], 0))
        listener.listen()
    with netns.inside(node.network(caller.pod)):
        speaker = bound(interfaces[0])
    with listener, speaker:
        try:
            speaker.connect(listener.getsockname())
        except OSError:  # Refused, unreachable or not answered.
            return b""
        with listener.accept()[0] as accepted:
            accepted.sendall(GREETING)
        return speaker.recv(len(GREETING))


def test_the_pods_of_a_job_have_the_same_rails_and_devices_of_their_own(
    pair: tuple[Seen, Seen],
) -> None:
    """Four rails each, two VFs of every one of them."""
    one, other = pair
    assert 4 == len(one.placement["rails"])
    assert one.placement["rails"] == other.placement["rails"]
    assert 8 == len({*one.passed.values(), *other.passed.values()})


def test_pods_reach_each_other_over_each_rail_and_over_no_wrong_one(
    pair: tuple[Seen, Seen], laid: RealNode
) -> None:
    """Every rail with every rail, in both directions."""
    rails = [f"rail{rail}" for rail in pair[0].placement["rails"]]
    one, other = pair
    for pods in ((one, other), (other, one)):
        spoken = {(a, b) for a in rails for b in rails if heard(laid, pods, (a, b)) == GREETING}
        assert {(rail, rail) for rail in rails} == spoken

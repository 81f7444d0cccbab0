"""Rails chosen at the bind, on the real node: what a Binding carries is what the pod gets."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from controlplane.installed import eventually
from realnode import seen
from realnode.node import RealNode
from realnode.seen import Seen

pytestmark = [pytest.mark.node, pytest.mark.parametrize("laid", ["macvlan-halves"], indirect=True)]
PODS = 4


@pytest.fixture(scope="module")
def quarters(laid: RealNode, room: str) -> Iterator[tuple[Seen, ...]]:
    """As many pods as fill the node with two GPUs each, running."""
    client, path = laid.cluster.client, f"/api/v1/namespaces/{room}/pods"
    for at in range(PODS):
        client.create(seen.document("macvlan-halves", 2, f"quarter-{at}"), room)
    yield tuple(seen.of(laid, room, f"quarter-{at}") for at in range(PODS))
    client.delete(path)
    eventually(lambda: not client.items(path), "the pods are gone", 40)


def test_pods_with_a_part_of_a_node_get_rails_of_their_own(quarters: tuple[Seen, ...]) -> None:
    """Each its two, none twice: whatever rails admission had in mind."""
    given = [tuple(one.placement["rails"]) for one in quarters]
    assert list(range(8)) == sorted(rail for rails in given for rail in rails)
    assert given != [tuple(one.injected["rails"]) for one in quarters]


def test_a_pods_interfaces_are_those_that_were_bound(quarters: tuple[Seen, ...]) -> None:
    """Multus reads the annotation after the Binding has changed it."""
    bound = [{f"rail{rail}" for rail in one.placement["rails"]} for one in quarters]
    assert bound == [set(one.interfaces) - {"lo", "eth0"} for one in quarters]

"""What is kept of a NodeRails."""

from __future__ import annotations

from dataclasses import replace

import audited
import placing
import pytest

from podrail.audit import sight
from podrail.audit.sight import Holding
from podrail.evidence.noderails import Allocation, NodeRails
from podrail.topology import Gpu, Nic, State

KEY = "team/worker-0"


def held(*allocations: Allocation, found: NodeRails | None = None) -> tuple[Holding, ...]:
    """What the pod holds by these allocations."""
    seen = sight.of(replace(found or audited.node_rails(), allocations=allocations))
    assert seen is not None
    return seen.pods[KEY]


def allocation(device: str, resource: str = "x/y", container: str = "train") -> Allocation:
    """One device of the pod."""
    return Allocation(resource, device, "team", "worker-0", container)


def test_devices_are_told_by_gpu_and_by_nic() -> None:
    """UUIDs and their replicas, addresses of GPUs, NICs and VFs; the rest by its resource."""
    found = held(
        allocation(f"{audited.gpu(1)}::3"),
        allocation("0000:22:00.0"),
        allocation(audited.virtual(5)),
        allocation("mlx5_6"),
        allocation("17", "rdma/shared"),
    )
    assert (Holding("train", (1, 2), (5, 6), ("rdma/shared",)),) == found


def test_containers_hold_their_own() -> None:
    """The launcher's GPU is not the trainer's."""
    found = held(allocation(audited.gpu(0)), allocation(audited.gpu(1), container="side"))
    assert (Holding("train", (0,)), Holding("side", (1,))) == found


def test_an_address_of_two_nics_tells_nothing() -> None:
    """The ports of a card share it."""
    whole = audited.topology()
    nics = tuple(replace(nic, pci="0000:60:00.0") for nic in whole.nics)
    found = replace(audited.node_rails(), observed=replace(whole, nics=nics))
    assert (("x/y",), ()) == (
        (one := held(allocation("0000:60:00.0"), found=found)[0]).others,
        one.nics,
    )


def test_nodes_of_a_kind_share_one_topology_whatever_their_state() -> None:
    """States and names are beside it."""
    one, other = audited.seen(), audited.seen(bad={3: State.DOWN}, name="n2")
    assert one.topology is other.topology
    assert (State.UP, State.DOWN) == (one.ports[3], other.ports[3])
    assert {"mlx5_3": "PortDown"} == other.causes
    assert one.nics is other.nics


def test_nics_without_a_rail_are_left_out() -> None:
    """Positions are those of the rails' NICs."""
    whole = audited.topology()
    manager = Nic("mlx5_m", None, 0, device="mlx5_m", pci="0000:10:00.0")
    tiers = tuple((None, *row) for row in whole.tiers)
    found = replace(whole, nics=(manager, *whole.nics), tiers=tiers)
    seen = sight.of(replace(audited.node_rails(), observed=found))
    assert seen is not None
    assert "mlx5_0" == seen.nics[0]
    assert (0,) == seen.pods[KEY][0].nics[:1]
    assert (8, 8) == (len(seen.topology.nics), len(seen.ports))


def test_gpus_that_are_not_healthy_are_named() -> None:
    """By index."""
    whole = audited.topology(placing.ALIGNED)
    cards = tuple(Gpu(card.id, healthy=at != 2) for at, card in enumerate(whole.cards))
    seen = sight.of(replace(audited.node_rails(), observed=replace(whole, cards=cards)))
    assert seen is not None
    assert (2,) == seen.unwell


def test_a_node_without_devices_is_not_seen() -> None:
    """An object that lists none says nothing of pods."""
    assert sight.of(NodeRails("n1")) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(audited.START, audited.STARTED, id="time"),
        pytest.param(None, None, id="none"),
        pytest.param("soon", None, id="no time"),
    ],
)
def test_a_moment_is_in_seconds(text: str | None, expected: float | None) -> None:
    """Since the epoch; None if it is none."""
    assert expected == sight.moment(text)

"""Which device is on which rail, and when the hash of what is free changes."""

from __future__ import annotations

from dataclasses import replace

import placing
import pytest

from podrail.evidence import rails
from podrail.evidence.noderails import Allocation, Host, Port
from podrail.observation import usage
from podrail.observation.usage import Usage
from podrail.topology import Gpu, State

SHAPE = placing.SHAPES["hgx-h100-8nic"]
TOPOLOGY = rails.numbered(
    replace(
        SHAPE,
        cards=tuple(Gpu(id=f"GPU-{at}") for at in range(8)),
        nics=tuple(
            replace(nic, name=f"mlx5_{at}", device=f"mlx5_{at}", pci=f"0000:6{at}:00.0")
            for at, nic in enumerate(SHAPE.nics)
        ),
    )
)
HOST = Host(
    ports=tuple(Port(f"mlx5_{at}", (), (f"0000:6{at}:00.1", f"0000:6{at}:00.2")) for at in range(8))
)
OFFERED = {
    "nvidia.com/gpu": frozenset(f"GPU-{at}" for at in range(8)),
    "example.com/rail1": frozenset({"0000:61:00.1", "0000:61:00.2"}),
    "rdma/shared": frozenset(str(at) for at in range(8)),
}


def held(resource: str, device: str, pod: str = "p") -> Allocation:
    return Allocation(resource, device, "team", pod, "train")


def hashed(*allocations: Allocation) -> str:
    return usage.free(TOPOLOGY, HOST, Usage(allocations, OFFERED))


def test_a_device_is_placed_by_its_identifier() -> None:
    """A GPU's, a PF's address, a VF's."""
    found = usage.places(TOPOLOGY, HOST)
    assert ["g3", "r1", "r1"] == [found[one] for one in ("GPU-3", "0000:61:00.0", "0000:61:00.2")]


def test_the_hash_is_sixteen_hex_digits_and_ever_the_same() -> None:
    """Other processes compare it."""
    found = hashed()
    assert 16 == len(found)
    assert int(found, 16) >= 0
    assert found == hashed()


@pytest.mark.parametrize(
    "allocation",
    [
        held("example.com/rail1", "0000:61:00.1"),
        held("nvidia.com/gpu", "GPU-3"),
        held("rdma/shared", "5"),
        held("gpu.nvidia.com", "n1/gpu-3"),
    ],
    ids=["vf", "gpu", "shared", "claim"],
)
def test_a_device_that_is_taken_changes_the_hash(allocation: Allocation) -> None:
    """And one that is given back changes it to what it was."""
    assert hashed() != hashed(allocation)


def test_who_holds_a_device_is_no_matter() -> None:
    """Nor which of a rail's VFs: what is free on each rail is the same."""
    one, other = (
        held("example.com/rail1", "0000:61:00.1"),
        held("example.com/rail1", "0000:61:00.2", "q"),
    )
    assert hashed(one) == hashed(other)


def test_a_replica_is_its_gpus() -> None:
    """NVIDIA's plugin adds a number for shared GPUs."""
    offered = {"nvidia.com/gpu": frozenset({"GPU-1::0", "GPU-1::1", "GPU-2::0"})}
    first, second = (
        usage.free(TOPOLOGY, HOST, Usage((held("nvidia.com/gpu", one),), offered))
        for one in ("GPU-1::0", "GPU-1::1")
    )
    other = usage.free(TOPOLOGY, HOST, Usage((held("nvidia.com/gpu", "GPU-2::0"),), offered))
    assert first == second
    assert first != other


def test_health_changes_the_hash() -> None:
    """A rail that comes up again is one for refused pods too."""
    down = (replace(TOPOLOGY.nics[0], state=State.DOWN), *TOPOLOGY.nics[1:])
    assert hashed() != usage.free(replace(TOPOLOGY, nics=down), HOST, Usage((), OFFERED))
    lost = (replace(TOPOLOGY.cards[0], healthy=False), *TOPOLOGY.cards[1:])
    assert hashed() != usage.free(replace(TOPOLOGY, cards=lost), HOST, Usage((), OFFERED))


def test_a_nic_has_the_resource_of_its_devices() -> None:
    """None where two plugins hand them out, or nobody does."""
    mixed = {**OFFERED, "a/b": frozenset({"0000:62:00.1"}), "a/c": frozenset({"0000:62:00.2"})}
    found = usage.named(TOPOLOGY, HOST, Usage((), mixed))
    assert ["", "example.com/rail1", ""] == [nic.resource for nic in found.nics[:3]]


def test_a_kubelet_that_tells_nothing_offers_nothing() -> None:
    """What is held alone makes the hash then."""
    taken = Usage((held("nvidia.com/gpu", "GPU-3"),))
    assert usage.free(TOPOLOGY, HOST, Usage()) != usage.free(TOPOLOGY, HOST, taken)


def test_a_nic_that_is_no_rail_has_no_place() -> None:
    """The front end's devices are nobody's rails."""
    first, *others = TOPOLOGY.nics
    without = replace(TOPOLOGY, nics=(replace(first, rail=None), *others))
    assert first.pci not in usage.places(without, HOST)

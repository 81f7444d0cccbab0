"""What a distance is worth."""

from __future__ import annotations

import placing

from podrail.topology import Evidence, Judged, Nic, Tier, Topology


def grace(gpu: int | None, nic: int | None) -> Topology:
    """One GPU and one NIC of a machine that is judged by NUMA."""
    return Topology("g", (gpu,), (Nic("a", 0, nic),), ((Tier.SYS,),), Judged.NUMA, Evidence.CATALOG)


def test_by_numa_a_pair_is_near_far_or_unknown() -> None:
    """The words of nvidia-smi do not count there."""
    assert [1.0, 0.2, 0.4] == [grace(0, numa).worth[0][0] for numa in (0, 1, None)]


def test_a_rail_is_as_near_as_its_nearest_nic() -> None:
    """Also where another NIC of it is unknown."""
    nics = (Nic("a", 0, 0), Nic("b", 0, 1))
    found = Topology("x", (0,), nics, ((None, Tier.PXB),), Judged.PCIE, Evidence.CATALOG)
    assert (Tier.PXB, 1.0, 0) == (found.tier(0, 0), found.worth[0][0], found.numa_of(0))


def test_a_rail_that_is_not_there_has_no_tier_and_no_numa_node() -> None:
    """Nothing is made up."""
    assert (None, None) == (placing.ALIGNED.tier(0, 99), placing.ALIGNED.numa_of(99))

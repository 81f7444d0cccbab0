"""What a pod can expect, on the machines that other schedulers got wrong."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import builders
import placing
import pytest
import states

from podrail import alignment
from podrail.kubelet.model import Refused
from podrail.kubelet.node import Policy
from podrail.score import outlook
from podrail.score.need import Need
from podrail.score.outlook import Outlook
from podrail.score.state import State
from podrail.topology import Judged, Tier, Topology

LOW, HIGH = (0, 1, 2, 3), (4, 5, 6, 7)


def expected(state: State, need: Need) -> Outlook:
    found = outlook.of(state, need)
    assert isinstance(found, Outlook)
    return found


def rails(many: int, *, named: str = "", partial: str = "Proportional") -> Any:
    """A fabric of counted rails."""
    resources = [{"name": f"x.io/rail{rail}", "rail": rail} for rail in range(many)]
    return builders.fabric(
        named or "made",
        attachment="SriovVF",
        rails={"count": many},
        resources=resources,
        partial=partial,
    )


def own(many: int, near: str, far: str, *, each: int = 1) -> list[str]:
    """Each group of GPUs near a NIC of its own, and far from all others."""
    return [
        " ".join(near if gpu // each == nic else far for nic in range(many // each))
        for gpu in range(many)
    ]


def test_asymmetric_pcie_takes_the_rails_that_leave_none_misplaced() -> None:
    """GPU 0 has three NICs, the others one each: 0 and 3 to 9, not 0 to 7 (koordinator#2646)."""
    rows = [
        " ".join("PIX" if max(0, nic - 2) == gpu else "SYS" for nic in range(10))
        for gpu in range(8)
    ]
    topology = states.machine(rows, numas=(0,) * 8)
    found = alignment.best(topology, tuple(range(8)), topology.rails)
    assert (1.0, (3, 4, 5, 6, 7, 8, 9)) == (found.worth, found.rails[1:])
    assert found.rails[0] in {0, 1, 2}
    assert alignment.best(topology, tuple(range(8)), tuple(range(8))).worth < 1


def test_one_gpu_taken_on_each_socket_leaves_no_half() -> None:
    """The next pod of four straddles, and gambles; a node with one half free does not (#696)."""
    need = states.need(states.RAILS, 4, annotations={"podrail.dev/rails": "4,5,6,7"})
    taken, whole = states.node(gpus=(1, 2, 3, 5, 6, 7)), states.node(gpus=(0, 1, 2, *HIGH))
    straddled, half = expected(taken, need), expected(whole, need)
    assert {3, 1} == {sum(gpu > 3 for gpu in gpus) for gpus, _ in straddled.gpu_sets}
    assert ((HIGH, 1.0),) == half.gpu_sets
    assert (1.0, 1.0) == (half.relative, half.certainty)
    assert (straddled.relative or 0) < 0.7
    assert (straddled.certainty or 0) < 1


MACHINES: dict[str, tuple[Topology, float, float]] = {
    "a NIC for each GPU": (states.machine(own(8, "PIX", "NODE"), numas=(0,) * 8), 1.0, 1.0),
    "A100, two GPUs and two NICs under a switch": (
        states.machine(
            [
                " ".join("PXB" if gpu // 2 == nic // 2 else "SYS" for nic in range(8))
                for gpu in range(8)
            ],
            numas=(0,) * 8,
        ),
        1.0,
        1.0,
    ),
    "p4d, a NIC for two GPUs": (
        states.machine(own(8, "PIX", "SYS", each=2), numas=(0,) * 8),
        1.0,
        1.0,
    ),
    "reversed rails": (
        states.machine(
            [" ".join("PIX" if gpu + nic == 7 else "SYS" for nic in range(8)) for gpu in range(8)],
            numas=(0,) * 8,
        ),
        1.0,
        1.0,
    ),
    "GB200, all SYS, by NUMA node": (
        states.machine(
            ["SYS SYS SYS SYS"] * 4, numas=(0, 0, 1, 1), nics=(0, 0, 1, 1), judged=Judged.NUMA
        ),
        1.0,
        1.0,
    ),
    "a guest without PCIe": (states.machine(["NODE NODE"] * 2, numas=(0, 0)), 1.0, 0.5),
    "all NICs on the other socket": (states.machine(["SYS SYS"] * 2, numas=(1, 1)), 1.0, 0.2),
}


@pytest.mark.parametrize(("topology", "relative", "worth"), MACHINES.values(), ids=MACHINES)
def test_a_whole_node_is_at_its_own_best(topology: Topology, relative: float, worth: float) -> None:
    """Whatever that is worth beside other machines."""
    fabric = rails(len(topology.rails))
    found = expected(states.node(topology), states.need(fabric, len(topology.gpus)))
    assert (relative, worth, 1.0) == (found.relative, found.worth, found.certainty)


def test_rails_fixed_at_admission_may_be_those_of_other_gpus() -> None:
    """One GPU of eight with rail 0: near once, on its socket three times, far four times."""
    need = states.need(states.RAILS, 1, annotations={"podrail.dev/rails": "0"})
    found = expected(states.node(), need)
    assert pytest.approx((1.0 + 3 * 0.5 + 4 * 0.2) / 8) == found.worth
    assert 0 < (found.certainty or 0) < 1
    assert 1.0 == expected(states.node(gpus=(0,)), need).worth
    steered = expected(states.node(policy=Policy.BEST_EFFORT), need)
    assert pytest.approx((1.0 + 3 * 0.5) / 4) == steered.worth


def test_the_rails_of_reversed_machines_are_found_by_distance() -> None:
    """GPU 0 is served by rail 7, which the order of addresses would never say."""
    topology = MACHINES["reversed rails"][0]
    fabric = replace(states.need(states.ALL_RAILS, 1), gpus=1)
    found = expected(states.node(topology, gpus=(0,)), fabric)
    assert (((7, 1.0),), Tier.PIX) == (found.used, found.tier)


def test_a_pool_gives_rails_by_chance() -> None:
    """A whole node with as many NICs as GPUs gets them all; one VF of a pool is any port's."""
    need = states.need(states.POOL, 1)
    found = expected(states.node(gpus=(0,)), need)
    assert pytest.approx((1.0 + 3 * 0.5 + 4 * 0.2) / 8) == found.worth
    assert pytest.approx(dict.fromkeys(range(8), 1 / 8), abs=1e-5) == dict(found.used)


def test_late_rails_fit_the_gpus_that_are_left() -> None:
    """So the node is at its best, where counted ones gamble."""
    found = expected(states.node(gpus=HIGH), states.need(states.SHARED, 4))
    assert (HIGH, 1.0, 1.0) == (found.rails, found.relative, found.certainty)


def test_what_the_kubelet_is_sure_to_refuse_has_no_outlook() -> None:
    """Rails of both sockets under the policy restricted."""
    state = states.node(policy=Policy.RESTRICTED)
    assert isinstance(outlook.of(state, states.need(rails(8), 8)), Refused)


@pytest.mark.parametrize("fabric", ["tcp", "macvlan-rails"])
def test_without_rails_on_the_node_nothing_is_aligned(fabric: str) -> None:
    """There is no number for what does not apply."""
    bare = states.machine(["SYS"] * 8, numas=(0,) * 8)
    node = replace(bare, nics=(), tiers=((),) * 8)
    found = expected(states.node(node), states.need(builders.shipped()[fabric], 8))
    assert (None, None, None, None) == (found.worth, found.relative, found.certainty, found.tier)
    assert placing.ALIGNED.rails


def test_a_pod_that_takes_the_rails_of_other_gpus_spoils_their_pairs() -> None:
    """GPU 4 with rail 0 leaves GPU 0 without its rail."""
    fabric = rails(8, named="own")
    need = states.need(fabric, 1, annotations={"podrail.dev/rails": "0"})
    fitting, spoiling = (expected(states.node(gpus=some), need) for some in ((0,), (4,)))
    assert fitting.kept >= spoiling.kept
    assert (fitting.worth or 0) > (spoiling.worth or 0)
    gone = {"x.io/rail5": 0}
    other, none = (expected(states.node(gpus=(0, 5), free=free), need) for free in ({}, gone))
    assert none.kept != other.kept

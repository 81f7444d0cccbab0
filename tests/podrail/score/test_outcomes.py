"""What a pod may get: policies against kinds of resources, and what is known by number only."""

from __future__ import annotations

import math
from typing import Any

import builders
import placing
import pytest
import states

from podrail.kubelet import model
from podrail.kubelet.model import Refused
from podrail.kubelet.node import Policy
from podrail.score import machine, outcomes
from podrail.score.need import Need
from podrail.score.outcomes import Lot
from podrail.score.state import State

LOW, HIGH = (0, 1, 2, 3), (4, 5, 6, 7)


def lot(state: State, need: Need) -> Lot:
    found = outcomes.of(state, need)
    assert isinstance(found, Lot)
    assert math.isclose(1.0, found.refused + sum(one.chance for one in found.got))
    return found


def gpus(state: State, need: Need) -> dict[tuple[int, ...], float]:
    """The sets of GPUs that may come."""
    found: dict[tuple[int, ...], float] = {}
    for one in lot(state, need).got:
        found[one.gpus] = found.get(one.gpus, 0.0) + one.chance
    return found


def per_rail(many: int) -> Need:
    """Rails of their own, the first ones."""
    text = ",".join(str(rail) for rail in range(many))
    return states.need(states.RAILS, many, annotations={"podrail.dev/rails": text})


@pytest.mark.parametrize(
    ("need", "policy", "sets"),
    [
        pytest.param(per_rail(4), Policy.NONE, {LOW: 0.5, HIGH: 0.5}, id="per rail, none"),
        pytest.param(per_rail(4), Policy.BEST_EFFORT, {LOW: 1.0}, id="per rail, best-effort"),
        pytest.param(per_rail(4), Policy.RESTRICTED, {LOW: 1.0}, id="per rail, restricted"),
        pytest.param(
            states.need(states.POOL, 4), Policy.NONE, {LOW: 0.5, HIGH: 0.5}, id="pooled, none"
        ),
        pytest.param(
            states.need(states.SHARED, 4), Policy.NONE, {LOW: 0.5, HIGH: 0.5}, id="shared, none"
        ),
        pytest.param(
            states.need(states.SHARED, 4), Policy.RESTRICTED, {LOW: 1.0}, id="shared, restricted"
        ),
    ],
)
def test_policies_steer_the_gpus_by_what_else_has_a_numa_node(
    need: Need, policy: Policy, sets: dict[tuple[int, ...], float]
) -> None:
    """The tables D3 to D5 of the kubelet, seen from a state."""
    assert pytest.approx(sets) == gpus(states.node(policy=policy), need)


def test_the_quick_way_without_a_policy_agrees_with_the_kubelet_model() -> None:
    """GPUs and NICs are drawn apart there, and come to the same chances."""
    need = states.need(states.POOL, 1)
    state = states.node(gpus=(0, 1, 5))
    (possible,) = machine.possible(state, need)
    whole = model.outcomes(possible.node, need.containers)
    assert not isinstance(whole, Refused)
    expected = {(one.gpus, one.nics): float(one.chance) for one in whole.outcomes}
    found = {(one.gpus, one.nics): one.chance for one in lot(state, need).got}
    assert pytest.approx(expected) == found


def test_a_number_of_free_gpus_stands_for_every_set_of_that_many() -> None:
    """Seven of eight: each may be the one that is taken."""
    found = gpus(states.node(free={states.GPU: 7}), states.need(gpus=1))
    assert pytest.approx(dict.fromkeys([(gpu,) for gpu in range(8)], 1 / 8)) == found
    assert {one.free for one in lot(states.node(gpus=(0, 5)), states.need(gpus=1)).got} == {(0, 5)}


def test_two_free_gpus_for_a_pod_of_two_are_what_it_gets() -> None:
    """There is no choice left, wherever they are."""
    assert {(3, 4): 1.0} == gpus(states.node(gpus=(3, 4)), states.need(gpus=2))


@pytest.mark.parametrize("policy", Policy)
def test_a_whole_node_is_one_outcome(policy: Policy) -> None:
    """Of shared devices, and so of any policy that admits it."""
    found = outcomes.of(states.node(policy=policy), states.need(states.ALL_RAILS, 8))
    if policy is Policy.SINGLE_NUMA_NODE:
        assert isinstance(found, Refused)
        return
    assert isinstance(found, Lot)
    assert [(*LOW, *HIGH)] == [one.gpus for one in found.got]


def test_kube_scheduler_knows_better_what_is_free() -> None:
    """Our view may be behind: a pod that it lets through finds as much as it asks for."""
    assert gpus(states.node(free={states.GPU: 0}), states.need(gpus=4))
    assert gpus(states.node(gpus=()), states.need(gpus=4))


def test_many_outcomes_are_thinned_without_losing_chance() -> None:
    """A pool's VFs come in thousands of ways."""
    found = lot(states.node(), states.need(states.POOL, 4))
    assert 10 < len(found.got) <= outcomes.MOST


def test_a_pool_that_is_nearly_used_up_leaves_any_of_its_ports() -> None:
    """Host devices: two of eight are free, and nobody knows which."""
    name = "x.io/nic"
    fabric = builders.fabric(
        attachment="HostDevice",
        rails={"count": 8},
        resources=[{"name": name, "count": {"per": "GPU", "value": 1}}],
    )
    found = lot(states.node(free={name: 2}), states.need(fabric, 1))
    assert len({one.nics for one in found.got}) > 4


def test_eight_numa_nodes_are_no_burden() -> None:
    """NPS4: kubelets from 1.36 on combine only NUMA nodes that bear the devices."""
    rows = [" ".join("PIX" if gpu == nic else "SYS" for nic in range(8)) for gpu in range(8)]
    node = states.machine(rows, numas=range(8), nics=range(8))
    need = per_rail(8)
    found: Any = outcomes.of(states.node(node, policy=Policy.BEST_EFFORT), need)
    assert [tuple(range(8))] == [one.gpus for one in found.got]
    assert isinstance(outcomes.of(states.node(node, policy=Policy.RESTRICTED), need), Refused)
    assert placing.ALIGNED is not node


def test_sets_of_gpus_that_the_kubelet_would_refuse_count_as_refusals() -> None:
    """Six free GPUs hold a free half or not: 12 of 28 times, as nobody knows which are taken."""
    need = states.need(states.SHARED, 4)
    found = lot(states.node(free={states.GPU: 6}, policy=Policy.RESTRICTED), need)
    assert pytest.approx(16 / 28, abs=0.1) == found.refused
    assert {LOW, HIGH} == {one.gpus for one in found.got}

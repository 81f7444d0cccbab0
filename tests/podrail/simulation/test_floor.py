"""The nodes of a simulation while pods come and go."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import fuzz
import pytest
import simulated
from hypothesis import given
from hypothesis import strategies as st

from podrail.fabric import Profile
from podrail.score.outcomes import Got, Lot
from podrail.simulation import floor as floors
from podrail.simulation.floor import Floor


def snapshot(floor: Floor) -> list[tuple[object, list[int]]]:
    """The kinds with their nodes."""
    kinds = floor.kinds(lambda _one: True)
    return sorted(((kind.at, sorted(kind.nodes)) for kind in kinds), key=lambda one: one[1])


def test_nodes_in_one_place_and_state_are_one_kind() -> None:
    """A pod on one of them makes another kind of it."""
    floor = Floor(simulated.nodes("podrail-aligned:4:2"))
    (order,) = simulated.orders(simulated.job(gpus=8))
    got = floor.draw(1, order, Random(1).random)
    assert got is not None
    floor.seat(1, order, got, order.need.rails)
    assert [[0], [1], [2, 3]] == sorted(sorted(kind.nodes) for kind in floor.kinds(lambda _: True))


@pytest.mark.parametrize("fabric", [simulated.RAILS, simulated.POOL], ids=["rails", "pool"])
@fuzz.examples(20)
@given(gpus=st.lists(st.sampled_from([1, 2, 4]), min_size=1, max_size=8), seed=st.integers(0, 99))
def test_seating_and_leaving_is_undone(fabric: Profile, gpus: list[int], seed: int) -> None:
    """GPUs and devices are handed out once, and all come back."""
    chance = Random(seed).random
    floor = Floor(simulated.nodes("podrail-aligned:2", fabric=fabric))
    before, seated = snapshot(floor), []
    for at, many in enumerate(gpus):
        (order,) = simulated.orders(simulated.job(f"j{at}", gpus=many), fabric=fabric)
        node = next((n for n in (0, 1) if floor.kind(n).at.fits(order.asked)), None)
        got = None if node is None else floor.draw(node, order, chance)
        if node is not None and got is not None:
            seated.append(floor.seat(node, order, got, order.need.rails))
    for node in (0, 1):
        held = [gpu for one in seated if one.node == node for gpu in one.gpus]
        nics = [nic for one in seated if one.node == node for nic in one.nics]
        assert (len(set(held)), len(set(nics))) == (len(held), len(nics))
    for one in seated:
        floor.leave(one)
    assert before == snapshot(floor)
    assert not any(count for load in floor.loads for count in load.values())


def test_on_an_unknown_node_nothing_is_paired() -> None:
    """Its devices are counted all the same."""
    (spot,) = simulated.nodes("podrail-aligned:1")
    floor = Floor((replace(spot, state=None),))
    (order,) = simulated.orders(simulated.job(gpus=8))
    got = floor.draw(0, order, Random(1).random)
    assert got is not None
    assert ((), ()) == (floor.seat(0, order, got, order.need.rails).serving, got.gpus)
    assert 0 == floor.kind(0).at.left("nvidia.com/gpu")


def test_where_only_the_number_of_free_gpus_is_known_that_is_counted() -> None:
    """Seating a pod names no GPU of the node, and leaving gives none back."""
    (spot,) = simulated.nodes("podrail-aligned:1")
    assert spot.state is not None
    floor = Floor((replace(spot, state=replace(spot.state, gpus=None)),))
    (order,) = simulated.orders(simulated.job(gpus=8))
    got = floor.draw(0, order, Random(1).random)
    assert got is not None
    floor.leave(floor.seat(0, order, got, order.need.rails))
    known = floor.kind(0).at.state
    assert known is not None
    assert known.gpus is None


@pytest.mark.parametrize(("refused", "drawn"), [(0, True), (1, False)])
def test_the_last_outcome_stands_for_what_rounding_left(refused: int, drawn: bool) -> None:
    """A draw beyond all chances is the last outcome, unless there were refusals."""
    got = Got((0,), (0,), (0,), 0.5)
    found = floors.drawn(Lot((got,), refused=refused / 2), lambda: 0.9)
    assert (got if drawn else None) == found

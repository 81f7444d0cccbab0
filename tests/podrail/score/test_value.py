"""The worth of nodes: a mean of parts that is monotone, and points that name the best."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import replace

import builders
import checkout
import placing
import pytest
import states
from fuzz import examples
from hypothesis import given
from hypothesis import strategies as st

from podrail.kubelet.node import Policy
from podrail.locality import Place
from podrail.score import kin, value, weights
from podrail.score.kin import ANYWHERE, NOBODY, Kin, Near
from podrail.score.need import Need
from podrail.score.state import State
from podrail.score.weights import Part
from podrail.topology import Gpu, Topology

WHOLE = states.need()
ONE = states.need(states.SHARED, 1)
HALF = states.need(states.SHARED, 4)
LOW, HIGH = (0, 1, 2, 3), (4, 5, 6, 7)
UNITS = st.floats(0, 1).map(lambda number: round(number, 3))
VALUES = st.lists(st.none() | UNITS, min_size=1, max_size=8)


def worth(state: State, need: Need, kin_: Kin = NOBODY, near: Near = ANYWHERE) -> float:
    found = value.score(state, need, kin_, near).value
    assert found is not None
    return found


def parts(state: State, need: Need, kin_: Kin = NOBODY) -> Mapping[Part, float]:
    return value.score(state, need, kin_).parts


def mean(some: Iterable[tuple[Part, float]]) -> float | None:
    """The value that a node with these parts has."""
    listed = tuple(some)
    return value._value(value.Base(listed, *value._sums(listed), 1.0), 0.0, 0)


def of_kind(product: str, gbps: int) -> State:
    """An aligned node with these GPUs and NICs."""
    nics = tuple(replace(nic, gbps=gbps) for nic in placing.ALIGNED.nics)
    topology = replace(placing.ALIGNED, nics=nics, cards=(Gpu(product=product),) * 8)
    return states.node(topology)


def test_an_aligned_machine_is_worth_more_than_a_crossed_one() -> None:
    """Although each is at its own best."""
    crossed = states.node(placing.CROSSED)
    assert 1.0 == parts(crossed, WHOLE)[Part.ALIGNMENT]
    assert worth(crossed, WHOLE) < worth(states.node(), WHOLE) / 2


def test_a_pod_that_takes_a_whole_node_with_its_rails_leaves_nothing_to_others() -> None:
    """Nor could it do otherwise; one without rails leaves others the rails that it has no use for."""
    bare = states.need(builders.shipped()["tcp"], 8)
    assert Part.PACKING not in parts(states.node(), WHOLE)
    assert [0.2, 1.0] == [
        parts(states.node(one), bare)[Part.PACKING] for one in (placing.ALIGNED, placing.CROSSED)
    ]


@pytest.mark.parametrize(
    ("need", "better"),
    [
        pytest.param(states.need(builders.shipped()["tcp"], 8), placing.CROSSED, id="no rails"),
        pytest.param(states.need(states.RAILS, 1), placing.CROSSED, id="a rail by chance"),
        pytest.param(states.need(states.ALL_RAILS, 1), placing.ALIGNED, id="one of all rails"),
        pytest.param(states.need(states.RAILS, 8), placing.ALIGNED, id="a whole node"),
    ],
)
def test_near_rails_are_for_pods_that_make_something_of_them(need: Need, better: Topology) -> None:
    """A pod to which they are worth little leaves the node to others."""
    worths = {one: worth(states.node(one), need) for one in (placing.ALIGNED, placing.CROSSED)}
    assert better == max(worths, key=worths.__getitem__)


def test_a_node_without_a_choice_beats_one_that_gambles() -> None:
    """One free GPU, whose own rail the pod will get."""
    need = states.need(states.RAILS, 1, annotations={"podrail.dev/rails": "2"})
    assert worth(states.node(gpus=(2,)), need) > worth(states.node(), need)
    assert worth(states.node(), need) > worth(states.node(gpus=(5,)), need)


def test_a_pod_goes_where_it_breaks_nothing() -> None:
    """A half to a half that is free beside a taken one, not to an empty node."""
    assert worth(states.node(gpus=HIGH), HALF) > worth(states.node(), HALF)


def test_a_job_goes_on_with_its_own_rails() -> None:
    """The upper half is free here and the lower there; the others of the job have the upper."""
    job = kin.of(dict.fromkeys(HIGH, 3))
    upper, lower = (worth(states.node(gpus=gpus), HALF, job) for gpus in (HIGH, LOW))
    assert upper > lower


def test_rails_that_nobody_uses_are_better() -> None:
    """All of a pod that takes every rail share by its profile, and share they do."""
    need = states.need(states.ALL_RAILS, 8)
    busy = states.node(used=dict.fromkeys(range(8), 1))
    assert worth(busy, need) < worth(states.node(), need)
    assert 0.5 == parts(busy, need)[Part.QUIET]
    assert Part.QUIET not in parts(busy, WHOLE)


JOB = kin.of({0: 1}, {"H100"}, {400})


@pytest.mark.parametrize(
    ("node", "likeness"),
    [
        pytest.param(of_kind("H100", 400), 1.0, id="the same"),
        pytest.param(of_kind("H100", 200), 0.2, id="slower NICs"),
        pytest.param(of_kind("A100", 400), 0.0, id="other GPUs"),
        pytest.param(states.node(), None, id="unknown"),
    ],
)
def test_likeness_is_that_of_gpus_and_nics(node: State, likeness: float | None) -> None:
    """What is not known is no difference."""
    assert likeness == parts(node, WHOLE, JOB).get(Part.LIKENESS)


@given(UNITS, UNITS)
@examples(100)
def test_a_job_is_mixed_only_if_nothing_else_fits(near: float, far: float) -> None:
    """However close the other node is, and however bad and far away the one of the job's kind."""
    crossed = replace(placing.CROSSED, cards=(Gpu(product="H100"),) * 8)
    nics = tuple(replace(nic, gbps=400) for nic in crossed.nics)
    alike = worth(states.node(replace(crossed, nics=nics)), WHOLE, JOB, Near(near, near))
    for other in (of_kind("A100", 400), of_kind("H100", 200)):
        assert worth(other, WHOLE, JOB, Near(far, far)) < alike


def test_no_part_outweighs_likeness() -> None:
    """The worst of the job's kind beats the best of another NIC speed."""
    rest = sum(weight for part, weight in weights.WEIGHTS.items() if part is not Part.LIKENESS)
    assert weights.WEIGHTS[Part.LIKENESS] * (1 - weights.OTHER_SPEED) > rest


def test_time_sliced_gpus_cannot_be_scored() -> None:
    """A share of a GPU has no rail, and nobody knows which GPU it is of."""
    assert (None, {}) == (
        value.score(replace(states.node(), sliced=True), ONE).value,
        value.score(replace(states.node(), sliced=True), ONE).parts,
    )


def test_where_the_kubelet_refuses_only_a_low_score_is_left() -> None:
    """For profiles without patience."""
    found = value.score(states.node(policy=Policy.SINGLE_NUMA_NODE), states.need(states.POOL, 8))
    assert (True, 0.0) == (found.refused, found.value)


@given(st.sampled_from(["closeness", "neighbours", "block"]), UNITS, UNITS)
@examples(100)
def test_a_better_place_is_worth_more(part: str, one: float, other: float) -> None:
    """All else equal, whichever part of the place it is; equal ones are worth the same."""
    found = [worth(states.node(), HALF, near=Near(**{part: place})) for place in (one, other)]
    assert (one < other) == (found[0] < found[1])


@given(
    st.lists(UNITS, min_size=11, max_size=11),
    st.integers(0, 10),
    UNITS,
    st.sets(st.integers(0, 10)),
)
@examples(200)
def test_a_better_part_is_always_worth_more(
    units: list[float], at: int, better: float, left_out: set[int]
) -> None:
    """For any part and whichever others apply: the mean's law."""
    listed = list(zip(Part, units, strict=True))
    applying = [pair for place, pair in enumerate(listed) if place not in left_out or place == at]
    changed = [(part, better if part is listed[at][0] else unit) for part, unit in applying]
    before, after = (mean(some) for some in (applying, changed))
    assert before is not None
    assert after is not None
    assert (units[at] < better) == (before < after)


@given(VALUES)
@examples(200)
def test_points_are_integers_and_the_best_node_alone_has_ten(values: list[float | None]) -> None:
    """A worse one has at most nine; unknown is in the middle if anything is known."""
    points = value.points(values)
    known = [one for one in values if one is not None]
    for one, point in zip(values, points, strict=True):
        assert type(point) is int
        if one is None:
            assert point == (5 if known else 0)
        else:
            assert (point == 10) == (one == max(known))
            assert 0 <= point <= 10


def test_points_are_the_share_of_the_best_rounded_down() -> None:
    """So that nearly as good is never as good."""
    assert [10, 9, 4, 0] == value.points([0.8, 0.799, 0.399, 0.0])


@given(VALUES, st.randoms(use_true_random=False))
@examples(100)
def test_the_order_of_the_nodes_does_not_matter(
    values: list[float | None], chance: random.Random
) -> None:
    """Each keeps its points."""
    places = list(range(len(values)))
    chance.shuffle(places)
    shuffled = value.points([values[at] for at in places])
    assert [value.points(values)[at] for at in places] == shuffled


@given(VALUES, st.none() | UNITS)
@examples(200)
def test_another_node_does_not_turn_the_order_of_the_others(
    values: list[float | None], added: float | None
) -> None:
    """One that is no better than the best changes nothing at all."""
    before, after = value.points(values), value.points([*values, added])[:-1]
    known = [one for one in values if one is not None]
    if known and (added is None or added <= max(known)):
        assert before == after
    pairs = [
        (a, b)
        for a in range(len(values))
        for b in range(len(values))
        if None not in (values[a], values[b])
    ]
    assert all(after[a] <= after[b] for a, b in pairs if before[a] < before[b])


STATES = (
    None,
    states.node(),
    states.node(gpus=HIGH),
    states.node(gpus=(0, 5)),
    states.node(placing.CROSSED),
    states.node(free={states.GPU: 7}),
)
HERE, THERE, ELSEWHERE = (Place(leaf=name) for name in ("a", "b", "c"))
NEARS = {HERE: Near(0.9), THERE: Near(0.4)}


@given(
    st.lists(
        st.tuples(st.sampled_from(STATES), st.sampled_from([HERE, THERE, ELSEWHERE])), max_size=40
    )
)
@examples(60)
def test_many_nodes_have_the_values_that_each_has_alone(
    nodes: list[tuple[State | None, Place]],
) -> None:
    """In their order; a place of which nothing is known is anywhere."""
    seats = [value.seat(*one) for one in nodes]
    alone = [
        None if state is None else value.score(state, ONE, JOB, NEARS.get(place, ANYWHERE)).value
        for state, place in nodes
    ]
    assert alone == value.values(seats, ONE, JOB, NEARS)
    assert value.points(alone) == value.scores(seats, ONE, JOB, NEARS)


def test_each_state_is_looked_at_once() -> None:
    """Five thousand nodes in three states cost three looks."""
    need = states.need(states.SHARED, 2)
    seats = [value.seat(STATES[1 + at % 3], Place(leaf=str(at % 7))) for at in range(5000)]
    before = value.base.cache_info().misses
    value.values(seats, need, NOBODY, {})
    assert 3 == value.base.cache_info().misses - before
    assert 21 == len(set(seats))


def test_a_pod_without_rails_is_scored_by_what_is_left() -> None:
    """What it breaks up and where it is; it has no rails to be near to, busy or broken."""
    need = states.need(builders.shipped()["tcp"], 4)
    assert {Part.PACKING} == set(parts(states.node(), need, JOB))
    assert worth(states.node(gpus=HIGH), need) > worth(states.node(), need)
    near, far = (worth(states.node(), need, near=Near(one)) for one in (0.9, 0.4))
    assert near > far


def test_fewer_healthy_gpus_than_the_pod_asks_for_are_worth_little() -> None:
    """kube-scheduler counts devices, so it is no refusal of ours."""
    cards = tuple(Gpu(f"G{gpu}", healthy=gpu != 3) for gpu in range(8))
    found = value.score(states.node(replace(placing.ALIGNED, cards=cards)), WHOLE)
    assert (0.0, True) == (found.value, found.refused)


def test_the_page_is_up_to_date() -> None:
    """docs/user/score.md ends with the table: write weights.table() there after a change."""
    page = checkout.text(checkout.ROOT / "docs/user/score.md")
    assert page.endswith(weights.table())


def test_the_usual_rail_of_a_job_counts_in_full() -> None:
    """Others by how many of its pods use them."""
    found = kin.of({0: 4, 1: 4, 2: 1, 3: 0}, {"H100", ""}, {400})
    assert [1.0, 1.0, 0.25, 0.0] == [found.share(rail) for rail in range(4)]
    assert (frozenset({"H100"}), frozenset({400})) == (found.products, found.speeds)

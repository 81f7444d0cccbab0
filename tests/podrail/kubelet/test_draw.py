from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations

import fuzz
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podrail.kubelet import draw
from podrail.kubelet.node import Counts, Plugin, Stock

FREE = st.lists(st.integers(0, 3), min_size=1, max_size=4).map(tuple)


@fuzz.examples(50)
@given(FREE, st.data())
def test_blind_draws_count_sets_of_devices(free: Counts, data: st.DataObject) -> None:
    """A number of each card is as likely as the sets of devices that make it are many."""
    want = data.draw(st.integers(0, sum(free)))
    owners = [card for card, count in enumerate(free) for _ in range(count)]
    sets = [
        tuple(some.count(card) for card in range(len(free))) for some in combinations(owners, want)
    ]
    expected = {one: Fraction(ways, len(sets)) for one, ways in Counter(sets).items()}
    assert expected == dict(draw.blind(free, want, 10_000).chances)


@fuzz.examples(50)
@given(FREE, st.data(), st.integers(1, 4))
def test_thinned_draws_are_draws(free: Counts, data: st.DataObject, most: int) -> None:
    """Thinning leaves at most so many outcomes, each possible, with chances that add up to one."""
    want = data.draw(st.integers(0, sum(free)))
    whole, few = draw.blind(free, want, 10_000), draw.blind(free, want, most)
    assert len(few.chances) <= most
    assert few.exact == (len(whole.chances) <= most)
    assert sum(chance for _, chance in few.chances) == 1
    assert {one for one, _ in few.chances} <= {one for one, _ in whole.chances}


def test_thinning_is_even() -> None:
    """Marks stand at a quarter and three quarters, and both fall on the likeliest outcome."""
    known = draw.Draw((((0,), Fraction(1, 8)), ((1,), Fraction(6, 8)), ((2,), Fraction(1, 8))))
    assert (((1,), Fraction(1)),) == draw.thinned(known, 2).chances


@pytest.mark.parametrize(
    ("plugin", "free", "had", "want", "expected"),
    [
        pytest.param(Plugin.DISTRIBUTED, (2, 1, 2), (0, 0, 0), 1, {(1, 0, 0), (0, 0, 1)}, id="d1"),
        pytest.param(Plugin.DISTRIBUTED, (2, 1, 2), (0, 0, 0), 2, {(1, 0, 1)}, id="d2"),
        pytest.param(Plugin.PACKED, (2, 1, 2), (0, 0, 0), 1, {(0, 1, 0)}, id="p1"),
        pytest.param(Plugin.PACKED, (2, 1, 2), (0, 0, 0), 3, {(2, 1, 0), (0, 1, 2)}, id="p3"),
        pytest.param(Plugin.SPREAD, (1, 2, 2), (1, 0, 0), 2, {(0, 1, 1)}, id="spread past had"),
    ],
)
def test_replicas(
    plugin: Plugin, free: Counts, had: Counts, want: int, expected: set[Counts]
) -> None:
    """Replicas come from the least held card, the most held one, or one not picked from yet."""
    found = draw.replicas(plugin, (2, 2, 2), Stock(free, had), want)
    assert expected == {one for one, _ in found.chances}
    assert sum(chance for _, chance in found.chances) == 1


def test_a_later_tie_is_not_exact() -> None:
    """When equal cards come up again their order is the plugin's own, and the draw says so."""
    one = draw.replicas(Plugin.DISTRIBUTED, (2, 2, 2), Stock((2, 2, 2), (0, 0, 0)), 1)
    two = draw.replicas(Plugin.DISTRIBUTED, (2, 2, 2), Stock((2, 2, 2), (0, 0, 0)), 2)
    assert (True, False) == (one.exact, two.exact)

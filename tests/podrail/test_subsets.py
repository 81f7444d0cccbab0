"""Subsets in order, and samples of them."""

from __future__ import annotations

from itertools import combinations

import pytest

from podrail import subsets


@pytest.mark.parametrize(("whole", "size"), [(5, 1), (6, 3), (8, 4)])
def test_a_subset_is_found_by_its_number(whole: int, size: int) -> None:
    """The numbers count the subsets in order."""
    every = list(combinations(range(whole), size))
    assert every == [subsets.numbered(whole, size, number) for number in range(len(every))]
    assert every == subsets.some(whole, size, len(every))


def test_a_sample_is_spread_over_all_subsets() -> None:
    """Different ones, in order, from the first to near the last; nobody counts 1.8e18 of them."""
    found = subsets.some(64, 32, 100)
    assert (100, sorted(set(found))) == (len(found), found)
    assert (0, True) == (found[0][0], found[-1][0] > 0)

"""The numbers of small cases, worked out by hand; the Go package itself is asked in differential/."""

from __future__ import annotations

from fractions import Fraction

import pytest

from podrail.kubelet import node, partition
from podrail.kubelet.partition import Links, Preference

FLAT = tuple(tuple(0 if a == b else 10 for b in range(16)) for a in range(16))


def pairs(worths: dict[tuple[int, int], int], many: int) -> Links:
    """Links of which only some are worth anything."""
    return tuple(
        tuple(worths.get((min(a, b), max(a, b)), 0) for b in range(many)) for a in range(many)
    )


def test_the_best_pair_is_in_the_best_partition() -> None:
    """Pairs 0-1 and 2-3 are worth 110 together, so 0-2 with 100 alone is not taken."""
    links = pairs({(0, 1): 60, (2, 3): 50, (0, 2): 100}, 4)
    assert Preference(((0b0011, Fraction(1)),)) == partition.preferred(links, 0b1111, 0, 2)


def test_the_required_gpus_are_among_the_set() -> None:
    """A set that leaves out what the container has already is never taken."""
    links = pairs({(0, 1): 60, (2, 3): 50, (0, 2): 100}, 4)
    assert Preference(((0b1100, Fraction(1)),)) == partition.preferred(links, 0b1111, 0b100, 2)


def test_equal_gpus_are_equally_likely() -> None:
    """Where all pairs are worth the same each set has the same chance."""
    found = partition.preferred(FLAT, 0b1111, 0, 2)
    assert ({Fraction(1, 6)}, 6) == ({chance for _, chance in found.sets}, len(found.sets))


def test_a_short_set_is_no_preference() -> None:
    """If the short rest is worth most the plugin fails on it, and nothing is preferred."""
    links = pairs({(0, 1): 1800, (2, 3): 10, (2, 4): 10, (3, 4): 10}, 5)
    assert Preference(((0, Fraction(1)),)) == partition.preferred(links, 0b11111, 0, 3)


def test_the_first_partition_decides_which_set_is_best() -> None:
    """0-1, 2-3, 4-5 are worth what 0-1, 2-4, 3-5 are; the one named first says what its best is."""
    links = pairs({(0, 1): 10, (2, 3): 10, (4, 5): 10, (2, 4): 20}, 6)
    sixth = Fraction(1, 6)
    expected = ((0b000011, sixth), (0b001100, sixth), (0b010100, Fraction(1, 2)), (0b110000, sixth))
    assert Preference(expected) == partition.preferred(links, 0b111111, 0, 2)


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        pytest.param(2, 120, id="all pairs"),
        pytest.param(3, 560, id="all triples"),
        pytest.param(7, 1, id="no preference at all"),
    ],
)
def test_many_gpus_are_lumped(size: int, expected: int) -> None:
    """With too many partitions to look at the answer is the best sets by themselves, not exact."""
    found = partition.preferred(FLAT, 2**16 - 1, 0, size)
    assert (False, expected, 1) == (found.exact, len(found.sets), sum(p for _, p in found.sets))


def test_lumped_sets_are_the_best() -> None:
    """Of 16 GPUs on two boards only sets on one board are looked for."""
    links = node.links((0,) * 8 + (1,) * 8, nvlinks=18)
    found = partition.preferred(links, 2**16 - 1, 0b1, 2)
    assert {0b1 | 1 << at for at in range(1, 8)} == {one for one, _ in found.sets}


def test_too_many_orders_are_lumped() -> None:
    """When the orders of naming cannot all be followed the answer is not exact."""
    links = node.links((0,) * 5 + (1,) * 5, (0, 0, 1, 1, 2, 2, 3, 3, 4, 4), 18)
    found = partition.preferred(links, 2**10 - 1, 0, 3)
    assert (False, 1) == (found.exact, sum(chance for _, chance in found.sets))

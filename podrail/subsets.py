"""Subsets of a given size in order: all of them, or a sample that is spread evenly over them."""

import math
from itertools import combinations


def some(whole: int, size: int, most: int) -> list[tuple[int, ...]]:
    """The subsets of the numbers below whole, at most so many; in order, all different."""
    total = math.comb(whole, size)
    if total <= most:
        return list(combinations(range(whole), size))
    return [numbered(whole, size, total * one // most) for one in range(most)]


def numbered(whole: int, size: int, number: int) -> tuple[int, ...]:
    """The subset with this number among all of its size, without counting up to it."""
    found: list[int] = []
    for one in range(whole):
        left = size - len(found)
        with_it = math.comb(whole - one - 1, left - 1) if left else 0
        if number < with_it:
            found.append(one)
        else:
            number -= with_it
    return tuple(found)

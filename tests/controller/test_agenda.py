"""Whose turn it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.agenda import Agenda


def taken(agenda: Agenda, now: float) -> list[str]:
    """All that may be taken by a time."""
    return list(iter(lambda: agenda.take(now), None))


def test_bad_news_come_first_and_each_once() -> None:
    """Otherwise in the order in which they are due."""
    agenda = Agenda()
    for key, due, urgent in (("a", 2, False), ("b", 1, False), ("c", 3, True), ("d", 9, True)):
        agenda.put(key, due, urgent=urgent)
    assert ["c", "b", "a"] == taken(agenda, 5)
    assert 1 == len(agenda)
    assert ["d"] == taken(agenda, 9)


@pytest.mark.parametrize(
    ("due", "urgent", "before", "after"),
    [
        pytest.param(9, False, ["a"], [], id="later"),
        pytest.param(1, False, ["a"], [], id="earlier"),
        pytest.param(9, True, [], ["a"], id="later and urgent"),
    ],
)
def test_a_key_that_is_put_again_has_one_turn(
    due: float, before: list[str], after: list[str], *, urgent: bool
) -> None:
    """The earlier one, unless it has become more urgent meanwhile."""
    agenda = Agenda()
    agenda.put("a", 5, urgent=False)
    agenda.put("a", due, urgent=urgent)
    assert (before, after) == (taken(agenda, 5), taken(agenda, 9))


def test_what_is_dropped_has_no_turn() -> None:
    """Whether it was ready or not."""
    agenda = Agenda()
    for key in ("a", "b", "c"):
        agenda.put(key, 1, urgent=True)
    assert "a" == agenda.take(1)
    agenda.drop("b")
    agenda.put("d", 7, urgent=False)
    agenda.drop("d")
    assert ["c"] == taken(agenda, 9)
    assert 0 == len(agenda)


PUTS = st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 5), st.booleans()), max_size=20)


@given(PUTS)
def test_every_key_has_its_turn(puts: list[tuple[str, int, bool]]) -> None:
    """Once, whatever was put in which order."""
    agenda = Agenda()
    for key, due, urgent in puts:
        agenda.put(key, due, urgent=urgent)
    assert {key for key, _, _ in puts} == set(found := taken(agenda, 5))
    assert len(found) == len(set(found))

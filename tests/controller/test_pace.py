"""How often the same thing is written."""

from __future__ import annotations

from collections.abc import Callable

from controller.pace import (
    CALM_SECONDS,
    FIRST_SECONDS,
    LONGEST_SECONDS,
    RETRY_SECONDS,
    Pace,
)


class Clock:
    """Time that a test moves."""

    def __init__(self) -> None:
        self.at = 100.0

    def __call__(self) -> float:
        return self.at


def pauses(clock: Clock, pace: Pace, note: Callable[[str], None], count: int) -> list[float]:
    """The pauses after so many tries, each as soon as it may be."""
    found = []
    for _ in range(count):
        clock.at = pace.due("a")
        note("a")
        found.append(pace.due("a") - clock.at)
    return found


def test_what_keeps_changing_is_written_ever_more_seldom() -> None:
    """Up to five minutes apart, so that a flapping link is no storm."""
    clock = Clock()
    pace = Pace(clock)
    assert 100.0 == pace.due("a")
    found = pauses(clock, pace, pace.done, 12)
    assert [FIRST_SECONDS * 2**at for at in range(4)] == found[:4]
    assert LONGEST_SECONDS == found[-1]


def test_what_is_refused_is_tried_ever_more_seldom() -> None:
    """And a success begins anew."""
    clock = Clock()
    pace = Pace(clock)
    assert [RETRY_SECONDS * 2**at for at in range(3)] == pauses(clock, pace, pace.failed, 3)
    assert [FIRST_SECONDS] == pauses(clock, pace, pace.done, 1)
    assert [RETRY_SECONDS] == pauses(clock, pace, pace.failed, 1)


def test_calm_ends_it_and_is_not_remembered() -> None:
    """Memory is of what happened lately."""
    clock = Clock()
    pace = Pace(clock)
    pauses(clock, pace, pace.done, 3)
    clock.at += CALM_SECONDS
    pace.done("b")
    assert 1 == len(pace)
    assert [FIRST_SECONDS] == pauses(clock, pace, pace.done, 1)

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podrail_io import pace
from podrail_io.pace import Pace


@dataclass
class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


ROUNDS = st.lists(st.tuples(st.sampled_from([1, 2]), st.booleans(), st.floats(0, 60)), max_size=40)


@given(ROUNDS, st.floats(0, 0.999))
def test_no_thirty_seconds_have_more_than_ten_requests(
    rounds: list[tuple[int, bool, float]], chance: float
) -> None:
    """Whatever wakes it, and whether a round is a watch or a list and a watch."""
    clock, asked = Clock(), list[float]()
    own = Pace(clock, lambda: chance)
    for requests, woken, after in rounds:
        for _ in range(requests):
            own.ask()
            asked.append(clock.now)
        pause = own.pause(2)
        if woken and after < pause:
            clock.now += after
            clock.now += own.early(2)
        else:
            clock.now += pause
    # A sum of seconds is not exact.
    window = pace.WINDOW_SECONDS - 1e-6
    for end in asked:
        assert sum(end - window < one <= end for one in asked) <= 10


@pytest.mark.parametrize("chance", [0.0, 0.999], ids=["shortest", "longest"])
def test_an_api_server_that_is_replaced_is_noticed_within_two_seconds(chance: float) -> None:
    """The first five pauses are short."""
    own, pauses = Pace(Clock(), lambda: chance), list[float]()
    for _ in range(5):
        own.ask()
        pauses.append(own.pause(1))
    assert pauses == sorted(pauses)
    assert max(pauses) <= 2


def test_pauses_grow_to_half_a_minute() -> None:
    """A long outage costs two requests a minute."""
    own = Pace(Clock(), lambda: 0.999)
    for _ in range(30):
        own.ask()
    assert pytest.approx(pace.LONGEST_PAUSE, rel=0.01) == own.pause(1)


def test_the_pause_that_the_server_asks_for_holds_for_who_is_woken() -> None:
    """Another's answer is no leave to come again sooner than was said."""
    clock = Clock()
    own = Pace(clock, lambda: 0.0)
    own.ask()
    assert 7 == own.pause(1, 7)
    clock.now += 3
    assert 4 == own.early(1)


def test_a_calm_watch_forgets_what_failed_before() -> None:
    """The next failure begins with the shortest pause."""
    clock = Clock()
    own = Pace(clock, lambda: 0.0)
    for _ in range(9):
        own.ask()
    clock.now += pace.WINDOW_SECONDS
    own.calm()
    assert pace.PAUSES[0] / 2 == own.pause(1)


def test_those_that_one_answer_wakes_do_not_come_at_once() -> None:
    """Half a second for all of them."""
    first, second = Pace(Clock(), lambda: 0.0), Pace(Clock(), lambda: 0.5)
    assert (0.0, 0.25) == (first.early(1), second.early(1))

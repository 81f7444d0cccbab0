import threading

from podrail_io.revival import Revival


def rung(*bells: threading.Event) -> list[bool]:
    return [one.is_set() for one in bells]


def bells() -> tuple[threading.Event, threading.Event, threading.Event]:
    return threading.Event(), threading.Event(), threading.Event()


def test_an_answer_to_one_that_had_lost_it_rings_all_others_that_wait() -> None:
    """Who answers and who never lost it hear nothing."""
    revival, (first, second, third) = Revival(), bells()
    revival.lost(first)
    revival.lost(second)
    revival.answered(first)
    assert [False, True, False] == rung(first, second, third)


def test_who_never_lost_it_rings_nobody() -> None:
    """One kind may be refused for ever while all others are answered."""
    revival, (first, second, _) = Revival(), bells()
    revival.lost(first)
    revival.answered(second)
    revival.answered(second)
    assert [False, False] == rung(first, second)


def test_each_that_comes_back_rings_once() -> None:
    """Those that are still refused try again with each that is answered."""
    revival, (first, second, third) = Revival(), bells()
    for one in (first, second, third):
        revival.lost(one)
    revival.answered(first)
    third.clear()
    revival.answered(first)
    assert [False, True, False] == rung(first, second, third)
    revival.answered(second)
    assert [False, False, True] == rung(first, second, third)

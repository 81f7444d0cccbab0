import itertools
import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import faulty_api
import pytest
from faulty_api import PATH, Fault, FaultyApi
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from podrail_io.kube import Api
from podrail_io.reflector import Change, Reflector, World, key_of

Things = Reflector[int]


@dataclass
class Time:
    """A clock that only pauses move: a pause of any length takes a millisecond."""

    chance: float = 0.5
    now: float = 0.0
    pauses: list[float] = field(default_factory=list)

    def wait(self, event: threading.Event, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds
        event.wait(0.001)

    def world(self) -> World:
        return World(lambda: self.now, lambda: self.chance, self.wait, silence=0.3)


def size(thing: dict[str, Any]) -> int | None:
    """What the tests keep: a thing without a size is not kept, one of size -1 is a fault."""
    if thing.get("size") == -1:
        raise ValueError("below nothing")
    return thing.get("size")


@contextmanager
def reflecting(
    server: FaultyApi,
    world: World | None = None,
    changed: Callable[[Change[int]], None] = lambda _change: None,
) -> Iterator[Things]:
    """A started reflector of the server's things for the length of a block."""
    reflector = Reflector(
        Api.connect(server=server.url), PATH, size, world or Time().world(), changed
    )
    reflector.start()
    try:
        yield reflector
    finally:
        reflector.stop()


def eventually(holds: Callable[[], bool], seconds: float = 5.0) -> bool:
    """True as soon as it holds; False if it does not in time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if holds():
            return True
        time.sleep(0.002)
    return holds()


@pytest.fixture
def server() -> Iterator[FaultyApi]:
    with faulty_api.serving() as running:
        yield running


def watches(server: FaultyApi) -> list[str]:
    """The versions that watches began at."""
    return [one.query["resourceVersion"] for one in server.requests if one.watching]


def lists(server: FaultyApi) -> int:
    return len([one for one in server.requests if not one.watching])


def test_the_copy_follows_the_server(server: FaultyApi) -> None:
    """What is listed, added, changed and deleted shows; what keep drops does not."""
    server.put("a", size=1)
    server.put("b", size=2)
    server.put("none")
    with reflecting(server) as things:
        assert eventually(lambda: things.items() == {"a": 1, "b": 2})
        server.put("a", size=3)
        server.remove("b")
        server.put("c", size=4)
        assert eventually(lambda: things.items() == {"a": 3, "c": 4})
        server.put("a")
        assert eventually(lambda: things.items() == {"c": 4})


def test_a_list_of_many_pages_is_whole(server: FaultyApi) -> None:
    """More than a page of things are all there, from one list."""
    for number in range(1203):
        server.put(f"t{number}", size=number)
    with reflecting(server) as things:
        assert eventually(lambda: things.synced)
        assert (1203, 1) == (len(things.items()), things.relists)


def test_synced_and_age_tell_what_is_known(server: FaultyApi) -> None:
    """Not synced and infinitely old before the first list; then the age grows with the clock."""
    clock = Time()
    server.always = Fault.ERROR
    with reflecting(server, clock.world()) as things:
        assert eventually(lambda: things.errors > 1)
        assert (False, float("inf")) == (things.synced, things.age())
        server.always = None
        assert eventually(lambda: things.synced)
        clock.now += 100
        assert things.age() == pytest.approx(100)
        server.bookmark()
        assert eventually(lambda: things.age() == 0)


def test_changes_are_told_once_with_before_and_after(server: FaultyApi) -> None:
    """Each difference is told after the copy shows it; an event without one is not told."""
    told: list[Change[int]] = []
    server.put("a", size=1)
    with reflecting(server, changed=told.append):
        assert eventually(lambda: len(told) == 1)
        server.put("a", size=1)
        server.put("a", size=2)
        server.remove("a")
        assert eventually(lambda: len(told) == 3)
    assert [Change("a", None, 1), Change("a", 1, 2), Change("a", 2, None)] == told


@pytest.mark.parametrize("fault", [Fault.CLOSE, Fault.SHORT, Fault.CUT, Fault.SILENT, Fault.ERROR])
def test_a_watch_that_ended_goes_on_from_its_version(server: FaultyApi, fault: Fault) -> None:
    """However a watch ends, short of 410, the next begins where it was, without a list."""
    with reflecting(server) as things:
        assert eventually(lambda: bool(watches(server)))
        server.put("a", size=1)
        assert eventually(lambda: things.items() == {"a": 1})
        server.faults.append(fault)
        server.close_watches()
        assert eventually(lambda: len(watches(server)) >= 3)
        server.put("b", size=2)
        assert eventually(lambda: things.items() == {"a": 1, "b": 2})
        assert (1, ["1", "2", "2"]) == (things.relists, watches(server)[:3])


def test_a_gap_that_410_hides_is_closed_by_a_list(server: FaultyApi) -> None:
    """After 410 the list is taken again: what vanished meanwhile goes, what came is there."""
    told: list[Change[int]] = []
    server.put("a", size=1)
    with reflecting(server, changed=told.append) as things:
        assert eventually(lambda: bool(watches(server)))
        server.put("b", size=2)
        assert eventually(lambda: things.items() == {"a": 1, "b": 2})
        server.faults.extend([Fault.ERROR] * 3)
        server.close_watches()
        server.remove("a")
        server.put("c", size=3)
        server.compact()
        assert eventually(lambda: things.items() == {"b": 2, "c": 3})
        assert 2 == things.relists
    assert {Change("a", 1, None), Change("c", None, 3)} == set(told[2:])


def test_410_amid_the_pages_begins_the_list_anew(server: FaultyApi) -> None:
    """A list whose second page is gone is taken again from the first; no half list shows."""
    told: list[Change[int]] = []
    for number in range(600):
        server.put(f"t{number}", size=number)
    with reflecting(server, changed=told.append) as things:
        assert eventually(lambda: bool(watches(server)))
        server.faults.extend([Fault.GONE, None, Fault.GONE])
        server.close_watches()
        assert eventually(lambda: len(watches(server)) == 3)
        assert (3, 600, 600) == (things.relists, len(things.items()), len(told))


def test_a_watch_that_fell_silent_is_left(server: FaultyApi) -> None:
    """A peer that is gone without a word is noticed, and the copy comes true again."""
    with reflecting(server) as things:
        assert eventually(lambda: bool(watches(server)))
        server.hang()
        server.put("a", size=1)
        assert eventually(lambda: things.items() == {"a": 1})
        assert 1 == things.errors


@pytest.mark.parametrize("chance", [0.0, 0.999], ids=["shortest pauses", "longest pauses"])
@pytest.mark.parametrize(
    "fault",
    [
        Fault.GONE,
        Fault.ERROR,
        Fault.BUSY,
        Fault.CLOSE,
        Fault.SHORT,
        Fault.CUT,
        Fault.NO_LIST,
        Fault.REDIRECT,
    ],
)
def test_a_broken_server_is_asked_10_times_in_30_seconds_at_most(
    server: FaultyApi, fault: Fault, chance: float
) -> None:
    """No fault makes a storm, whichever way the dice fall, and pauses stay within 30 s."""
    clock = Time(chance)
    asked: list[tuple[float, int]] = []

    def wait(event: threading.Event, seconds: float) -> None:
        asked.append((clock.now, len(server.requests)))
        clock.wait(event, seconds)

    server.always = fault
    with reflecting(server, World(lambda: clock.now, lambda: chance, wait, silence=0.3)):
        assert eventually(lambda: clock.now > 200)
    assert max(count for moment, count in asked if moment <= 30) <= 10
    assert clock.pauses[0] < 15 <= max(clock.pauses) <= 30


def test_a_refused_connection_is_tried_10_times_in_30_seconds_at_most() -> None:
    """A closed port is asked with the same growing pauses."""
    with faulty_api.serving() as server:
        pass
    clock = Time(chance=0.0)
    with reflecting(server, clock.world()) as things:
        assert eventually(lambda: clock.now > 60)
        assert things.errors > 5
    assert 5 <= sum(moment <= 30 for moment in itertools.accumulate(clock.pauses)) <= 9


def patient(event: threading.Event, seconds: float) -> None:
    """Every pause takes a minute, unless it is woken."""
    event.wait(60 if seconds else 0)


def test_one_that_is_answered_wakes_the_others(server: FaultyApi) -> None:
    """After an outage nobody waits for the end of a pause of its own."""
    slow = World(time.monotonic, lambda: 0.0, patient, silence=0.3)
    server.faults.append(Fault.ERROR)
    with reflecting(server, slow) as waiting:
        assert eventually(lambda: waiting.errors == 1)
        server.put("a", size=1)
        server.faults.append(Fault.ERROR)
        with reflecting(server, replace(slow, wait=Time().wait)) as first:
            assert eventually(lambda: first.items() == waiting.items() == {"a": 1})


def test_the_pause_that_the_server_asks_for_is_kept(server: FaultyApi) -> None:
    """Retry-After lengthens the pause."""
    clock = Time()
    server.faults.append(Fault.BUSY)
    with reflecting(server, clock.world()) as things:
        assert eventually(lambda: things.synced)
    assert 7 == clock.pauses[0]


def test_a_long_watch_that_ends_is_renewed_at_once(server: FaultyApi) -> None:
    """The server's ordinary end of a watch costs no pause, and what failed before is forgotten."""
    clock = Time()
    server.faults.extend([Fault.ERROR] * 5)
    with reflecting(server, clock.world()) as things:
        assert eventually(lambda: len(watches(server)) == 1)
        clock.now += 240
        server.close_watches()
        assert eventually(lambda: len(watches(server)) == 2)
        assert (6, 0.0) == (len(clock.pauses), clock.pauses[-1])
        server.faults.append(Fault.ERROR)
        server.close_watches()
        assert eventually(lambda: len(watches(server)) == 4)
        assert clock.pauses[-1] < 2
        assert things.age() < 10


def test_a_kind_that_is_not_served_is_synced_and_empty(server: FaultyApi) -> None:
    """404 on the list counts as an empty list and is asked again each 60 s."""
    clock = Time()
    server.always = Fault.ABSENT
    with reflecting(server, clock.world()) as things:
        assert eventually(lambda: len(clock.pauses) > 2)
        assert (True, {}, 0) == (things.synced, things.items(), things.errors)
        assert {60.0} == set(clock.pauses)
        server.put("a", size=1)
        server.always = None
        assert eventually(lambda: things.items() == {"a": 1})


def test_a_kind_that_is_no_longer_served_is_empty(server: FaultyApi) -> None:
    """404 on a watch leads to the list, and its 404 empties the copy."""
    server.put("a", size=1)
    with reflecting(server) as things:
        assert eventually(lambda: things.items() == {"a": 1})
        server.always = Fault.ABSENT
        server.close_watches()
        assert eventually(lambda: things.items() == {})


def test_an_object_that_keep_fails_on_is_left_out(
    server: FaultyApi, caplog: pytest.LogCaptureFixture
) -> None:
    """A fault in keep costs its object, is logged with traceback and counted; no other suffers."""
    server.put("a", size=1)
    server.put("bad", size=-1)
    with caplog.at_level(logging.ERROR), reflecting(server) as things:
        assert eventually(lambda: things.synced)
        assert {"a": 1} == things.items()
        server.put("a", size=-1)
        server.put("bad", size=2)
        assert eventually(lambda: things.items() == {"bad": 2})
        assert (2, 1) == (things.faults, things.relists)
    assert "below nothing" in caplog.text


def test_a_fault_in_changed_does_not_end_the_thread(server: FaultyApi) -> None:
    """The copy goes on when who is told raises."""

    def fail(change: Change[int]) -> None:
        raise RuntimeError(change.key)

    server.put("a", size=1)
    with reflecting(server, changed=fail) as things:
        server.put("b", size=2)
        assert eventually(lambda: things.items() == {"a": 1, "b": 2})
        assert (2, 1) == (things.faults, things.relists)


def test_wait_for_gets_what_the_watch_brings(server: FaultyApi) -> None:
    """A younger object than the last event is waited for, but not beyond the given time."""
    with reflecting(server) as things:
        assert eventually(lambda: things.synced)
        threading.Timer(0.05, server.put, ("a",), {"size": 1}).start()
        assert 1 == things.wait_for("a", 5)
        assert things.wait_for("b", 0.05) is None


def test_items_do_not_change_under_the_reader(server: FaultyApi) -> None:
    """A snapshot stays what it was."""
    server.put("a", size=1)
    with reflecting(server) as things:
        assert eventually(lambda: things.synced)
        snapshot = things.items()
        server.remove("a")
        assert eventually(lambda: things.get("a") is None)
        assert {"a": 1} == snapshot


def test_stop_ends_the_thread(server: FaultyApi) -> None:
    """A stopped reflector ends with its pause or at the next line of its watch."""
    with reflecting(server) as things:
        assert eventually(lambda: bool(watches(server)))
        things.stop()
        server.put("a", size=1)
        name = f"reflector{PATH}"
        assert eventually(lambda: all(each.name != name for each in threading.enumerate()))
        assert {} == things.items()


@pytest.mark.parametrize(
    ("expected", "metadata"),
    [("ns/a", {"namespace": "ns", "name": "a"}), ("a", {"name": "a"})],
    ids=["in a namespace", "in the cluster"],
)
def test_the_key_is_namespace_and_name(expected: str, metadata: dict[str, str]) -> None:
    """Objects of two namespaces do not meet."""
    assert expected == key_of({"metadata": metadata})


NAMES = st.sampled_from("abc")
STEPS = st.one_of(
    st.tuples(st.just("put"), NAMES, st.integers(-1, 9)),
    st.tuples(st.just("remove"), NAMES),
    st.tuples(st.just("fault"), st.sampled_from(Fault)),
    st.tuples(st.sampled_from(["compact", "close_watches", "hang", "bookmark", "let"])),
)


def take(server: FaultyApi, name: str, *given: Any) -> None:
    """One step of the server's story; let gives the reflector time to follow."""
    if name == "put":
        server.put(given[0], size=given[1])
    elif name == "fault":
        server.faults.extend(given)
    elif name == "let":
        time.sleep(0.005)
    else:
        getattr(server, name)(*given)


def truth(server: FaultyApi) -> dict[str, int]:
    return {name: thing["size"] for name, thing in server.things.items() if thing["size"] != -1}


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(STEPS, max_size=12))
def test_once_quiet_the_copy_is_the_truth(steps: list[tuple[Any, ...]]) -> None:
    """After any story of changes and faults, the copy ends equal to what the server has."""
    told: dict[str, int] = {}
    wrong: list[Change[int]] = []

    def tell(change: Change[int]) -> None:
        if told.get(change.key) != change.before:
            wrong.append(change)
        if change.after is None:
            del told[change.key]
        else:
            told[change.key] = change.after

    clock = Time()
    quick = World(lambda: clock.now, lambda: 0.5, clock.wait, silence=0.05)
    with faulty_api.serving() as server, reflecting(server, quick, tell) as things:
        for step in steps:
            take(server, *step)
        assert eventually(lambda: things.synced and things.items() == truth(server), 10)
        assert eventually(lambda: told == things.items())
    assert [] == wrong

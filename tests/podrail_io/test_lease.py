"""One holder at a time, by the holder's own clock, whatever the API server does."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass, field

import kinds_api
import pytest
from kinds_api import KindsApi

from podrail_io import lease
from podrail_io.kube import Api
from podrail_io.lease import DEADLINE_SECONDS, LEASE_SECONDS, Lease, Surroundings

PLACE = ("home", "leader")
PATH = "/apis/coordination.k8s.io/v1/namespaces/home/leases/leader"


@dataclass
class Clock:
    """A clock that goes when a test says so."""

    seconds: float = 1000.0
    start: dt.datetime = field(default=dt.datetime(2026, 1, 1, tzinfo=dt.UTC))

    def now(self) -> dt.datetime:
        return self.start + dt.timedelta(seconds=self.seconds)


@pytest.fixture
def server() -> Iterator[KindsApi]:
    with kinds_api.serving() as running:
        yield running


@pytest.fixture
def clock() -> Clock:
    return Clock()


def contender(server: KindsApi, clock: Clock, identity: str) -> Lease:
    """One who would like the lease."""
    world = Surroundings(lambda: clock.seconds, clock.now, lambda: 0.5)
    return Lease(Api.connect(server=server.url), PLACE, identity, world)


def rounds(*contenders: Lease) -> list[bool]:
    """Who holds the lease after a try of each."""
    for one in contenders:
        one._guarded(one._round)
    return [one.held for one in contenders]


def test_the_first_one_takes_it(server: KindsApi, clock: Clock) -> None:
    """The second waits, for as long as the first renews."""
    first, second = contender(server, clock, "a"), contender(server, clock, "b")
    for _ in range(10):
        assert [True, False] == rounds(first, second)
        clock.seconds += DEADLINE_SECONDS - 1
    spec = server.objects[PATH]["spec"]
    assert ("a", LEASE_SECONDS, 0) == (
        spec["holderIdentity"],
        spec["leaseDurationSeconds"],
        spec["leaseTransitions"],
    )


def test_it_is_given_up_before_anybody_else_may_take_it(server: KindsApi, clock: Clock) -> None:
    """While the API server refuses for twice the lease, at no moment two are active."""
    first, second = contender(server, clock, "a"), contender(server, clock, "b")
    rounds(first, second)
    server.refusing = 500
    held = []
    for _ in range(2 * LEASE_SECONDS):
        clock.seconds += 1
        held.append(rounds(first, second))
    assert [False, False] == held[-1]
    assert DEADLINE_SECONDS - 1 == held.count([True, False])
    server.refusing = 0
    assert [False, True] == rounds(second, first)[::-1]
    assert 1 == server.objects[PATH]["spec"]["leaseTransitions"]


def test_one_that_is_not_renewed_is_taken_after_its_duration(
    server: KindsApi, clock: Clock
) -> None:
    """Counted from when the last renewal was first seen, not from the time that it carries."""
    first, second = contender(server, clock, "a"), contender(server, clock, "b")
    rounds(first)
    clock.seconds += 100
    assert [False] == rounds(second)
    clock.seconds += LEASE_SECONDS
    assert [False] == rounds(second)
    clock.seconds += 0.1
    assert [True] == rounds(second)
    assert [False] == rounds(first)


def test_a_deaf_server_ends_it_by_the_clock(
    server: KindsApi, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A renewal that hangs is counted as an error; being active ends without an answer."""
    monkeypatch.setattr(lease, "REQUEST_SECONDS", 0.2)
    holder = contender(server, clock, "a")
    rounds(holder)
    server.deaf = True
    assert [True] == rounds(holder)
    clock.seconds += DEADLINE_SECONDS
    assert (False, 1) == (holder.held, holder.errors)


def test_a_lost_race_is_no_error(server: KindsApi, clock: Clock) -> None:
    """Who was slower sees a conflict and holds nothing."""
    one = contender(server, clock, "a")
    rounds(one)
    stale = server.objects[PATH]
    server.put(PATH, {**stale, "spec": {**stale["spec"], "holderIdentity": "b"}})
    one._write(stale, clock.seconds)
    clock.seconds += DEADLINE_SECONDS
    assert (0, [False]) == (one.errors, rounds(one))


def test_a_release_lets_the_next_one_in_at_once(server: KindsApi, clock: Clock) -> None:
    """A rolling update does not wait for the lease to end."""
    first, second = contender(server, clock, "a"), contender(server, clock, "b")
    rounds(first, second)
    first.stop()
    assert not first.held
    assert [True] == rounds(second)


def test_a_lease_that_is_none_is_an_error_and_no_end(server: KindsApi, clock: Clock) -> None:
    """The thread goes on; nothing is held."""
    one = contender(server, clock, "a")
    server.put(PATH, {"spec": "odd"})
    assert ([False], 1) == (rounds(one), one.errors)


def test_it_runs_in_a_thread_of_its_own(server: KindsApi) -> None:
    """Started, it takes the lease by itself; stopped, it gives it back."""
    clock = Clock()
    one = contender(server, clock, "a")
    one.start()
    for _ in range(500):
        if one.held:
            break
        one._stopping.wait(0.01)
    assert one.held
    one.stop()
    assert "" == server.objects[PATH]["spec"]["holderIdentity"]

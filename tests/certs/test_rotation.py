"""The method auto: what is done next, and that nobody is ever refused on the way."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import fuzz
import issued
import pytest
from cryptography import x509
from hypothesis import given
from hypothesis import strategies as st
from issued import NOW, SETTLE, TERMS, Replay

from certs import authority, chain, rotation
from certs.authority import Pair
from certs.holdings import COMING, SIGNER, TRUSTED, Authorities, Served
from certs.scene import Calm, Keep, Serve, Sight, Trust

OLD, NEW = issued.ca(500), issued.ca(5)


def test_nothing_is_done_where_all_is_well() -> None:
    """And whoever looks again finds the same."""
    assert rotation.step(issued.good(), TERMS) is None


def test_a_beginning_takes_four_steps_and_no_waiting() -> None:
    """A CA to come, its trust, its turn, a leaf: nobody is there who could be refused."""
    world = Replay()
    while world.step():
        pass
    assert ["Keep", "Trust", "Keep", "Serve"] == world.steps
    assert set(SIGNER) == set(world.authorities)
    found = Served.read(world.served)
    assert found.leaf is not None
    assert (issued.HOST,) == authority.hosts(found.leaf)
    assert found.trusted == chain.parse(world.live[0])


def test_without_a_registration_nobody_is_waited_for() -> None:
    """Where no entry is there no API server can refuse a leaf."""
    waiting = issued.good(OLD, authorities=Authorities(OLD, NEW), live=())
    assert Keep(Authorities(NEW)) == rotation.step(waiting, TERMS)


@pytest.mark.parametrize(
    ("age", "begins"), [(399, False), (400, True), (599, True)], ids=["young", "due", "old"]
)
def test_a_ca_is_replaced_after_two_thirds_of_its_life(age: int, *, begins: bool) -> None:
    """Six hundred seconds are its life; the one that signs goes on meanwhile."""
    signer = issued.ca(age)
    found = rotation.step(issued.good(signer), TERMS)
    assert begins == isinstance(found, Keep)
    if isinstance(found, Keep):
        assert signer == found.authorities.signer
        assert found.authorities.coming is not None


def test_both_are_trusted_before_the_new_one_signs() -> None:
    """The caBundle of each entry gets both, and for as long as it settles nothing else happens."""
    both = issued.bundle(OLD, NEW)
    begun = issued.good(OLD, authorities=Authorities(OLD, NEW))
    assert Trust(both) == rotation.step(begun, TERMS)
    told = replace(begun, live=(both, both), served=issued.served(issued.leaf(OLD), OLD, NEW))
    young = replace(told, calm=Calm(trusted=issued.for_seconds(SETTLE - 1, NEW)))
    settled = replace(told, calm=Calm(trusted=issued.for_seconds(SETTLE, NEW)))
    assert rotation.step(young, TERMS) is None
    assert Keep(Authorities(NEW)) == rotation.step(settled, TERMS)


@pytest.mark.parametrize(
    ("seen", "stays"),
    [
        pytest.param(Sight((issued.leaf(OLD).certificate,)), True, id="a replica serves its leaf"),
        pytest.param(Sight((), 1), True, id="a replica cannot be asked"),
        pytest.param(Sight(), False, id="nobody serves its leaf"),
    ],
)
def test_the_old_one_is_trusted_while_it_is_of_use(seen: Sight, *, stays: bool) -> None:
    """By what the replicas showed, not by what was written."""
    both = issued.bundle(OLD, NEW)
    mine = issued.leaf(NEW)
    after = issued.good(
        NEW, leaf=mine, served=issued.served(mine, OLD, NEW), live=(both,), sight=seen
    )
    idle = issued.for_seconds(SETTLE, OLD) if not stays else {}
    found = rotation.step(replace(after, calm=Calm(idle=idle)), TERMS)
    assert (None if stays else Trust(issued.bundle(NEW))) == found


def test_an_idle_one_settles_before_it_is_dropped() -> None:
    """A replica that is just being restarted may still have it in its volume."""
    both, mine = issued.bundle(OLD, NEW), issued.leaf(NEW)
    after = issued.good(NEW, leaf=mine, served=issued.served(mine, OLD, NEW), live=(both,))
    young = replace(after, calm=Calm(idle=issued.for_seconds(SETTLE - 1, OLD)))
    assert rotation.step(young, TERMS) is None


def test_a_stranger_in_a_bundle_goes_at_once() -> None:
    """Who is not remembered in the Secret and of no use to any replica is not waited for."""
    signer, stranger = issued.ca(), issued.ca()
    now = issued.good(signer, live=(issued.bundle(signer, stranger),))
    now = replace(now, calm=Calm(idle=issued.for_seconds(0, stranger)))
    assert Trust(issued.bundle(signer)) == rotation.step(now, TERMS)


@pytest.mark.parametrize("live", [b"", b"garbage"], ids=["empty", "garbage"])
def test_a_bundle_that_was_reset_is_written_again(live: bytes) -> None:
    """Before anything else, whatever is in it."""
    signer = issued.ca()
    now = issued.good(signer, live=(issued.bundle(signer), live))
    assert Trust(issued.bundle(signer)) == rotation.step(now, TERMS)


SIGNED = issued.ca(100)
"""One that signs and is not due."""


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param(Served(trusted=(SIGNED.certificate,)), id="none"),
        pytest.param(issued.served(issued.leaf(SIGNED, 41), SIGNED), id="due"),
        pytest.param(issued.served(issued.leaf(SIGNED, 99), SIGNED), id="expired"),
        pytest.param(issued.served(issued.leaf(SIGNED, -400), SIGNED), id="not yet valid"),
        pytest.param(issued.served(issued.leaf(SIGNED, 0, "other.svc"), SIGNED), id="other host"),
        pytest.param(issued.served(issued.leaf(OLD), SIGNED), id="of another CA"),
    ],
)
def test_a_leaf_that_is_not_good_is_made_anew(bad: Served) -> None:
    """For the hosts, of the CA that signs, from now on for its life; never used on."""
    found = rotation.step(issued.good(SIGNED, served=bad, sight=Sight()), TERMS)
    assert isinstance(found, Serve)
    made = Served.read(found.data)
    assert made.leaf is not None
    assert made.leaf.not_valid_after_utc == NOW + TERMS.life
    assert chain.issued(made.leaf, SIGNED.certificate)


def test_who_is_trusted_stands_beside_the_leaf() -> None:
    """For others who verify by the Secret; the leaf is not made anew for it."""
    signer, mine = issued.ca(), None
    mine = issued.leaf(signer)
    found = rotation.step(issued.good(signer, leaf=mine, served=issued.served(mine)), TERMS)
    assert Serve({TRUSTED: issued.bundle(signer)}) == found


@pytest.mark.parametrize("lost", [Authorities(), Authorities(problems=("ca.crt: broken",))])
def test_a_lost_ca_is_followed_by_a_new_one_in_two_phases(lost: Authorities) -> None:
    """Its leaf is served on while the new one becomes known: who deletes the Secret rotates."""
    first = issued.good(OLD, authorities=lost)
    found = rotation.step(first, TERMS)
    assert isinstance(found, Keep)
    assert found.authorities.signer is None
    coming = found.authorities.coming
    assert coming is not None
    told = rotation.step(replace(first, authorities=found.authorities), TERMS)
    assert Trust(issued.bundle(OLD, coming)) == told


def test_a_broken_part_beside_a_good_ca_is_dropped() -> None:
    """The one that signs stays."""
    signer = issued.ca()
    now = issued.good(signer, authorities=Authorities(signer, None, ("next.crt: broken",)))
    assert Keep(Authorities(signer)) == rotation.step(now, TERMS)


def test_an_expired_ca_is_replaced_without_waiting() -> None:
    """Its leaves have ended too, so nobody can be refused more than already."""
    gone = issued.ca(700)
    begun = issued.good(gone, leaf=issued.leaf(gone, 650), authorities=Authorities(gone, NEW))
    world = replace(begun, live=(issued.bundle(NEW),))
    assert Keep(Authorities(NEW)) == rotation.step(world, TERMS)


def test_a_leaf_ends_with_its_ca() -> None:
    """It never outlives what it is verified by."""
    signer = issued.ca(590)
    assert (
        signer.certificate.not_valid_after_utc
        == issued.leaf(signer).certificate.not_valid_after_utc
    )


class Lagging(Replay):
    """The same with API servers and replicas that learn of everything late."""

    def __init__(self, servers: tuple[int, ...], replicas: tuple[int, ...]) -> None:
        super().__init__()
        self.servers, self.replicas = servers, replicas
        self.trusts: list[tuple[x509.Certificate, ...]] = []
        self.given: list[dict[str, bytes]] = []

    def second(self) -> None:
        """A second goes by; whoever has waited for long enough learns what there was."""
        self.trusts.append(chain.parse(self.live[0]))
        self.given.append(self.served)
        self.mounted = [self.given[max(-1 - lag, -len(self.given))] for lag in self.replicas]
        self.now += timedelta(seconds=1)

    def refused(self) -> list[str]:
        """Which API server refuses which replica now, and why."""
        views = [self.trusts[max(-1 - lag, -len(self.trusts))] for lag in self.servers]
        return [
            f"{self.now:%T}: server {server}, replica {replica}"
            for server, trusts in enumerate(views)
            for replica, one in enumerate(self.leaves())
            if one.leaf is None
            or not chain.current(one.leaf, self.now)
            or not any(chain.issued(one.leaf, ca) and chain.current(ca, self.now) for ca in trusts)
        ]


LAGS = st.lists(st.integers(0, int(SETTLE) - 1), min_size=1, max_size=3).map(tuple)


def restart(world: Replay) -> None:
    """Another keeper takes over."""
    world.observer = world.observing()


def forget(world: Replay) -> None:
    """Somebody deletes the Secret of the CAs."""
    world.authorities = {}


def break_coming(world: Replay) -> None:
    """Somebody writes garbage where the next CA is."""
    world.authorities = {**world.authorities, COMING[0]: b"garbage", COMING[1]: b""}


def break_signer(world: Replay) -> None:
    """The key of the CA is lost."""
    world.authorities = {**world.authorities, SIGNER[1]: b""}


def lose(world: Replay) -> None:
    """Somebody deletes the replicas' Secret; a volume keeps what it has."""
    world.served = {}


def leave(_world: Replay) -> None:
    """Nothing happens."""


TROUBLES: tuple[Any, ...] = (leave, restart, forget, break_coming, break_signer)


@fuzz.examples(3)
@given(
    servers=LAGS,
    replicas=LAGS,
    phase=st.integers(0, 40),
    troubles=st.lists(st.sampled_from(TROUBLES), min_size=7, max_size=7),
    pauses=st.sets(st.integers(20, 500), max_size=200),
)
def test_nobody_is_ever_refused(
    servers: tuple[int, ...],
    replicas: tuple[int, ...],
    phase: int,
    troubles: list[Any],
    pauses: set[int],
) -> None:
    """Past the end of a CA's turn, whoever is late and whatever is deleted or broken by hand."""
    world = Lagging(servers, replicas)
    while world.step():
        pass
    for _ in range(int(SETTLE)):
        world.second()
    signers = set()
    for number in range(520):
        # Not faster than a lost CA can be replaced.
        if number % 61 == phase:
            troubles[number // 61 % 7](world)
        if number not in pauses or number - 1 in pauses:
            world.step()
        world.second()
        assert [] == world.refused()
        signers.add(world.authorities.get(SIGNER[0]))
    assert len(signers - {None}) >= 2


def test_a_lost_secret_of_the_replicas_is_written_again() -> None:
    """With the same CA, while their volumes still have what there was."""
    world = Lagging((3,), (5,))
    while world.step():
        pass
    for _ in range(12):
        world.second()
    lose(world)
    assert world.step()
    for _ in range(12):
        world.second()
        assert [] == world.refused()


def rotated(clock: timedelta) -> Pair | None:
    """The CA that signs after the clock has jumped, and the keeper has looked until all is well."""
    world = Replay()
    while world.step():
        pass
    world.now += clock
    while world.step():
        pass
    return Authorities.read(world.authorities).signer


@pytest.mark.parametrize("days", [-400, 400])
def test_a_clock_that_jumps_is_followed_at_once(days: int) -> None:
    """Both certificates are then valid by the clock as it is, and trusted."""
    signer = rotated(timedelta(days=days))
    assert signer is not None
    assert chain.current(signer.certificate, NOW + timedelta(days=days))

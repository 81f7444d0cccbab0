"""Rails in use: held at the bind, kept while the pod runs, never leaked."""

from __future__ import annotations

import random

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from podrail.ledger import Ledger

UIDS = st.sampled_from(["a", "b", "c", "d"])
NODES = st.sampled_from(["n1", "n2"])
RAILS = st.sets(st.integers(0, 3), max_size=3).map(lambda rails: tuple(sorted(rails)))


class LedgerAgainstAModel(RuleBasedStateMachine):
    """The ledger and a plain dictionary of (node, rails, until) are told the same."""

    def __init__(self) -> None:
        super().__init__()
        self.ledger = Ledger()
        self.model: dict[str, tuple[str, tuple[int, ...], float]] = {}
        self.now = 0.0

    @rule(uid=UIDS, node=NODES, rails=RAILS)
    def hold(self, uid: str, node: str, rails: tuple[int, ...]) -> None:
        """A bind holds rails for ten seconds, unless the pod is known to be bound."""
        self.ledger.hold(uid, node, rails, self.now + 10)
        if self.model.get(uid, ("", (), 0.0))[2] != float("inf"):
            self.model[uid] = (node, rails, self.now + 10)

    @rule(uid=UIDS, node=NODES, rails=RAILS)
    def seen(self, uid: str, node: str, rails: tuple[int, ...]) -> None:
        """The watch knows better than any hold."""
        self.ledger.seen(uid, node, rails)
        self.model[uid] = (node, rails, float("inf"))

    @rule(uid=UIDS)
    def release(self, uid: str) -> None:
        """Gone is gone."""
        self.ledger.release(uid)
        self.model.pop(uid, None)

    @rule(seconds=st.floats(0, 20))
    def wait(self, seconds: float) -> None:
        """Time passes; holds end by themselves."""
        self.now += seconds
        self.model = {uid: use for uid, use in self.model.items() if use[2] > self.now}

    @rule()
    def expire(self) -> None:
        """Cleaning up changes nothing that anyone could see."""
        self.ledger.expire(self.now)
        assert len(self.model) == len(self.ledger)

    @invariant()
    def the_same_rails_are_in_use(self) -> None:
        """For each node, whoever asks."""
        for node in ("n1", "n2"):
            for asking in ("a", "nobody"):
                expected = [
                    rail
                    for uid, (where, rails, _) in self.model.items()
                    if where == node and uid != asking
                    for rail in rails
                ]
                assert sorted(expected) == sorted(
                    self.ledger.used(node, asking, self.now).elements()
                )


TestLedger = LedgerAgainstAModel.TestCase
TestLedger.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)


def test_ten_thousand_random_events_leak_nothing() -> None:
    """Whatever happened: once every pod is gone the ledger is empty."""
    chance = random.Random(7)
    ledger = Ledger()
    for moment in range(10_000):
        uid = f"pod-{chance.randrange(300)}"
        act = chance.randrange(3)
        if act == 0:
            ledger.hold(uid, "n", (1,), moment + 5)
        elif act == 1:
            ledger.seen(uid, "n", (1,))
        else:
            ledger.release(uid)
    for number in range(300):
        ledger.release(f"pod-{number}")
    assert 0 == len(ledger)


def test_a_failed_bind_gives_back_a_hold_and_nothing_else() -> None:
    """The watch may have shown the pod bound before the failure came back."""
    ledger = Ledger()
    ledger.hold("a", "n", (0,), 60)
    ledger.hold("b", "n", (1,), 60)
    ledger.seen("b", "n", (1,))
    for uid in ("a", "b", "never held"):
        ledger.abandon(uid)
    assert {1: 1} == ledger.used("n", "", 0)

"""Rails in use: held at the bind, kept while the pod runs, never leaked."""

from __future__ import annotations

import random

import states
from fuzz import examples
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from podrail.ledger import Ledger
from podrail.score import choice

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

    @rule(uid=UIDS)
    def abandon(self, uid: str) -> None:
        """A failed bind gives its hold back; a pod seen bound keeps what it has."""
        self.ledger.abandon(uid)
        if self.model.get(uid, ("", (), float("inf")))[2] != float("inf"):
            del self.model[uid]

    @rule()
    def restart(self) -> None:
        """The watch lists the bound pods anew; what was only held is not known any more."""
        self.model = {uid: use for uid, use in self.model.items() if use[2] == float("inf")}
        self.ledger = Ledger()
        for uid, (node, rails, _) in self.model.items():
            self.ledger.seen(uid, node, rails)

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
TestLedger.settings = settings(examples(60), stateful_step_count=25)


ONE = states.need(states.SHARED, 1)
TWO = states.need(states.SHARED, 2)
MANY = st.integers(0, 19).map(lambda number: f"pod-{number}")


class BindsOnSharedRails(RuleBasedStateMachine):
    """Pods come to two nodes of eight rails, run, end, fail to bind, or are bound by others."""

    def __init__(self) -> None:
        super().__init__()
        self.ledger = Ledger()
        self.held: dict[str, tuple[str, tuple[int, ...], float]] = {}
        self.bound: dict[str, tuple[str, tuple[int, ...]]] = {}
        self.now = 0.0

    @rule(uid=MANY, node=NODES, two=st.booleans())
    def bind(self, uid: str, node: str, *, two: bool) -> None:
        """A pod has rails of its own as long as enough are free."""
        if uid in self.bound:
            return
        used = self.ledger.used(node, uid, self.now)
        free = {rail for rail in range(8) if not used[rail]}
        found = choice.rails(states.node(), TWO if two else ONE, used)
        assert found.conflict is (len(free) < len(found.rails))
        assert found.conflict or set(found.rails) <= free
        self.ledger.hold(uid, node, found.rails, self.now + 10)
        self.held[uid] = (node, found.rails, self.now + 10)

    @rule(uid=MANY)
    def seen(self, uid: str) -> None:
        """The watch shows a held pod where it was bound."""
        if uid in self.held:
            node, rails, _ = self.held.pop(uid)
            self.bound[uid] = (node, rails)
            self.ledger.seen(uid, node, rails)

    @rule(uid=MANY, node=NODES, rails=RAILS)
    def foreign(self, uid: str, node: str, rails: tuple[int, ...]) -> None:
        """Someone else binds a pod, perhaps one that is held elsewhere."""
        self.held.pop(uid, None)
        self.bound[uid] = (node, rails)
        self.ledger.seen(uid, node, rails)

    @rule(uid=MANY)
    def end(self, uid: str) -> None:
        """It succeeded, failed or was deleted, bound or not."""
        self.held.pop(uid, None)
        self.bound.pop(uid, None)
        self.ledger.release(uid)

    @rule(uid=MANY)
    def fail(self, uid: str) -> None:
        """The API server did not take its Binding."""
        self.held.pop(uid, None)
        self.ledger.abandon(uid)

    @rule(seconds=st.floats(0, 20))
    def wait(self, seconds: float) -> None:
        """Holds that nobody confirms end by themselves."""
        self.now += seconds
        self.held = {uid: use for uid, use in self.held.items() if use[2] > self.now}
        self.ledger.expire(self.now)

    @invariant()
    def nothing_leaks_and_nothing_is_lost(self) -> None:
        """Each pod that is held or bound counts, no other does."""
        assert len(self.ledger) == len(self.held) + len(self.bound)
        for node in ("n1", "n2"):
            uses = [use[1] for use in self.held.values() if use[0] == node]
            uses += [use[1] for use in self.bound.values() if use[0] == node]
            expected = sorted(rail for rails in uses for rail in rails)
            assert expected == sorted(self.ledger.used(node, "", self.now).elements())


TestBindsOnSharedRails = BindsOnSharedRails.TestCase
TestBindsOnSharedRails.settings = settings(examples(30), stateful_step_count=40)


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
    assert (0, 0) == (len(ledger._nodes), len(ledger._holds))


def test_a_node_is_asked_about_without_looking_at_the_others() -> None:
    """What is in use there depends on its own pods, whatever runs elsewhere."""
    ledger = Ledger()
    for number in range(1000):
        ledger.seen(f"pod-{number}", f"n{number // 4}", (number % 4,))
    assert 4 == len(ledger._nodes["n7"])
    assert {0: 1, 1: 1, 2: 1, 3: 1} == ledger.used("n7", "", 0)
    ledger.seen("pod-28", "elsewhere", (0,))
    assert {1: 1, 2: 1, 3: 1} == ledger.used("n7", "", 0)


def test_a_failed_bind_gives_back_a_hold_and_nothing_else() -> None:
    """The watch may have shown the pod bound before the failure came back."""
    ledger = Ledger()
    ledger.hold("a", "n", (0,), 60)
    ledger.hold("b", "n", (1,), 60)
    ledger.seen("b", "n", (1,))
    for uid in ("a", "b", "never held"):
        ledger.abandon(uid)
    assert {1: 1} == ledger.used("n", "", 0)

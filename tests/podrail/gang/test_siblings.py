"""The bound pods of a job, as counts."""

from __future__ import annotations

from collections import Counter
from typing import Any, NoReturn

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from podrail import locality
from podrail.gang import blocks
from podrail.gang.blocks import Seeker
from podrail.gang.claims import UNCLAIMED
from podrail.gang.job import Job
from podrail.gang.siblings import NOBODY, REACH, Crew, Member, Siblings
from podrail.locality import NEUTRAL, Level, Place


def place(block: int, leaf: int, domain: int = 0) -> Place:
    """A place whose levels lie within each other."""
    fabric = f"f{block // 2}"
    names = f"{fabric}/b{block}", f"{fabric}/b{block}/{leaf}", f"d{block}{leaf}{domain}"
    return Place(f"z{block // 4}", fabric, *names)


PLACES = [place(block, leaf, domain) for block in range(6) for leaf in (0, 1) for domain in (0, 1)]
MEMBERS = st.builds(
    Member,
    node=st.sampled_from(["n1", "n2"]),
    place=st.sampled_from(PLACES),
    rails=st.sets(st.integers(0, 3), max_size=3).map(lambda rails: tuple(sorted(rails))),
    product=st.sampled_from(["", "H100", "H200"]),
    gbps=st.sampled_from([0, 200, 400]),
    index=st.none() | st.integers(0, 9),
)
UIDS = st.sampled_from(["p", "q", "r", "s"])
JOBS = st.sampled_from(["a", "b"])


def neighbours(members: list[Member], index: int, leaf: str) -> float:
    """The naive share of a leaf among the neighbours of an index."""
    weights = [
        (1 / (1 + abs(one.index - index)), one.place.leaf)
        for one in members
        if one.index is not None and abs(one.index - index) <= REACH
    ]
    total = sum(weight for weight, _ in weights)
    return sum(weight for weight, there in weights if there == leaf) / total if total else NEUTRAL


class SiblingsAgainstAModel(RuleBasedStateMachine):
    """The siblings and a plain dictionary of (job, member, until) are told the same."""

    def __init__(self) -> None:
        super().__init__()
        self.siblings = Siblings()
        self.model: dict[str, tuple[str, Member, float]] = {}
        self.now = 0.0

    @rule(uid=UIDS, job=JOBS, member=MEMBERS)
    def hold(self, uid: str, job: str, member: Member) -> None:
        """A pod that is being bound counts for ten seconds, unless it is known to be bound."""
        self.siblings.hold(uid, job, member, self.now + 10)
        if self.model.get(uid, ("", member, 0.0))[2] != float("inf"):
            self.model[uid] = (job, member, self.now + 10)

    @rule(uid=UIDS, job=JOBS, member=MEMBERS)
    def seen(self, uid: str, job: str, member: Member) -> None:
        """The watch knows better than any hold."""
        self.siblings.seen(uid, job, member)
        self.model[uid] = (job, member, float("inf"))

    @rule(uid=UIDS)
    def release(self, uid: str) -> None:
        """Gone is gone."""
        self.siblings.release(uid)
        self.model.pop(uid, None)

    @rule(uid=UIDS)
    def abandon(self, uid: str) -> None:
        """A bind that failed takes back its own hold only."""
        self.siblings.abandon(uid)
        if self.model.get(uid, ("", None, float("inf")))[2] != float("inf"):
            del self.model[uid]

    @rule(seconds=st.floats(0, 12))
    def wait(self, seconds: float) -> None:
        """Time passes; holds end when they are looked after."""
        self.now += seconds
        self.siblings.expire(self.now)
        self.model = {uid: one for uid, one in self.model.items() if one[2] > self.now}

    @invariant()
    def the_same_is_counted(self) -> None:
        """Nodes, places and rails of each job, and no job without pods."""
        assert len(self.model) == len(self.siblings)
        assert {job for job, _, _ in self.model.values()} == set(self.siblings.jobs)
        for job in ("a", "b"):
            members, crew = self.members(job), self.siblings.crew(job)
            assert len(members) == crew.pods
            assert Counter(one.node for one in members) == crew.nodes
            assert Counter(rail for one in members for rail in one.rails) == crew.rails
            for level in Level:
                assert Counter(one.place.names[level] for one in members) == crew.at(level)

    @invariant()
    def the_same_is_judged(self) -> None:
        """Closeness is the mean over all pods, and the rest is as if each were asked."""
        for job in ("a", "b"):
            members, crew = self.members(job), self.siblings.crew(job)
            for spot in PLACES[::5]:
                each = [locality.closeness(spot, one.place) for one in members] or [NEUTRAL]
                assert pytest.approx(sum(each) / len(each)) == crew.closeness(spot)
                assert pytest.approx(neighbours(members, 4, spot.leaf)) == crew.neighbours(
                    4, spot.leaf
                )
            differ = any(one.product not in {"", "H100"} for one in members)
            differ = differ or any(one.gbps not in {0, 400} for one in members)
            assert crew.alike("H100", 400) is not differ

    def members(self, job: str) -> list[Member]:
        return [member for of, member, _ in self.model.values() if of == job]

    def teardown(self) -> None:
        """Nothing is left once every pod is gone."""
        for uid in ("p", "q", "r", "s"):
            self.siblings.release(uid)
        left = self.siblings._bound, self.siblings._assumed, self.siblings._crews
        assert ({}, {}, {}) == left


TestSiblings = SiblingsAgainstAModel.TestCase
TestSiblings.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)


class Counted(Counter[Any]):
    """Counts that note each look-up and cannot be walked over."""

    looked = 0

    def __getitem__(self, key: Any) -> int:
        Counted.looked += 1
        return super().__getitem__(key)

    def get(self, key: Any, default: Any = None) -> Any:
        Counted.looked += 1
        return super().get(key, default)

    def walked(self, *_: object) -> NoReturn:
        raise AssertionError("a reading walked over the counts")

    __iter__ = items = values = keys = total = most_common = elements = copy = walked  # type: ignore[assignment]  # all alike


def look_ups(pods: int) -> int:
    """How often the counts of a crew are looked at for a score of ten places."""
    crew = Crew()
    for number in range(pods):
        spot = place(number % 4, number % 2)
        crew.change(Member(f"n{number}", spot, (0, 1), "H100", 400, number), 1)
    for name in ("_nodes", "_rails", "_kinds", "_indexes", "_neighbours"):
        setattr(crew, name, Counted(getattr(crew, name)))
    crew._places = tuple(Counted(counts) for counts in crew._places)
    Counted.looked = 0
    for spot in PLACES[:10]:
        crew.closeness(spot)
        crew.neighbours(3, spot.leaf)
        crew.common((0, 1, 2))
        crew.alike("H100", 400)
    blocks.grade(dict.fromkeys(PLACES[:10], 3), Seeker(Job("a", "job", 10**5), crew, UNCLAIMED))
    return Counted.looked


def test_what_a_score_costs_does_not_grow_with_the_job() -> None:
    """As many look-ups with 3,072 bound pods as with 16, and none walks over the counts."""
    assert 0 < look_ups(16) == look_ups(3072)


def test_to_a_job_without_pods_all_is_neutral() -> None:
    """Nothing is near, far, common or different."""
    found = NOBODY.closeness(PLACES[0]), NOBODY.neighbours(1, "x"), NOBODY.common((0,))
    assert (NEUTRAL, NEUTRAL, NEUTRAL) == found
    assert NOBODY.alike("H100", 400)


@pytest.mark.parametrize(("index", "leaf"), [(None, "f0/b0/0"), (0, "")])
def test_without_an_index_or_a_leaf_there_are_no_neighbours(index: int | None, leaf: str) -> None:
    """Even where the job's other pods have both."""
    crew = Crew()
    crew.change(Member("n", PLACES[0], index=0), 1)
    assert NEUTRAL == crew.neighbours(index, leaf)
    assert (1.0, 0.0) == (crew.neighbours(1, PLACES[0].leaf), crew.neighbours(1, "elsewhere"))


def test_common_rails_are_the_mean_share_of_the_pods() -> None:
    """Rail 0 is used by both pods, rail 1 by one, rail 2 by none."""
    crew = Crew()
    for rails in ((0, 1), (0,)):
        crew.change(Member("n", Place(), rails), 1)
    assert 0.5 == crew.common((0, 1, 2))
    assert 1.0 == crew.common((0,))
    assert NEUTRAL == crew.common(())


def test_unknown_places_are_neutral_to_each_other() -> None:
    """A pod whose leaf is not known makes no node near or far."""
    crew = Crew()
    crew.change(Member("n", Place(zone="z")), 1)
    assert NEUTRAL == crew.closeness(Place(zone="z", leaf="l"))
    assert 0 == crew.closeness(Place(zone="other", leaf="l"))


def test_products_and_speeds_are_those_that_are_known() -> None:
    """A job is mixed only if nothing else fits, so the score asks what it runs on."""
    crew = Crew()
    for product, gbps in (("H100", 400), ("", 0), ("H200", 400)):
        crew.change(Member("n", PLACES[0], product=product, gbps=gbps), 1)
    assert (frozenset({"H100", "H200"}), frozenset({400})) == (crew.products, crew.speeds)
    crew.change(Member("n", PLACES[0], product="H200", gbps=400), -1)
    assert frozenset({"H100"}) == crew.products

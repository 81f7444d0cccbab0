"""Soft claims: what other jobs will need, never leaked."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from podrail.gang.claims import UNCLAIMED, Claims
from podrail.locality import Level, Place

JOBS = st.sampled_from(["a", "b", "c"])
PLACES = st.sampled_from(
    [Place(), Place(block="x", leaf="x/1"), Place(block="x", leaf="x/2"), Place(block="y")]
)


def wanted(claims: Claims, job: str, level: Level, now: float = 0) -> dict[str, int]:
    """What is claimed by others at a level."""
    return {name: nodes for name, nodes in claims.others(job, now)[level].items() if nodes}


def test_a_job_claims_for_its_rest_and_not_against_itself() -> None:
    """The claim follows its latest pod, shrinks with its rest, and goes when it is whole."""
    claims = Claims()
    claims.make("a", Place(block="x", leaf="x/1"), 15, 60)
    assert {"x": 15} == wanted(claims, "b", Level.BLOCK)
    assert {} == wanted(claims, "a", Level.BLOCK)
    claims.make("a", Place(block="y"), 14, 60)
    assert {"y": 14} == wanted(claims, "b", Level.BLOCK)
    assert {} == wanted(claims, "b", Level.LEAF)
    claims.make("a", Place(block="y"), 0, 60)
    assert UNCLAIMED == claims.others("b", 0)


def test_of_two_jobs_in_one_block_the_later_yields() -> None:
    """A claim that is renewed keeps its rank; one on another block is new there."""
    claims = Claims()
    for job in ("a", "b", "a"):
        claims.make(job, Place(block="x"), 9, 60)
    assert {} == wanted(claims, "a", Level.BLOCK)
    assert {"x": 9} == wanted(claims, "b", Level.BLOCK)
    claims.make("a", Place(block="y"), 9, 60)
    claims.make("a", Place(block="x"), 9, 60)
    assert {"x": 9} == wanted(claims, "a", Level.BLOCK)


class ClaimsAgainstAModel(RuleBasedStateMachine):
    """The claims and a plain list of (job, block, leaf, nodes, until) are told the same."""

    def __init__(self) -> None:
        super().__init__()
        self.claims = Claims()
        self.model: dict[tuple[Level, str], list[tuple[str, int, float]]] = {}
        self.now = 0.0

    def forget(self, job: str, keep: set[tuple[Level, str]]) -> None:
        for unit, claims in self.model.items():
            if unit not in keep:
                self.model[unit] = [one for one in claims if one[0] != job]

    @rule(job=JOBS, place=PLACES, nodes=st.integers(0, 5))
    def make(self, job: str, place: Place, nodes: int) -> None:
        """A bind claims the rest for ten seconds."""
        self.claims.make(job, place, nodes, self.now + 10)
        named = {(level, place.names[level]) for level in Level if place.names[level] and nodes}
        self.forget(job, named)
        for unit in named:
            claims = self.model.setdefault(unit, [])
            renewed = (job, nodes, self.now + 10)
            at = next((at for at, one in enumerate(claims) if one[0] == job), len(claims))
            claims[at : at + 1] = [renewed]

    @rule(job=JOBS)
    def release(self, job: str) -> None:
        """The job's last pod is gone."""
        self.claims.release(job)
        self.forget(job, set())

    @rule(seconds=st.floats(0, 12))
    def wait(self, seconds: float) -> None:
        """Time passes; claims end by themselves."""
        self.now += seconds

    @rule()
    def expire(self) -> None:
        """Cleaning up forgets what is over."""
        self.claims.expire(self.now)
        for unit, claims in self.model.items():
            self.model[unit] = [one for one in claims if one[2] > self.now]
        assert len({one[0] for some in self.model.values() for one in some}) == len(self.claims)

    @invariant()
    def the_same_is_claimed(self) -> None:
        """Whoever asks, and at each level."""
        for job in ("a", "b", "nobody"):
            for level in Level:
                expected = {}
                for (there, name), claims in self.model.items():
                    names = [one[0] for one in claims]
                    ahead = claims[: names.index(job)] if job in names else claims
                    nodes = sum(one[1] for one in ahead if one[2] > self.now)
                    if there is level and nodes:
                        expected[name] = nodes
                assert expected == wanted(self.claims, job, level, self.now)

    def teardown(self) -> None:
        """Nothing is left once every job is gone."""
        for job in ("a", "b", "c"):
            self.claims.release(job)
        assert (0, {}, {}) == (len(self.claims), self.claims._claims, self.claims._units)


TestClaims = ClaimsAgainstAModel.TestCase
TestClaims.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)

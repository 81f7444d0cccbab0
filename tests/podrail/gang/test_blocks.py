"""Which block the rest of a job should fill."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
import yard
from yard import Yard

from podrail.gang import blocks
from podrail.gang.blocks import Seeker
from podrail.gang.claims import UNCLAIMED, Claims
from podrail.gang.job import Job
from podrail.gang.siblings import NOBODY, Crew, Member
from podrail.locality import NEUTRAL, Level, Place


def job(size: int | None = 16, key: str = "ml/a") -> Job:
    return Job(key, "job", size)


def alone(size: int | None) -> Seeker:
    """The first pod of a job, when nobody claims anything."""
    return Seeker(job(size), NOBODY, UNCLAIMED)


@pytest.mark.parametrize(
    ("sizes", "size", "expected"),
    [
        ({"s": 15, "m": 16, "l": 64}, 16, "m"),
        ({"s": 15, "m": 16, "l": 64}, 17, "l"),
        ({"s": 15, "m": 16, "l": 64}, 100, "l"),
        ({"s": 15, "m": 16, "l": 64}, None, "l"),
        ({"s": 1, "": 64}, 16, "s"),
    ],
    ids=["smallest", "next", "too large", "size unknown", "unknown block"],
)
def test_the_smallest_block_that_hosts_the_rest_is_best(
    sizes: dict[str, int], size: int | None, expected: str
) -> None:
    """Without one, or without a known size, the largest."""
    found = blocks.fit(sizes, alone(size), Level.BLOCK)
    assert [expected] == [name for name, worth in found.items() if worth == 1]
    assert all(0 <= worth <= 1 for worth in found.values())


def test_worse_fits_are_worth_less() -> None:
    """Those that host the rest come before those that do not, and the tighter ones first."""
    found = blocks.fit({"a": 16, "b": 20, "c": 64, "d": 15, "e": 1}, alone(16), Level.BLOCK)
    assert list("abdce") == sorted(found, key=found.__getitem__, reverse=True)


def test_pods_scored_before_the_first_bind_converge_and_jobs_spread() -> None:
    """Between equal blocks the job's key decides, the same for each of its pods."""
    free = {f"b{n}": 32 for n in range(8)}
    chosen = set()
    for number in range(40):
        wanted = Seeker(job(16, f"ml/{number}"), NOBODY, UNCLAIMED)
        first, second = (blocks.fit(free, wanted, Level.BLOCK) for _ in range(2))
        assert first == second
        chosen.add(max(first, key=first.__getitem__))
    assert 8 == len(chosen)


def test_a_job_goes_on_where_it_is_about_to_begin() -> None:
    """The place that one of its pods was told, though others would fit the whole job."""
    about = replace(alone(16), proposed=Place(leaf="b"))
    for room, expected in ((15, "b"), (0, "a")):
        found = blocks.fit({"a": 16, "b": room}, about, Level.LEAF)
        assert expected == max(found, key=found.__getitem__)


def test_what_is_unknown_is_neutral() -> None:
    """Where no node tells its place, none is better; beside known ones it is in the middle."""
    assert {Place(): NEUTRAL} == blocks.grade({Place(): 5}, alone(4))
    found = blocks.grade({Place(): 50, Place(block="b"): 5}, alone(4))
    assert {Place(): NEUTRAL, Place(block="b"): 1.0} == found


def test_the_leaf_decides_inside_the_best_block_only() -> None:
    """No leaf of another block is worth as much as any of the best one; domains come last."""
    there = {
        Place(block="s", leaf="s/1", domain="d1"): 2,
        Place(block="s", leaf="s/1", domain="d2"): 6,
        Place(block="s", leaf="s/2"): 16,
        Place(block="l", leaf="l/1"): 8,
        Place(block="l", leaf="l/2"): 80,
    }
    found = blocks.grade(there, alone(8))
    ranked = [(one.leaf, one.domain) for one in sorted(found, key=found.__getitem__, reverse=True)]
    assert [("s/1", "d2"), ("s/1", "d1"), ("s/2", ""), ("l/1", ""), ("l/2", "")] == ranked
    assert 1 == max(found.values())


def crew(*members: Place) -> Crew:
    found = Crew()
    for number, one in enumerate(members):
        found.change(Member(f"n{number}", one), 1)
    return found


def test_a_job_goes_on_where_most_of_it_runs() -> None:
    """Also where another block would fit its rest better."""
    wanted = Seeker(job(16), crew(*[yard.place(0)] * 3, yard.place(1)), UNCLAIMED)
    found = blocks.fit({"b0": 1, "b1": 30, "b2": 12}, wanted, Level.BLOCK)
    assert 1 == found["b0"]


def test_a_replaced_pod_comes_home_in_spite_of_claims() -> None:
    """Where half of the job runs nobody's claim counts; elsewhere they do."""
    claims = Claims()
    for name in ("b0", "b1"):
        claims.make(name, Place(block=name), 9, yard.FOREVER)
    claimed = claims.others("ml/a", 0)
    home = Seeker(job(16), crew(*[yard.place(0)] * 15), claimed)
    assert 1 == blocks.fit({"b0": 1, "b1": 9, "b2": 1}, home, Level.BLOCK)["b0"]
    guest = Seeker(job(16), crew(yard.place(0)), claimed)
    assert 1 == blocks.fit({"b0": 9, "b1": 9, "b2": 15}, guest, Level.BLOCK)["b2"]


def test_a_job_that_no_block_hosts_stays_within_one_fabric() -> None:
    """Two blocks of one fabric come before larger ones of two, and a begun fabric before all."""
    there = {
        Place(fabric="x", block="x/1"): 20,
        Place(fabric="y", block="y/1"): 16,
        Place(fabric="y", block="y/2"): 16,
    }
    found = blocks.grade(there, alone(32))
    assert "y" == max(found, key=found.__getitem__).fabric
    begun = Seeker(job(12), crew(Place(fabric="y", block="y/0")), UNCLAIMED)
    found = blocks.grade(there, begun)
    assert "y" == max(found, key=found.__getitem__).fabric


@pytest.mark.parametrize(
    ("bound", "per_node", "expected"), [(0, 1, 16), (3, 1, 13), (3, 4, 4), (20, 1, 0)]
)
def test_the_rest_is_counted_in_nodes(bound: int, per_node: int, expected: int) -> None:
    """Several pods may fit on a node; a job with more pods than its size needs none."""
    known = crew(*[yard.place(0)] * bound)
    assert expected == blocks.rest(job(16), known, per_node)
    assert max(1, expected) == Seeker(job(16), known, UNCLAIMED, per_node).rest
    assert blocks.rest(job(None), known) is None


def test_free_nodes_are_counted_by_value() -> None:
    """Whether or not nodes share their Place."""
    assert {yard.place(0): 3, yard.place(1): 1} == blocks.free(
        [yard.place(0), yard.place(0), yard.place(1), yard.place(0)]
    )


def test_two_interleaved_jobs_end_in_one_block_each() -> None:
    """Two jobs of 16 nodes, wherever both fit, in 1,000 random yards and orders."""
    chance, split = Random(1), []
    for case in range(1000):
        sizes = [chance.randint(16, 64) for _ in range(chance.randint(1, 6))]
        if len(sizes) == 1:
            sizes[0] = max(sizes[0], 32)
        field = Yard(yard.places(sizes, leaf=0 if case % 10 else 8))
        pods = [job(16, f"ml/{case}-{name}") for name in "ab" for _ in range(16)]
        chance.shuffle(pods)
        field.run(pods, chance)
        split += [(sizes, used) for used in field.used.values() if len(used) > 1]
    assert [] == split


def test_many_interleaved_jobs_take_hardly_more_blocks_than_they_must() -> None:
    """At most one block more than alone in an empty yard for 99 of 100 jobs, and none for 90."""
    chance, more = Random(2), []
    for _ in range(150):
        sizes = [chance.randint(16, 64) for _ in range(chance.randint(3, 8))]
        jobs = [job(chance.randint(1, 80), f"ml/{n}") for n in range(chance.randint(3, 6))]
        while sum(one.size or 0 for one in jobs) > sum(sizes):
            jobs.pop()
        pods = [one for one in jobs for _ in range(one.size or 0)]
        chance.shuffle(pods)
        field = Yard(yard.places(sizes))
        field.run(pods, chance)
        more += [len(field.used[one.key]) - yard.fewest(sizes, one.size or 0) for one in jobs]
    assert len(more) > 500
    assert sum(one <= 1 for one in more) >= 0.99 * len(more)
    assert sum(one == 0 for one in more) >= 0.9 * len(more)

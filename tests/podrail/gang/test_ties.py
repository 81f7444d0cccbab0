"""What ties a pod to nodes."""

from __future__ import annotations

from podrail.gang import ties
from podrail.gang.blocks import Seeker
from podrail.gang.claims import UNCLAIMED
from podrail.gang.job import Job
from podrail.gang.siblings import NOBODY as ALONE
from podrail.gang.siblings import Crew, Member
from podrail.locality import NOWHERE, Place
from podrail.score.kin import NOBODY, Kin, Near

HERE, THERE = Place(block="b", leaf="b/1"), Place(block="b", leaf="b/2")


def crew() -> Crew:
    """One pod here, with index 3."""
    found = Crew()
    found.change(Member("n", HERE, (0, 1), "H100", 400, 3), 1)
    return found


def seeker(own: Crew, index: int | None = None) -> Seeker:
    return Seeker(Job("k", "job", 4, index), own, UNCLAIMED)


def test_the_first_pod_sees_only_where_the_job_fits() -> None:
    """Nobody is there to be close to."""
    assert {HERE: Near(block=1.0)} == ties.nears({HERE: 4}, seeker(ALONE))


def test_a_later_pod_also_sees_how_close_its_job_is() -> None:
    """And the next index, if it has one itself."""
    found = ties.nears({HERE: 4, THERE: 4}, seeker(crew(), 4))
    assert (0.9, 1.0, 1.0) == (found[HERE].closeness, found[HERE].neighbours, found[HERE].block)
    assert (0.7, 0.0) == (found[THERE].closeness, found[THERE].neighbours)
    assert ties.nears({HERE: 4}, seeker(crew()))[HERE].neighbours is None


def test_nodes_without_places_say_nothing() -> None:
    """Then the parts are left out, and are not neutral."""
    assert {} == ties.nears({NOWHERE: 9}, seeker(crew()))


def test_the_kin_are_what_the_crew_runs_on() -> None:
    """Rails by their share, GPU products, NIC speeds; of no crew nobody."""
    found = ties.kin(crew())
    assert Kin(((0, 1.0), (1, 1.0)), frozenset({"H100"}), frozenset({400})) == found
    assert NOBODY == ties.kin(ALONE)

"""The pods that wait, by job, and which nominations lead nowhere."""

from __future__ import annotations

from extender.known import Held, Known
from extender.waiting import Waiting
from podrail.gang.job import Job
from podrail_io.reflector import Change

ONE, TWO = (Held(job=Job(key, "job")) for key in ("team/one", "team/two"))


def waits(held: Held = ONE, *, nominated: bool = False) -> Known:
    """A pod without a node."""
    return Known("u", "", held, nominated=nominated)


def follow(
    found: Waiting, key: str, before: Known | None, after: Known | None, now: float = 0.0
) -> None:
    """Let the watch tell of a change."""
    found.changed(Change(key, before, after), now)


def test_pods_are_told_by_job_in_the_order_in_which_they_came() -> None:
    """A change keeps a pod's place; one of another job, or of none, is not there."""
    found = Waiting()
    for key in ("c", "a", "b"):
        follow(found, key, None, waits())
    follow(found, "x", None, waits(TWO))
    follow(found, "y", None, Known("u", ""))
    follow(found, "c", waits(), waits(nominated=True))
    assert ["c", "a", "b"] == list(found.of("team/one"))
    assert found.of("team/one")["c"].nominated


def test_a_pod_that_is_bound_goes_or_changes_its_job_waits_no_more() -> None:
    """Nothing is kept of a job without a pod that waits."""
    found = Waiting()
    for key in ("bound", "gone", "moved"):
        follow(found, key, None, waits())
    follow(found, "bound", waits(), Known("u", "n", ONE))
    follow(found, "gone", waits(), None)
    follow(found, "moved", waits(), waits(TWO))
    assert ([], ["moved"]) == (list(found.of("team/one")), list(found.of("team/two")))
    follow(found, "moved", waits(TWO), None)
    assert ({}, {}, {}) == (found._jobs, found._nominated, found._moved)


def test_a_nomination_is_stuck_once_it_is_old_and_so_is_the_jobs_last_bind() -> None:
    """Each pod of a large job that is bound is a reason to wait for the others."""
    found = Waiting()
    follow(found, "a", None, waits())
    follow(found, "b", None, waits())
    follow(found, "a", waits(), waits(nominated=True), 10.0)
    follow(found, "a", waits(nominated=True), waits(nominated=True), 20.0)
    assert ([], ["a"]) == tuple([key for key, _ in found.stuck(at)] for at in (9.9, 10.0))
    follow(found, "b", waits(), Known("u", "n", ONE), 30.0)
    assert ([], ["a"]) == tuple([key for key, _ in found.stuck(at)] for at in (29.9, 30.0))
    follow(found, "a", waits(nominated=True), waits(), 31.0)
    assert [] == found.stuck(99.0)

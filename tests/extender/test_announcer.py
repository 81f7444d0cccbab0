"""Events on pods: what is said, and that saying it holds up nobody."""

from __future__ import annotations

import staging

from extender import announcer
from extender.announcer import Announcer
from podrail.extension import Bind
from podrail_io.kube import StatusError, UnreachableError

BOUND = Bind("worker-0", "team", "u-0", "n")


def test_a_shared_rail_is_one_event_on_the_pod() -> None:
    """Named by pod and reason, so that a second bind of the same pod makes no second one."""
    stage = staging.Stage()
    for _ in range(2):
        stage.announcer.shared(BOUND)
        stage.announcer.send()
    (path, first, _), (_, second, _) = stage.api.posts
    assert "/api/v1/namespaces/team/events" == path
    assert first["metadata"]["name"] == second["metadata"]["name"]
    assert ("Pod", "worker-0", "u-0") == (
        first["involvedObject"]["kind"],
        first["involvedObject"]["name"],
        first["involvedObject"]["uid"],
    )
    assert ("Warning", "RailsShared") == (first["type"], first["reason"])
    assert "1970-01-01T00:16:40Z" == first["firstTimestamp"]


def test_an_event_that_is_not_taken_is_let_go() -> None:
    """It is said already, or nobody hears: the next one is tried all the same."""
    stage = staging.Stage()
    stage.api.refusals = [StatusError(409, "exists"), UnreachableError("cut off")]
    for _ in range(3):
        stage.announcer.shared(BOUND)
        stage.announcer.send()
    assert (3, []) == (len(stage.api.posts), stage.api.refusals)


def test_beyond_a_thousand_waiting_events_the_rest_is_left_out() -> None:
    """A bind never waits for an API server that takes no events."""
    stage = staging.Stage()
    waiting = Announcer(stage.api, stage.wall)
    for _ in range(announcer.MOST_WAITING + 5):
        waiting.shared(BOUND)
    assert [] == stage.api.posts

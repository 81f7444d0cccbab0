"""The loop that reports on pods: once each, bad news first, and only while it holds the lease."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import audited
import builders
import pytest
import reporting
from audited import STARTED
from reporting import LEASE, Desk, eventually

from controller.docket import NAMESPACES
from controller.pace import FIRST_SECONDS
from controller.reporter import MOST_WRITES, NEWS_SECONDS, PATIENCE_SECONDS
from podrail import names
from podrail.topology import State

DOWN = {3: State.DOWN}
DEGRADED_AT = "2026-11-30T08:00:30Z"
UP_AT = "2026-11-30T08:01:00Z"


@pytest.fixture
def desk() -> Iterator[Desk]:
    """A pod on a node that its agent has seen."""
    with reporting.desk() as found:
        found.put(audited.document())
        found.see(audited.node_rails())
        yield found


def test_a_pod_is_reported_on_once(desk: Desk) -> None:
    """By its annotation and an event; nothing more is written while nothing changes."""
    desk.follow()
    assert desk.after(0)
    assert ("RailsAligned", 1) == (desk.said()["outcome"], desk.said()["n"])
    assert [("RailsAligned", 1)] == desk.told()
    for _ in range(3):
        assert desk.after(100)
    assert 2 == len(desk.server.sent)
    labels = {"profile": "sriov-rails", "outcome": "RailsAligned"}
    assert (1, 1, 1, 0) == (
        desk.metric("outcomes_total", **labels),
        desk.metric("pods", **labels),
        desk.metric("reports_total"),
        desk.metric("reports_waiting"),
    )


def test_a_link_that_goes_down_and_comes_up_is_told_each_time(desk: Desk) -> None:
    """One event each, the repeated one counted."""
    desk.follow()
    desk.after(0)
    desk.see(audited.node_rails(bad=DOWN, at=DEGRADED_AT))
    desk.after(FIRST_SECONDS)
    assert [{"code": "RailDown", "rails": [3], "cause": "PortDown"}] == desk.said()["reasons"]
    assert [("RailsAligned", 1), ("RailsDegraded", 1)] == desk.told()
    desk.see(audited.node_rails(at=UP_AT))
    desk.after(10)
    assert ("RailsAligned", []) == (desk.said()["outcome"], desk.said()["reasons"])
    assert [("RailsAligned", 2), ("RailsDegraded", 1)] == desk.told()


def test_a_flapping_link_is_no_storm(desk: Desk) -> None:
    """A pod is written ever more seldom: less than ten times in ten minutes of changes."""
    desk.follow()
    for at in range(60):
        bad = DOWN if at % 2 else None
        desk.see(audited.node_rails(bad=bad, at=f"2026-11-30T08:{at // 6 + 1:02}:{at % 6}0Z"))
        desk.after(10)
    assert len(desk.server.told) <= 2
    assert sum(count for _, count in desk.told()) < 10


def test_a_controller_that_starts_anew_says_nothing_twice(desk: Desk) -> None:
    """It finds its own words, and the change that came meanwhile."""
    desk.follow()
    desk.after(0)
    before = len(desk.server.sent)
    desk.lease.stop()
    again = Desk(desk.server, "another")
    again.follow()
    assert again.after(60)
    assert before == len(desk.server.sent)
    again.see(audited.node_rails(bad=DOWN, at=DEGRADED_AT))
    again.after(60)
    again.stop()
    assert [("RailsAligned", 1), ("RailsDegraded", 1)] == desk.told()


def test_a_crash_between_event_and_annotation_doubles_no_event(desk: Desk) -> None:
    """The next try sends the same one."""
    desk.follow()
    desk.server.answers = [("pods", 500)]
    assert not desk.after(0)
    assert {} == desk.said()
    assert desk.after(10)
    assert ("RailsAligned", [("RailsAligned", 1)]) == (desk.said()["outcome"], desk.told())
    assert 1 == desk.metric("report_errors_total")


def test_what_the_watch_does_not_show_yet_counts_as_told(desk: Desk) -> None:
    """A change that comes in between is no reason to say it again."""
    desk.follow()
    desk.server.answers = [("pods", 200)]
    desk.after(0)
    desk.reporter._consider("team/worker-0")
    desk.after(10)
    assert (2, {}, 0) == (len(desk.server.sent), desk.said(), desk.metric("reports_waiting"))


@pytest.mark.parametrize(("status", "well"), [(403, True), (422, True), (429, False), (503, False)])
def test_a_report_that_is_refused_is_written_later(desk: Desk, status: int, *, well: bool) -> None:
    """Alone if the answer is about it; with all others if the server is in need."""
    desk.follow()
    desk.server.answers = [("pods", status)]
    assert well == desk.after(0)
    assert 1 == desk.metric("reports_waiting")
    assert desk.after(10)
    assert "RailsAligned" == desk.said()["outcome"]


def test_an_event_that_is_refused_keeps_no_report_back(desk: Desk) -> None:
    """A namespace that is being deleted takes none."""
    desk.follow()
    desk.server.answers = [("events", 403)]
    assert desk.after(0)
    assert ("RailsAligned", []) == (desk.said()["outcome"], desk.told())


@pytest.mark.parametrize("status", [404, 409])
def test_a_pod_that_is_gone_is_no_error(desk: Desk, status: int) -> None:
    """Nor one that another took the name of: the watch tells of it a moment later."""
    desk.follow()
    desk.server.answers = [("pods", status)]
    assert desk.after(0)
    assert 0 == desk.metric("report_errors_total")
    desk.server.remove("/api/v1/pods/worker-0")
    assert eventually(lambda: not desk.docket.pods.items())
    assert desk.after(1)
    labels = {"profile": "sriov-rails", "outcome": "RailsAligned"}
    assert (0, None) == (desk.metric("reports_waiting"), desk.metric("pods", **labels))


def test_a_pod_that_goes_before_its_turn_is_not_written(desk: Desk) -> None:
    """What is judged at the turn is the pod as it is then."""
    desk.follow()
    desk.docket.changed()
    desk.reporter._agenda.put("team/worker-0", 0, urgent=True)
    desk.server.remove("/api/v1/pods/worker-0")
    assert eventually(lambda: not desk.docket.pods.items())
    desk.reporter._write_some()
    assert [] == desk.server.sent


def test_who_does_not_hold_the_lease_only_looks(desk: Desk) -> None:
    """And writes as soon as it does."""
    desk.server.put(LEASE, {"spec": {"holderIdentity": "other", "leaseDurationSeconds": 900}})
    desk.follow()
    assert desk.after(0)
    assert ([], 1) == (desk.server.sent, desk.metric("reports_waiting"))
    desk.server.put(LEASE, {"spec": {"holderIdentity": ""}})
    desk.lease._guarded(desk.lease._round)
    desk.after(0)
    assert "RailsAligned" == desk.said()["outcome"]


def test_a_lease_that_is_lost_ends_the_writing(desk: Desk) -> None:
    """It is asked for before each write."""
    desk.follow()
    desk.metrics.active = lambda: True
    desk.lease.stop()
    assert not desk.after(0)
    assert [] == desk.server.sent


def test_nothing_is_said_before_all_is_seen(desk: Desk) -> None:
    """Half a view would call pods unknown that are not."""
    assert desk.reporter.round()
    assert [] == desk.server.sent


def test_the_unknown_is_told_after_a_while_and_without_an_event(desk: Desk) -> None:
    """Agents look every few seconds; then the report follows."""
    desk.see(audited.node_rails(held={}))
    desk.follow()
    desk.after(0)
    assert {} == desk.said()
    desk.after(PATIENCE_SECONDS)
    assert ("Unknown", []) == (desk.said()["outcome"], desk.told())
    desk.see(audited.node_rails(at=UP_AT))
    desk.after(10)
    assert ("RailsAligned", [("RailsAligned", 1)]) == (desk.said()["outcome"], desk.told())


def test_old_pods_that_are_well_are_no_news(desk: Desk) -> None:
    """After a day off their annotations are written, and events only of those that are not."""
    sick = audited.document(name="worker-1")
    held = {**audited.WHOLE, "team/worker-1": (range(8), range(4))}
    desk.put(sick)
    desk.see(audited.node_rails(held=held))
    desk.follow()
    desk.after(NEWS_SECONDS)
    assert ("RailsAligned", "RailsDegraded") == (
        desk.said()["outcome"],
        desk.said("worker-1")["outcome"],
    )
    assert [("RailsDegraded", 1)] == desk.told()


def many(count: int) -> list[dict[str, Any]]:
    """Pods that share a node, as never in life."""
    return [audited.document(name=f"worker-{at}") for at in range(count)]


def test_writes_are_few_at_a_time_and_bad_news_first(desk: Desk) -> None:
    """A large cluster's catching up keeps nobody waiting who has to know."""
    last = f"team/worker-{MOST_WRITES * 2}"
    held = {f"team/worker-{at}": (range(8), range(8)) for at in range(MOST_WRITES * 2)}
    desk.put(*many(MOST_WRITES * 2 + 1))
    desk.see(audited.node_rails(held={**held, last: (range(8), range(2))}))
    desk.follow()
    desk.after(0)
    reports = [path for path in desk.server.sent if "/pods/" in path]
    assert MOST_WRITES == len(reports)
    assert reports[0].endswith(last.rpartition("/")[2])
    desk.after(0, rounds=2)
    assert not desk.metric("reports_waiting")


def bare(name: str = "bare", **fields: Any) -> dict[str, Any]:
    """A pod that the webhook has not seen."""
    found = builders.document(name=name, **fields)
    found["metadata"] |= {"namespace": "team", "uid": f"u-{name}"}
    return found


def test_pods_that_slipped_past_the_webhook_are_told(desk: Desk) -> None:
    """By their own label at once, by their namespace's when that is there."""
    desk.put(bare(), bare("other", fabric=None))
    desk.follow()
    desk.after(0)
    assert ("RailsNotInjected", {}) == (desk.said("bare")["outcome"], desk.said("other"))
    desk.server.put(f"{NAMESPACES}/team", {"metadata": {"labels": {names.FABRIC: "tcp"}}})
    assert eventually(lambda: desk.docket.spaces.get("team") == "tcp")
    desk.after(0)
    assert ("RailsNotInjected", "tcp") == (
        desk.said("other")["outcome"],
        desk.said("other")["profile"],
    )
    labels = {"profile": "tcp", "outcome": "RailsNotInjected"}
    assert 1 == desk.metric("pods", **labels)
    opted_out = {"metadata": {"labels": {names.FABRIC: names.OPT_OUT}}}
    desk.server.put(f"{NAMESPACES}/team", opted_out)
    assert eventually(lambda: desk.docket.spaces.get("team") is None)
    desk.after(0)
    assert desk.metric("pods", **labels) is None


def test_a_pod_that_the_extender_did_not_place_is_told(desk: Desk) -> None:
    """If its scheduler is one that asks the extender, which profiles may say later."""
    plain = audited.document(name="plain")
    del plain["metadata"]["annotations"][names.PLACEMENT]
    plain["spec"]["schedulerName"] = "own"
    desk.put(plain)
    desk.see(audited.node_rails(held={"team/plain": (range(8), range(8)), **audited.WHOLE}))
    desk.follow()
    desk.after(0)
    assert "RailsAligned" == desk.said("plain")["outcome"]
    own = builders.fabric("own", extras={"schedulerName": "own"})
    desk.profiles = {**desk.profiles, "own": own}
    desk.after(FIRST_SECONDS)
    assert "RailsUnscored" == desk.said("plain")["outcome"]


def test_a_silent_agent_is_counted_and_told_once(desk: Desk) -> None:
    """On its node; the reports on its pods stay as they are."""
    desk.follow()
    desk.after(0)
    desk.after(1000)
    desk.after(1000)
    assert [("AgentStale", 1), ("RailsAligned", 1)] == desk.told()
    assert (1, 1) == (desk.metric("stale_agents"), desk.said()["n"])


def test_what_an_agent_says_that_cannot_be_read_is_nothing(desk: Desk) -> None:
    """No fault of ours, and no report."""
    broken = audited.written(audited.node_rails())
    broken["status"]["tiers"] = "x"
    desk.server.put("/apis/podrail.dev/v1alpha1/noderails/n1", broken)
    desk.follow_only()
    assert {} == dict(desk.docket.rails.items())
    assert 0 == desk.docket.rails.faults


def test_a_heartbeat_is_news_of_pods_that_began_since_the_last(desk: Desk) -> None:
    """Of the others it says what was said before."""
    late = audited.document(name="late")
    late["status"]["startTime"] = DEGRADED_AT
    desk.put(late, audited.document(name="waiting"))
    held = {**audited.WHOLE, "team/late": (range(8), range(8))}
    desk.see(audited.node_rails(held=held))
    desk.follow()
    desk.after(0)
    desk.after(0)
    desk.see(audited.node_rails(held=held, at=UP_AT))
    assert eventually(lambda: desk.docket.rails.items()["n1"].observed_at == STARTED + 60)
    assert {"team/late"} == desk.docket.changed()


def test_pods_leave_their_nodes(desk: Desk) -> None:
    """One that is gone is looked at no more when its node changes."""
    desk.put(audited.document(name="worker-1"))
    desk.follow()
    desk.after(0)
    for name in ("worker-0", "worker-1"):
        desk.server.remove(f"/api/v1/pods/{name}")
    assert eventually(lambda: not desk.docket.pods.items())
    assert {"team/worker-0", "team/worker-1"} == desk.docket.changed()
    desk.see(replace(audited.node_rails(), observed_at=UP_AT))
    assert eventually(lambda: desk.docket.rails.get("n1") is not None)
    time.sleep(0.1)
    assert set() == desk.docket.changed()


def test_it_works_by_itself(desk: Desk) -> None:
    """In threads of its own, and a fault of ours ends none of them."""
    desk.lease._guarded(desk.lease._round)
    desk.reporter.start()
    assert eventually(lambda: desk.said().get("outcome") == "RailsAligned")
    desk.put(bare("faulty", fabric="x"))
    desk.profiles = None  # type: ignore[assignment]  # what nobody expects
    assert eventually(lambda: (desk.metric("faults_total") or 0) >= 1)

"""How many pods have which outcome."""

from __future__ import annotations

from dataclasses import replace

import audited
from audited import judged
from prometheus_client import CollectorRegistry

from controller.census import Census
from podrail.audit.outcome import Outcome, Report
from podrail.topology import State

GOOD = judged(audited.pod(), audited.seen())
BAD = judged(audited.pod(), audited.seen(bad={3: State.DOWN}))


def known(profile: str) -> str:
    """One profile is known."""
    return profile if profile == "sriov-rails" else ""


class Counted:
    """A census and what it exports."""

    def __init__(self, *, active: bool = True) -> None:
        self.census = Census(lambda: active, known)
        self.registry = CollectorRegistry()
        self.registry.register(self.census)

    def pods(self, outcome: Outcome, profile: str = "sriov-rails") -> float | None:
        labels = {"profile": profile, "outcome": outcome}
        return self.registry.get_sample_value("podrail_controller_pods", labels)

    def worth(self, side: str) -> float | None:
        labels = {"profile": "sriov-rails", "side": side}
        return self.registry.get_sample_value("podrail_controller_worth", labels)


def test_pods_are_counted_by_their_last_report() -> None:
    """One that changes changes its place; one that goes leaves none."""
    counted = Counted()
    for key, report in (("a", GOOD), ("b", GOOD), ("b", BAD), ("c", GOOD), ("c", None)):
        counted.census.put(key, report)
    assert (1, 1) == (counted.pods(Outcome.ALIGNED), counted.pods(Outcome.DEGRADED))
    counted.census.put("b", None)
    assert counted.pods(Outcome.DEGRADED) is None


def test_worth_is_compared_where_both_are_known() -> None:
    """The mean as expected and as observed, over the same pods."""
    counted = Counted()
    counted.census.put("a", GOOD)
    counted.census.put("b", BAD)
    counted.census.put("c", replace(GOOD, forecast=None))
    assert (1.0, (1 + 0.9375) / 2) == (counted.worth("expected"), counted.worth("observed"))
    for key in "ab":
        counted.census.put(key, None)
    assert counted.worth("expected") is None


def test_what_a_user_wrote_is_no_label() -> None:
    """A profile that nobody has is counted without its name."""
    counted = Counted()
    counted.census.put("a", Report(Outcome.NOT_INJECTED, "anything"))
    assert 1 == counted.pods(Outcome.NOT_INJECTED, "")
    assert counted.pods(Outcome.NOT_INJECTED, "anything") is None


def test_one_process_of_several_exports_them() -> None:
    """The active one, so that sums over processes are right."""
    counted = Counted(active=False)
    counted.census.put("a", GOOD)
    assert counted.pods(Outcome.ALIGNED) is None

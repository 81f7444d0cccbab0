"""The words for a report."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import audited
import pytest
from audited import judged
from hypothesis import given
from hypothesis import strategies as st

from podrail import names
from podrail.audit import record, told
from podrail.audit.outcome import Code, Finding, Outcome, Report
from podrail.audit.told import NOTHING, Times
from podrail.topology import State

NOW = "2026-11-30T09:00:00Z"
GOOD = judged(audited.pod(), audited.seen())
BAD = judged(audited.pod(), audited.seen(bad={3: State.DOWN}))
UNKNOWN = judged(audited.pod(), None)


def entry(report: Report, before: told.Told = NOTHING, **fields: Any) -> record.Entry:
    """The next annotation, which there must be."""
    found = record.entry(report, before, NOW, **fields)
    assert found is not None
    return found


def test_the_annotation_holds_what_was_expected_and_what_is() -> None:
    """Compact JSON with sorted keys, of a version."""
    text = entry(BAD).text
    found = json.loads(text)
    assert text == json.dumps(found, sort_keys=True, separators=(",", ":"))
    assert {
        "v": 1,
        "n": 1,
        "outcome": "RailsDegraded",
        "reasons": [{"code": "RailDown", "rails": [3], "cause": "PortDown"}],
        "profile": "sriov-rails",
        "node": "n1",
        "by": "devices",
        "aligned": 0.875,
        "worth": 0.9375,
    }.items() <= found.items()
    every = list(range(8))
    wanted = {"gpus": every, "chance": 1.0, "rails": every, "tier": "PIX", "worth": 1.0}
    assert wanted == found["expected"]


def test_what_is_written_is_read_back() -> None:
    """So that a controller that starts anew knows what was told."""
    found = entry(GOOD)
    assert found.told == told.read(found.text)


def test_nothing_is_said_twice() -> None:
    """Neither by this process nor by the next one."""
    found = entry(GOOD)
    assert record.entry(GOOD, found.told, "later") is None
    assert record.entry(GOOD, told.read(found.text), "later") is None


def test_each_change_of_outcome_is_one_event() -> None:
    """Counted by outcome, with the time of the first."""
    first = entry(GOOD)
    second = entry(BAD, first.told)
    third = entry(GOOD, second.told)
    assert (
        Times("RailsAligned", 1, NOW),
        Times("RailsDegraded", 1, NOW),
        Times("RailsAligned", 2, NOW),
    ) == (first.event, second.event, third.event)
    assert (3, third.event) == (third.told.number, third.told.times[0])


def test_other_facts_of_the_same_outcome_are_no_news() -> None:
    """The annotation follows, without an event."""
    worse = judged(audited.pod(), audited.seen(bad={3: State.DOWN, 4: State.DOWN}))
    found = entry(worse, entry(BAD).told)
    assert (2, None) == (found.told.number, found.event)


def test_the_unknown_is_written_once_and_never_over_what_is_known() -> None:
    """And it is no event."""
    found = entry(UNKNOWN)
    assert found.event is None
    assert record.entry(UNKNOWN, found.told, NOW) is None
    assert record.entry(UNKNOWN, entry(GOOD).told, NOW) is None
    assert Times("RailsAligned", 1, NOW) == entry(GOOD, found.told).event


def test_what_is_no_news_is_written_without_an_event() -> None:
    """Pods that a controller finds when it has been off."""
    found = entry(GOOD, news=False)
    assert (None, ()) == (found.event, found.told.times)
    assert record.entry(GOOD, found.told, NOW) is None


def test_an_annotation_that_would_be_too_long_leaves_names_out() -> None:
    """At most 8 KiB; the rails are told all the same."""
    assert GOOD.observed is not None
    long = replace(GOOD, observed=replace(GOOD.observed, nics=("é" * 64,) * 64))
    found = entry(long).text
    assert len(found.encode()) <= names.MARKER_BYTES
    assert ([], list(range(8))) == (json.loads(found)["nics"], json.loads(found)["rails"])


def test_an_aligned_pod_is_told_its_gpus_and_rails() -> None:
    """With what was expected."""
    assert (
        "GPUs and rails line up on node n1. Seen: GPUs 0-7, rails 0-7, worst distance PIX, 100% of "
        "the pairs at the node's best, worth 1.00. Expected: rails 0-7, worst distance PIX, worth "
        "1.00."
    ) == record.message(GOOD)


def test_a_degraded_pod_is_told_why() -> None:
    """Each finding in words."""
    assert record.message(BAD).startswith("On node n1: rail 3 down (PortDown). Seen: GPUs 0-7,")
    many = replace(BAD, findings=(Finding(Code.RAIL_MISSING, (1, 2, 4)),), forecast=None)
    assert "the node has no rails 1-2,4. Seen:" in record.message(many)
    assert "Expected" not in record.message(many)


def test_a_pod_that_slipped_is_told_what_to_do() -> None:
    """Past the webhook, or past the extender."""
    missed = Report(Outcome.NOT_INJECTED, "tcp")
    assert "asks for the fabric tcp" in record.message(missed)
    plain = judged(replace(audited.pod(), forecast=None), audited.seen())
    assert "has not placed this pod on node n1" in record.message(plain)
    assert "Seen: GPUs 0-7" in record.message(plain)
    assert "Seen" not in record.message(replace(plain, observed=None))
    assert "expected" not in json.loads(entry(missed).text)


@pytest.mark.parametrize("code", [Code.NO_PLACEMENT, Code.NO_MARKER, Code.NO_NODE_RAILS])
def test_only_what_degrades_has_a_sentence(code: Code) -> None:
    """The others are told by the outcome itself."""
    assert code not in record.SENTENCES
    every = {*Code} - {code, Code.NO_PLACEMENT, Code.NO_MARKER, Code.NO_NODE_RAILS}
    assert every - {Code.NOT_LOOKED, Code.DEVICES_UNSEEN} == set(record.SENTENCES)


@given(st.frozensets(st.integers(0, 127)))
def test_ranges_name_each_number_once(numbers: frozenset[int]) -> None:
    """And no other."""
    found: list[int] = []
    for part in filter(None, record.ranges(sorted(numbers)).split(",")):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    assert sorted(numbers) == found


@given(
    st.dictionaries(st.integers(0, 7), st.sampled_from(State)),
    st.integers(0, 2**31 - 1),
    st.frozensets(st.integers(0, 7)),
)
def test_every_report_fits_its_annotation_and_settles(
    bad: dict[int, State], number: int, gpus: frozenset[int]
) -> None:
    """At most 8 KiB, read back as it was told, and then there is nothing more to write."""
    report = judged(audited.pod(), audited.seen(bad=bad, held={"team/worker-0": (gpus, range(8))}))
    before = replace(NOTHING, number=0 if report.outcome is Outcome.UNKNOWN else number)
    found = entry(report, before)
    assert len(found.text.encode()) <= names.MARKER_BYTES
    assert found.told == told.read(found.text)
    assert record.entry(report, found.told, "later") is None

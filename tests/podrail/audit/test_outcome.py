"""Predicted against observed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import audited
import builders
import placing
import pytest
from audited import OURS, codes, judged
from hypothesis import given
from hypothesis import strategies as st

from podrail import names
from podrail.audit import outcome, subject
from podrail.audit import sight as sights
from podrail.audit.outcome import By, Observed, Outcome
from podrail.audit.promise import Forecast
from podrail.audit.sight import Sight
from podrail.audit.subject import Subject
from podrail.topology import State, Tier

WORKER = "team/worker-0"
WHOLE = audited.pod()
HALF = audited.pod(gpus=4, fabric="sriov-pool")
SHARED = audited.pod(fabric="macvlan-rails")
BEFORE = "2026-11-30T07:59:59Z"
CROSSED = (range(4), range(4, 8))
"""Four GPUs of one socket and the NICs of the other."""


def seen(report: outcome.Report) -> Observed:
    """What was observed, which there must be."""
    assert report.observed is not None
    return report.observed


def test_a_whole_node_lines_up() -> None:
    """All pairs at the nearest distance."""
    report = judged(WHOLE, audited.seen())
    assert (Outcome.ALIGNED, ()) == (report.outcome, report.findings)
    every = tuple(range(8))
    nics = tuple(f"mlx5_{at}" for at in every)
    assert Observed(every, nics, every, By.DEVICES, Tier.PIX, 1.0, 1.0) == report.observed


def test_the_best_of_a_poor_machine_is_aligned() -> None:
    """All of its pairs cross the sockets: the node has no better."""
    crossed = audited.pod(shape=placing.CROSSED)
    report = judged(crossed, audited.seen(shape=placing.CROSSED))
    assert (Outcome.ALIGNED, Tier.SYS, 1.0) == (
        report.outcome,
        seen(report).tier,
        seen(report).aligned,
    )


def test_gpus_and_nics_of_different_sockets_are_degraded() -> None:
    """Below what the node could give, and below what was expected."""
    report = judged(HALF, audited.seen(held={WORKER: CROSSED}))
    assert (Outcome.DEGRADED, Tier.SYS, 0.0) == (
        report.outcome,
        seen(report).tier,
        seen(report).aligned,
    )
    assert "Misaligned" in codes(report)
    poor = replace(HALF, forecast=Forecast((0, 1, 2, 3), worth=0.2))
    assert ["Misaligned"] == codes(judged(poor, audited.seen(held={WORKER: CROSSED})))
    rich = replace(HALF, forecast=Forecast((0, 1, 2, 3), worth=0.9))
    both = ["Misaligned", "BelowExpected"]
    assert both == codes(judged(rich, audited.seen(held={WORKER: CROSSED})))


@pytest.mark.parametrize(
    ("bad", "expected", "worth"),
    [
        pytest.param({3: State.DOWN}, ("RailDown", (3,), "PortDown"), 0.9375, id="down"),
        pytest.param({3: State.SUSPECT}, ("RailSuspect", (3,), ""), 1.0, id="suspect"),
        pytest.param(
            dict.fromkeys(range(8), State.DOWN),
            ("RailDown", tuple(range(8)), "PortDown"),
            0.0,
            id="all down",
        ),
    ],
)
@pytest.mark.parametrize("pod", [WHOLE, SHARED], ids=["devices", "shared"])
def test_a_rail_that_goes_down_under_a_pod_degrades_it_until_it_is_up(
    pod: Subject, bad: dict[int, State], expected: tuple[object, ...], worth: float
) -> None:
    """With the agent's reason; then the report is what it was before."""
    held = {WORKER: (range(8), range(8) if pod is WHOLE else ())}
    before = judged(pod, audited.seen(held=held))
    during = judged(pod, audited.seen(held=held, bad=bad))
    (finding,) = during.findings
    assert Outcome.ALIGNED is before.outcome
    assert (Outcome.DEGRADED, worth) == (during.outcome, seen(during).worth)
    assert expected == (finding.code, finding.rails, finding.cause)
    assert before == judged(pod, audited.seen(held=held))


def test_a_rail_of_others_is_not_the_pods_affair() -> None:
    """It holds no device of that one."""
    held = {WORKER: (range(4), range(4))}
    pod = replace(HALF, forecast=Forecast(tuple(range(4)), worth=1.0))
    assert Outcome.ALIGNED is judged(pod, audited.seen(held=held, bad={6: State.DOWN})).outcome


def test_a_gpu_that_fails_degrades_its_pod() -> None:
    """And no other."""
    sick = replace(audited.seen(), unwell=(2,))
    assert ["GpuUnhealthy"] == codes(judged(WHOLE, sick))
    assert Outcome.ALIGNED is judged(WHOLE, replace(sick, unwell=(9,))).outcome


def test_fewer_rails_than_expected_degrade() -> None:
    """Two VFs of a pool may be of one NIC."""
    found = judged(HALF, audited.seen(held={WORKER: (range(4), range(2))}))
    assert ["RailsLacking"] == codes(found)


def test_a_rail_that_the_node_lacks_degrades() -> None:
    """It was promised at admission, and is not there."""
    small = audited.seen(shape=placing.FOUR_RAILS, held={WORKER: (range(8), range(4))})
    (finding,) = judged(WHOLE, small).findings
    assert ("RailMissing", (4, 5, 6, 7)) == (finding.code, finding.rails)
    alone = replace(WHOLE, forecast=Forecast((98, 99)))
    assert ["RailMissing"] == codes(judged(alone, audited.seen(held={WORKER: (range(8), ())})))


def test_devices_that_tell_no_nic_leave_the_markers() -> None:
    """Numbered devices of a shared pool, whatever else the pod holds."""
    found = audited.node_rails()
    shared = replace(found.allocations[-1], resource="nvidia.com/rail7", device="17")
    whole = replace(found, allocations=(*found.allocations[:-1], shared))
    sight = outcome_sight(whole)
    assert (By.MARKERS, tuple(range(8))) == (
        (one := seen(judged(WHOLE, sight))).by,
        one.rails,
    )


def outcome_sight(found: Any) -> Sight:
    """What is kept of a NodeRails."""
    sight = sights.of(found)
    assert sight is not None
    return sight


@pytest.mark.parametrize(
    ("pod", "sight", "code"),
    [
        pytest.param(WHOLE, None, "NoNodeRails", id="no agent"),
        pytest.param(WHOLE, audited.seen(at=BEFORE), "NotLookedSince", id="an earlier pod's"),
        pytest.param(WHOLE, audited.seen(at=""), "NotLookedSince", id="never"),
        pytest.param(WHOLE, audited.seen(held={}), "DevicesUnseen", id="no devices"),
        pytest.param(
            WHOLE,
            audited.seen(held={"team/other": (range(8), range(8))}),
            "DevicesUnseen",
            id="another pod's",
        ),
    ],
)
def test_what_nobody_has_seen_is_unknown(pod: Subject, sight: Sight | None, code: str) -> None:
    """Neither good nor bad."""
    report = judged(pod, sight)
    assert (Outcome.UNKNOWN, [code]) == (report.outcome, codes(report))


def test_an_earlier_pods_devices_are_not_the_later_ones() -> None:
    """It had the same name, and the agent has not looked since."""
    stale = audited.seen(held={WORKER: CROSSED}, at=BEFORE)
    assert Outcome.UNKNOWN is judged(HALF, stale).outcome
    assert judged(HALF, stale).observed is None


def test_a_pod_that_has_not_started_is_not_reported_on() -> None:
    """Nor one that waits, was skipped, or was promised no rails."""
    idle = audited.seen()
    skipped = placing.injected(builders.shipped()["tcp"], builders.container(gpus=0))
    skipped["spec"]["nodeName"] = audited.NODE
    for pod in (
        replace(WHOLE, started=None),
        replace(WHOLE, node=""),
        audited.pod(fabric="tcp"),
        subject.kept(skipped),
    ):
        assert pod is not None
        assert outcome.judge(pod, idle, OURS) is None


def test_a_pod_that_the_extender_did_not_place_is_unscored() -> None:
    """If our scheduler bound it; what it got is told all the same."""
    plain = replace(WHOLE, forecast=None)
    report = judged(plain, audited.seen())
    assert (Outcome.UNSCORED, ["NoPlacement"], 1.0) == (
        report.outcome,
        codes(report),
        seen(report).aligned,
    )
    assert Outcome.UNSCORED is judged(replace(plain, started=None), None).outcome
    assert Outcome.DEGRADED is judged(plain, audited.seen(bad={0: State.DOWN})).outcome
    other = replace(plain, scheduler="theirs")
    assert Outcome.ALIGNED is judged(other, audited.seen()).outcome


def slipped(fabric: str | None = None, gpus: int = 8, namespace: str = "team") -> Subject:
    """A pod without a marker."""
    document = builders.document(builders.container(gpus=gpus, limits={"x/y": "1"}), fabric=fabric)
    document["metadata"] |= {"namespace": namespace, "uid": "u"}
    found = subject.kept(document)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("pod", "fabric", "expected"),
    [
        pytest.param(slipped("tcp"), "", "tcp", id="own label"),
        pytest.param(slipped("tcp", 0), "other", "tcp", id="own label without GPUs"),
        pytest.param(slipped(), "tcp", "tcp", id="its namespace's"),
        pytest.param(slipped(gpus=0), "tcp", None, id="its namespace's without GPUs"),
        pytest.param(slipped(), "", None, id="nobody's"),
        pytest.param(slipped("tcp", namespace="kube-system"), "", None, id="system"),
    ],
)
def test_a_pod_that_slipped_past_the_webhook_is_found(
    pod: Subject, fabric: str, expected: str | None
) -> None:
    """By its own label, or its namespace's if it has GPUs."""
    report = outcome.judge(pod, None, OURS, fabric)
    assert expected == (None if report is None else report.profile)
    assert report is None or report.outcome is Outcome.NOT_INJECTED


STATES = st.dictionaries(st.integers(0, 7), st.sampled_from(State))
SETS = st.frozensets(st.integers(0, 7))
PODS = st.sampled_from([WHOLE, HALF, SHARED, replace(WHOLE, forecast=None)])


@given(PODS, SETS, SETS, STATES)
def test_aligned_means_that_nothing_was_found(
    pod: Subject, gpus: frozenset[int], nics: frozenset[int], bad: dict[int, State]
) -> None:
    """Every other outcome names a reason, and no port of an aligned pod is other than up."""
    report = judged(pod, audited.seen(held={WORKER: (gpus, nics)}, bad=bad))
    assert (report.outcome is Outcome.ALIGNED) == (not report.findings)
    if report.outcome is Outcome.ALIGNED:
        assert all(bad.get(rail, State.UP) is State.UP for rail in seen(report).rails)
        assert seen(report).gpus == tuple(sorted(gpus))


@given(SETS, SETS, st.sampled_from(["team/worker-1", "other/worker-0"]))
def test_what_others_hold_changes_nothing(
    gpus: frozenset[int], nics: frozenset[int], other: str
) -> None:
    """A report is about one pod."""
    both = {**audited.WHOLE, other: (gpus, nics)}
    assert judged(WHOLE, audited.seen()) == judged(WHOLE, audited.seen(held=both))


def test_the_names_of_outcomes_are_reasons_of_events() -> None:
    """What users look for does not change its name."""
    wanted = {"RailsAligned", "RailsDegraded", "RailsUnscored", "RailsNotInjected", "Unknown"}
    assert wanted == {one.value for one in Outcome}
    assert names.OBSERVED.endswith("/observed")

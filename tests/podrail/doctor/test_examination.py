"""All checks of the doctor together, and how they are written down."""

from __future__ import annotations

import re

import checkout
import installations

from podrail.doctor import examination
from podrail.doctor.finding import Verdict


def test_where_all_is_well_nothing_is_to_be_done() -> None:
    """Every check that has something to look at says so."""
    findings = examination.examine(installations.cluster())
    assert [] == [one for one in findings if one.verdict is not Verdict.OK]
    assert 15 < len(findings)


def test_an_empty_cluster_is_no_error() -> None:
    """Nothing was looked at, so nothing is known."""
    findings = examination.examine(installations.of([], parsed=(), probe=None, certificates=()))
    assert {Verdict.UNKNOWN} == {one.verdict for one in findings}
    assert all(one.remedy for one in findings)


def test_whatever_is_not_well_has_a_remedy() -> None:
    """And what is well has none."""
    for found in (installations.cluster(), installations.of([installations.node()])):
        for one in examination.examine(found):
            assert (one.verdict is Verdict.OK) == (not one.remedy), one


def test_the_findings_are_a_document() -> None:
    """With a summary of the verdicts, zeros too."""
    found = examination.document(examination.examine(installations.cluster()))
    assert ["findings", "summary"] == list(found)
    assert ["check", "verdict", "title", "detail", "remedy"] == list(found["findings"][0])
    assert ["ok", "warn", "fail", "unknown"] == list(found["summary"])
    assert len(found["findings"]) == sum(found["summary"].values())


def test_the_page_lists_every_check() -> None:
    """By its name, in the order in which they are shown."""
    text = checkout.text(checkout.ROOT / "docs" / "user" / "doctor.md")
    listed = re.findall(r"^\| `([a-z-]+)` \|", text, re.MULTILINE)
    shown = [one.check for one in examination.examine(installations.cluster())]
    tcp = installations.cluster(asked=("tcp",))
    steering = [one.check for one in examination.examine(tcp)]
    assert list(dict.fromkeys(steering)) == listed
    assert set(shown) < set(listed)

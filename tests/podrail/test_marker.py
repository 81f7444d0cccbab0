"""The admission marker: written and read back."""

from __future__ import annotations

import json

import pytest

from podrail import marker, names
from podrail.marker import Attached, Injected, Outcome, Reason

FULL = Injected(
    profile="sriov-rails",
    generation=3,
    container="train",
    rails=(0, 1),
    networks=(Attached(2, "ns/rail0", "rail0", 0), Attached(3, "ns/fs", "fs", None)),
    resources={"example.com/rail0": 1},
    env=("NCCL_X",),
    late=("networks", "nccl.conf"),
    kept=("env/NCCL_IB_HCA",),
    reasons=(Reason("HostNetwork", "spec.hostNetwork", "message"),),
)


def test_a_marker_reads_back_as_it_was_written() -> None:
    """Text and value are two forms of one thing."""
    assert FULL == marker.injected(FULL.text())


def test_the_text_is_compact_sorted_json_of_version_1() -> None:
    """As the format says."""
    text = FULL.text()
    assert json.dumps(json.loads(text), separators=(",", ":"), sort_keys=True) == text
    assert 1 == json.loads(text)["v"]


@pytest.mark.parametrize(
    "text", [None, "", "x", "[]", "{}", '{"v":2}', '{"v":1,"rails":5}', "[" * 5000]
)
def test_what_is_no_marker_reads_as_none(text: str | None) -> None:
    """A marker is never trusted to be well formed."""
    assert marker.injected(text) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"rails":[1,0]}', (1, 0)),
        ('{"rails":[true,"1",2]}', (2,)),
        ('{"rails":5}', ()),
        ("[]", ()),
        ("x", ()),
        ("[" * 5000, ()),
        (None, ()),
    ],
)
def test_the_rails_of_a_placement_are_read_with_the_same_distrust(
    text: str | None, expected: tuple[int, ...]
) -> None:
    """What is no rail is passed over."""
    assert expected == marker.placed_rails(text)


def test_a_long_marker_loses_messages_then_reasons() -> None:
    """It never exceeds its bound."""
    wordy = Injected(
        "p", 1, Outcome.SKIPPED, reasons=tuple(Reason("A", "b", "x" * 2000) for _ in range(9))
    )
    assert [""] * 8 == [reason["message"] for reason in json.loads(wordy.text())["reasons"]]
    hoarder = Injected("p", 1, kept=tuple(f"env/{number:0200}" for number in range(60)))
    assert len(hoarder.text()) <= names.MARKER_BYTES

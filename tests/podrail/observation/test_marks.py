"""What other health systems may say, and for how long."""

import json
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

from podrail.names import HEALTH_PREFIX
from podrail.observation import marks
from podrail.observation.marks import Mark
from podrail.topology import Nic, State

KEY = f"{HEALTH_PREFIX}nvsentinel"
UNTIL = "2026-11-30T10:00:00Z"
EPOCH = 1_796_032_800.0


def read(*found: Any) -> tuple[tuple[Mark, ...], list[str]]:
    known, problems = marks.read({KEY: json.dumps(found), "other/key": "x"})
    return known, [str(one) for one in problems]


def test_a_mark_is_read() -> None:
    """A rail or a device, a state, an end, a reason."""
    found, problems = read(
        {"rail": 3, "state": "down", "until": UNTIL, "why": "leaf 3 drained"},
        {"device": "mlx5_1", "state": "suspect", "until": UNTIL},
    )
    assert [] == problems
    assert (
        Mark("nvsentinel", 3, "", State.DOWN, EPOCH, "leaf 3 drained"),
        Mark("nvsentinel", None, "mlx5_1", State.SUSPECT, EPOCH, ""),
    ) == found


@pytest.mark.parametrize(
    ("mark", "told"),
    [
        ({"state": "down", "until": UNTIL}, "[0].rail: expected either rail or device"),
        ({"rail": 1, "state": "down"}, "[0].until: is required"),
        ({"rail": 1, "state": "down", "until": "tomorrow"}, "[0].until: expected a time"),
        ({"rail": 1, "state": "down", "until": "2026-11-30T10:00:00"}, "[0].until: expected a time"),
        ({"rail": 1, "state": "bad", "until": UNTIL}, "[0].state: expected one of suspect, down"),
        ({"rail": 1, "until": UNTIL}, "[0].state: is required"),
        ({"rail": 1, "state": "down", "until": UNTIL, "x": 1}, "[0].x: unknown field"),
        (7, "[0]: expected an object"),
    ],
)  # fmt: skip
def test_a_wrong_mark_is_told_and_no_other_suffers(mark: Any, told: str) -> None:
    """The good one beside it holds."""
    found, problems = read(mark, {"rail": 2, "state": "down", "until": UNTIL})
    assert [2] == [one.rail for one in found]
    assert told in problems[0]


@given(st.text(max_size=40))
def test_any_text_is_read(text: str) -> None:
    """An annotation is whatever somebody writes."""
    found, _ = marks.read({KEY: text})
    assert () == found


@pytest.mark.parametrize(
    ("now", "holds"),
    [(EPOCH - 1, True), (EPOCH, False), (EPOCH - marks.LONGEST_SECONDS - 1, False)],
    ids=["before", "after", "too far ahead"],
)
def test_a_mark_runs_out(now: float, holds: bool) -> None:
    """At its end; one that would hold for longer than a day does not begin."""
    found, _ = read({"rail": 3, "state": "down", "until": UNTIL})
    assert holds is bool(marks.holding(found, now))


def test_a_mark_concerns_a_rail_or_a_device() -> None:
    """By HCA, interface or address."""
    nic = Nic("mlx5_1", 1, 0, device="mlx5_1", netdev="rail1", pci="0000:61:00.0")
    found, _ = read(
        {"rail": 1, "state": "down", "until": UNTIL},
        {"device": "rail1", "state": "down", "until": UNTIL},
        {"device": "mlx5_2", "state": "down", "until": UNTIL},
    )
    assert [True, True, False] == [one.concerns(nic) for one in found]

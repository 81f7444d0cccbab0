"""Traces of jobs."""

from __future__ import annotations

from typing import Any

import pytest

from podrail.errors import MalformedError
from podrail.simulation import trace
from podrail.simulation.trace import Work


def test_jobs_come_in_the_order_of_their_arrival() -> None:
    """What is left out has a default; copies are numbered and come one after the other."""
    jobs = [
        {"name": "b", "arrival": 20, "pods": 2, "copies": 2, "every": 5, "profile": "p"},
        {"gpus": 4, "seconds": 60},
    ]
    expected = (
        Work("job-1", 0, 1, 4, 60, "mine"),
        Work("b-0", 20, 2, 8, 0, "p"),
        Work("b-1", 25, 2, 8, 0, "p"),
    )
    assert expected == trace.read({"jobs": jobs}, "mine")


@pytest.mark.parametrize(
    ("document", "told"),
    [
        ({}, "jobs: is required"),
        ({"jobs": [{}]}, r"jobs\[0\].profile: is required, here or as --profile"),
        (
            {"jobs": [{"profile": "p", "pods": 0}]},
            r"jobs\[0\].pods: expected a whole number from 1",
        ),
        ({"jobs": [{"profile": "p", "gpu": 8}]}, r"jobs\[0\].gpu: unknown field"),
        ({"jobs": [{"profile": "p", "name": "a"}] * 2}, "two jobs with the name a"),
        ({"jobs": [{"profile": "p", "copies": 100_000}] * 2}, "at most 100000 jobs"),
    ],
    ids=["empty", "profile", "pods", "unknown", "twice", "many"],
)
def test_what_is_no_trace_is_refused(document: dict[str, Any], told: str) -> None:
    """With the field and what was expected there."""
    with pytest.raises(MalformedError, match=told):
        trace.read(document)

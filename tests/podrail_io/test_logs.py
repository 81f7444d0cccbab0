"""Log lines: one JSON object each, whatever a tenant's pod holds."""

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podrail_io import logs, trace


def line(**fields: Any) -> dict[str, Any]:
    """The parsed line of a record; fails unless it is one line of ASCII."""
    record = logging.makeLogRecord({"name": "n", "levelname": "INFO", "created": 0.5, "msecs": 500})
    vars(record).update(fields)
    text = logs.JsonLines().format(record)
    assert text.isascii()
    assert text.isprintable()
    found = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert isinstance(found, dict)
    return found


@pytest.fixture(name="root")
def _root() -> Iterator[logging.Logger]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield root
    root.handlers[:] = handlers
    root.setLevel(level)


def test_what_a_line_holds() -> None:
    """A line has UTC time, level, logger, message and each extra under its own key."""
    expected = {
        "time": "1970-01-01T00:00:00.500Z",
        "level": "info",
        "logger": "n",
        "message": "pod bound",
        "node": "n1",
        "rails": 8,
        "share": 0.5,
        "late": True,
        "none": None,
    }
    extras = {"node": "n1", "rails": 8, "share": 0.5, "late": True, "none": None}
    assert expected == line(msg="pod %s", args=("bound",), **extras)


@given(st.text(), st.text())
def test_a_value_cannot_forge_a_line(message: str, value: str) -> None:
    """Newlines, ANSI, U+2028 and lone surrogates come back from the one line they went into."""
    found = line(msg="%s", args=(message,), value=value)
    assert (message, value) == (found["message"], found["value"])


def test_an_extra_cannot_replace_the_lines_own_keys() -> None:
    """An extra named like a key of ours changes nothing."""
    found = line(msg="x", level="error", time="never", logger="other")
    assert ("info", "n") == (found["level"], found["logger"])
    assert found["time"].startswith("1970")


def test_a_line_of_a_traced_request_leads_to_its_trace() -> None:
    """By both ids, which no extra can replace; afterwards lines have neither."""
    trace.begin("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
    try:
        during = line(msg="x", trace_id="forged")
    finally:
        trace.end()
    assert ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7") == (
        during["trace_id"],
        during["span_id"],
    )
    assert {"trace_id", "span_id"}.isdisjoint(line(msg="x"))


def test_texts_are_cut() -> None:
    """A megabyte makes a line of at most a few kilobytes, in text and in nested values."""
    big = "x" * 2**20
    found = line(msg=big, text=big, nested={"a": [big]})
    lengths = (len(found["message"]), len(found["text"]), len(found["nested"]))
    assert (1024, 256, 256) == lengths


def test_values_that_json_lacks() -> None:
    """NaN and objects become text, so that every line is strict JSON."""
    found = line(msg="x", share=float("nan"), names=("a", 1), odd={"k": {1}})
    assert ("nan", '["a", 1]', '{"k": "{1}"}') == (found["share"], found["names"], found["odd"])


def test_the_end_of_a_traceback_is_kept() -> None:
    """A traceback is one bounded string that ends with the error."""
    error = ValueError("y" * 10_000 + " the end")
    found = line(msg="x", exc_info=(ValueError, error, None))
    assert len(found["traceback"]) == logs.MOST_TRACEBACK
    assert found["traceback"].endswith("the end")


@pytest.mark.usefixtures("root")
def test_every_logger_writes_lines_from_the_level_on() -> None:
    """After setup other loggers' records, gunicorn's too, go through the format and the level."""
    stream = io.StringIO()
    logs.setup(stream, "warning")
    logging.getLogger("gunicorn.error").info("left out")
    logging.getLogger("gunicorn.error").warning("worker\nlost", extra={"pid": 7})
    (only,) = stream.getvalue().splitlines()
    found = json.loads(only)
    expected = {"logger": "gunicorn.error", "message": "worker\nlost", "pid": 7}
    assert expected == {key: found[key] for key in expected}

"""The trace of a request, as W3C Trace Context has it."""

import pytest

from podrail_io import trace
from podrail_io.trace import Trace

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


@pytest.mark.parametrize(
    ("header", "found"),
    [
        pytest.param(f"00-{TRACE}-{SPAN}-01", True, id="sampled"),
        pytest.param(f"00-{TRACE}-{SPAN}-00", True, id="not sampled"),
        pytest.param(f"cc-{TRACE}-{SPAN}-01-what-the-future-brings", True, id="a later version"),
        pytest.param(f"00-{TRACE}-{SPAN}-01-more", False, id="more than version 0 has"),
        pytest.param(f"ff-{TRACE}-{SPAN}-01", False, id="version ff"),
        pytest.param(f"00-{'0' * 32}-{SPAN}-01", False, id="no trace"),
        pytest.param(f"00-{TRACE}-{'0' * 16}-01", False, id="no span"),
        pytest.param(f"00-{TRACE.upper()}-{SPAN}-01", False, id="upper case"),
        pytest.param(f"00-{TRACE}-{SPAN}-01\n", False, id="a new line"),
        pytest.param(f"00-{TRACE}-{SPAN}", False, id="no flags"),
        pytest.param("", False, id="none"),
    ],
)
def test_a_header_is_a_trace_or_none(header: str, *, found: bool) -> None:
    """What is not as the standard has it counts as absent, so nothing of it reaches a log."""
    assert (Trace(TRACE, SPAN) if found else None) == trace.read(header)


def test_a_trace_ends_with_its_request() -> None:
    """What the same thread does next belongs to none; nor does a request without a header."""
    seen = []
    for header in (f"00-{TRACE}-{SPAN}-01", ""):
        trace.begin(header)
        seen.append(trace.here())
    trace.begin(f"00-{TRACE}-{SPAN}-01")
    trace.end()
    assert [Trace(TRACE, SPAN), None, None] == [*seen, trace.here()]

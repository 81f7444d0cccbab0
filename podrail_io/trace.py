"""The trace that the request at hand belongs to, for the log lines that are written meanwhile.

kube-apiserver sends W3C trace context to webhooks while its own tracing is on (Kubernetes 1.36,
KEP-647). No span is made here: the two ids lead from a line of ours to the API server's span.
"""

import re
from contextvars import ContextVar
from typing import Final, NamedTuple

# W3C Trace Context, section 3.2: later versions may say more after the flags, ff is none.
_HEADER: Final = re.compile(r"(?!ff)([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?")
_FIRST_VERSION: Final = "00"


class Trace(NamedTuple):
    """A trace and the caller's span in it, as lower-case hex digits."""

    trace_id: str
    span_id: str


_here: Final[ContextVar[Trace | None]] = ContextVar("trace", default=None)


def read(header: str) -> Trace | None:
    """The trace in a traceparent header; None if it is none, which is no error (section 4.3)."""
    found = _HEADER.fullmatch(header)
    if found is None:
        return None
    version, trace, span, more = found.groups()
    if (version == _FIRST_VERSION and more) or not trace.strip("0") or not span.strip("0"):
        return None
    return Trace(trace, span)


def begin(header: str) -> None:
    """Have what follows in this thread belong to the trace in a header, or to none."""
    _here.set(read(header))


def end() -> None:
    """Have what follows belong to no trace."""
    _here.set(None)


def here() -> Trace | None:
    """The trace that is being served in this thread."""
    return _here.get()

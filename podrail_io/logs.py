"""Logs: one JSON object a line, so that no name or annotation of a tenant's can forge a line.

Every text is bounded too: a pod may bring a megabyte of annotations, an error may repeat them.
"""

import json
import logging
import math
import time
from typing import Any, Final, TextIO

from podrail_io import trace

MOST_MESSAGE: Final = 1024
"""The most characters of a message."""
MOST_EXTRA: Final = 256
"""The most characters of a value passed as `extra`."""
MOST_TRACEBACK: Final = 8192
"""The most characters of a traceback, of its end, where the error stands."""

_OWN: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class JsonLines(logging.Formatter):
    """A record as one line of JSON; what was passed as `extra` is a key each.

    While a request with a traceparent is served, trace_id and span_id are keys of it too, named as
    in OpenTelemetry's log data model.
    """

    def format(self, record: logging.LogRecord) -> str:
        """The line, ASCII only: newlines, ANSI and U+2028 are escaped."""
        moment = time.gmtime(record.created)
        line: dict[str, Any] = {
            "time": f"{time.strftime('%Y-%m-%dT%H:%M:%S', moment)}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage()[:MOST_MESSAGE],
        }
        traced = trace.here()
        if traced is not None:
            line |= traced._asdict()
        extras = {key: _bounded(value) for key, value in vars(record).items() if key not in _OWN}
        if record.exc_info:
            extras["traceback"] = self.formatException(record.exc_info)[-MOST_TRACEBACK:]
        # An extra named "level" must not change the line's own level.
        return json.dumps({**line, **{key: extras[key] for key in extras.keys() - line.keys()}})


def _bounded(value: object) -> object:
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    text = value if isinstance(value, str) else json.dumps(value, default=str, skipkeys=True)
    return text[:MOST_EXTRA]


def setup(stream: TextIO, level: str) -> None:
    """Send every logger's records to the stream as JSON lines from this level on."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())

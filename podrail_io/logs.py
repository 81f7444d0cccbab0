"""Logs: one JSON object a line, so that no name or annotation of a tenant's can forge a line."""

import json
import logging
import time
from typing import Any, Final, TextIO

MOST_TEXT: Final = 1024
"""The most characters of a message or value; a traceback may be as long as it is."""

_OWN: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class JsonLines(logging.Formatter):
    """A record as one line of JSON; what was passed as `extra` is a key each."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, ASCII only: newlines, ANSI and U+2028 are escaped."""
        moment = time.gmtime(record.created)
        line: dict[str, Any] = {
            "time": f"{time.strftime('%Y-%m-%dT%H:%M:%S', moment)}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage()[:MOST_TEXT],
        }
        line |= {key: _cut(value) for key, value in vars(record).items() if key not in _OWN}
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def _cut(value: object) -> object:
    return value[:MOST_TEXT] if isinstance(value, str) else value


def setup(stream: TextIO, level: str) -> None:
    """Send every logger's records to the stream as JSON lines from this level on."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())

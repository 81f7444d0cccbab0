"""Plain JSON documents: read from bytes within limits, and changed by copying only the way down."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, NoReturn

from podrail.errors import RequestError

MOST_DEPTH: Final = 100
"""Kubernetes objects stay below 40; deeper documents come from nobody's honest client."""

_NESTING: Final = frozenset({dict, list})


def read(body: bytes) -> Any:
    """The document in the body.

    Raises:
        RequestError: not UTF-8, not JSON, NaN or Infinity, or nested deeper than MOST_DEPTH.
    """
    try:
        found = json.loads(body.decode(), parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise RequestError(f"the body is not JSON: {str(error) or 'nested too deeply'}") from error
    level: Sequence[Any] = [found] if isinstance(found, dict | list) else ()
    for _ in range(MOST_DEPTH):
        level = [
            child
            for parent in level
            # A list of thousands of names has nothing below it, which is seen at once.
            if type(parent) is dict or not _NESTING.isdisjoint(map(type, parent))
            for child in (parent.values() if type(parent) is dict else parent)
            if type(child) is dict or type(child) is list
        ]
        if not level:
            return found
    raise RequestError(f"the body is nested deeper than {MOST_DEPTH} levels")


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON number")


def put(document: Any, path: Sequence[str | int], value: object) -> Any:
    """The document with value at path; what lies beside the path is shared, not copied.

    Objects that are absent or null on the way are made; an index one past a list's end appends.
    """
    if not path:
        return value
    step, rest = path[0], path[1:]
    if isinstance(step, int):
        items = list(document or ())
        items[step : step + 1] = [put(items[step] if step < len(items) else None, rest, value)]
        return items
    fields: Mapping[str, Any] = document or {}
    return {**fields, step: put(fields.get(step), rest, value)}

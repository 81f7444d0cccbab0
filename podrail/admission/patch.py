"""The JSON Patch (RFC 6902) that turns one document into another, and the proof that it does.

The rules share what they do not change, so the walk descends only where the two documents are not
the same object. A list or map inside one container is sent whole when much of it changes: the API
server applies one operation faster than ten (measured in docs/decisions/0006-patch.md).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import jsonpatch

Operation = Mapping[str, Any]

WHOLE: Final = frozenset({"env", "limits", "requests", "volumeMounts"})
"""Parts of a container that may be sent whole; anything above is somebody else's too."""
FEW: Final = 3
"""Up to so many operations a part is sent piece by piece."""


def diff(before: object, after: object) -> list[Operation]:
    """The operations that turn before into after: add, replace and remove only."""
    return list(_between(before, after, "", ""))


def _between(before: object, after: object, path: str, key: str) -> Iterator[Operation]:
    if before is after:
        return
    if isinstance(before, dict) and isinstance(after, dict):
        operations = list(_between_maps(before, after, path))
    elif isinstance(before, list) and isinstance(after, list):
        operations = list(_between_lists(before, after, path))
    else:
        if before != after or type(before) is not type(after):
            yield {"op": "replace", "path": path, "value": after}
        return
    if key in WHOLE and len(operations) > FEW:
        yield {"op": "replace", "path": path, "value": after}
    else:
        yield from operations


def _between_maps(
    before: Mapping[str, Any], after: Mapping[str, Any], path: str
) -> Iterator[Operation]:
    for key in before:
        if key not in after:
            yield {"op": "remove", "path": f"{path}/{_escaped(key)}"}
    for key, value in after.items():
        place = f"{path}/{_escaped(key)}"
        if key in before:
            yield from _between(before[key], value, place, key)
        else:
            yield {"op": "add", "path": place, "value": value}


def _between_lists(before: Sequence[Any], after: Sequence[Any], path: str) -> Iterator[Operation]:
    for index in range(len(before) - 1, len(after) - 1, -1):
        yield {"op": "remove", "path": f"{path}/{index}"}
    for index, (old, new) in enumerate(zip(before, after, strict=False)):
        yield from _between(old, new, f"{path}/{index}", "")
    for value in after[len(before) :]:
        yield {"op": "add", "path": f"{path}/-", "value": value}


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


def proven(operations: Sequence[Operation], before: Any, after: object) -> bool:
    """True if the library finds the operations valid and they turn before into after.

    before is consumed: the operations are applied in place, so that nothing is copied.
    """
    try:
        return bool(jsonpatch.JsonPatch(operations).apply(before, in_place=True) == after)
    except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException):
        return False

"""The values of the map as JSON has them: keys in camelCase, shares with four digits."""

import dataclasses
from collections.abc import Mapping
from enum import Enum
from typing import Any, Final

_DIGITS: Final = 4


def document(value: object) -> Any:
    """What json.dumps takes, of dataclasses, mappings, sequences and plain values."""
    if dataclasses.is_dataclass(value):
        parts = dataclasses.fields(value)
        return {_key(one.name): document(getattr(value, one.name)) for one in parts}
    if isinstance(value, Mapping):
        return {str(key): document(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [document(one) for one in value]
    if isinstance(value, Enum):
        return value.value
    return round(value, _DIGITS) if isinstance(value, float) else value


def _key(name: str) -> str:
    first, *others = name.rstrip("_").split("_")
    return first + "".join(one.capitalize() for one in others)

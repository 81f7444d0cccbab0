"""The one object for all equal values: thousands of pods and nodes then hold few between them."""

from collections.abc import Hashable
from functools import lru_cache
from typing import TypeVar

T = TypeVar("T", bound=Hashable)


def one(value: T) -> T:
    """An equal value of the same type, the same object for all that are in use."""
    return _kept(value)  # type: ignore[return-value]  # the cache's own type forgets it


@lru_cache(maxsize=32_768, typed=True)
def _kept(value: Hashable) -> Hashable:
    return value

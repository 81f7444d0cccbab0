"""A part of a long list: which page, of how many."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

T = TypeVar("T")
SIZE: Final = 50
"""The lines of a page."""


@dataclass(frozen=True, slots=True)
class Paging:
    """page counts from 1; total is the number of lines of all pages."""

    page: int
    pages: int
    total: int


def cut(lines: Sequence[T], page: int, size: int = SIZE) -> tuple[Paging, Sequence[T]]:
    """The lines of a page; one that there is not is the nearest that there is."""
    pages = max(-(-len(lines) // size), 1)
    at = min(max(page, 1), pages)
    return Paging(at, pages, len(lines)), lines[(at - 1) * size : at * size]

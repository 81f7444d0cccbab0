"""Addresses of API objects and of a page's views: texts as parts of a path or query."""

from collections.abc import Mapping
from urllib.parse import quote, urlencode


def step(text: str, *, slashes: bool = False) -> str:
    """A text as a part of a path; slashes stay what they are only if that is said."""
    return quote(text, safe="/" if slashes else "")


def asked(view: str, query: Mapping[str, str | int]) -> str:
    """An address with what is asked of it; what is empty or 0 is left out."""
    found = urlencode({key: value for key, value in query.items() if value not in {"", 0}})
    return f"{view}?{found}" if found else view

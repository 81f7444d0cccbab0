"""A page before it is HTML: headings, facts, drawings and tables, as frozen values.

Tones are classes of static/page.css: a condition, a distance or a verdict. No tone stands without
a word or letter that says the same.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

GOOD: Final = "good"
FAIR: Final = "fair"
BAD: Final = "bad"
PLAIN: Final = ""
LETTER: Final = 6.8
"""The width of a letter of a drawing's labels, in pixels, and some more."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A text with a tone, perhaps a link; links are relative to the top of the page's tree."""

    text: str
    tone: str = PLAIN
    link: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A caption, the heads of the columns, the rows; the first cell of a row is its head."""

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    empty: str = "There is nothing to show."


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle with a text in it; title is told where the pointer rests."""

    x: float
    y: float
    width: float
    height: float
    text: str = ""
    tone: str = PLAIN
    title: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """A line with a text at a place of its own; without one the text is left out."""

    x1: float
    y1: float
    x2: float
    y2: float
    tone: str = PLAIN
    title: str = ""
    text: str = ""
    at: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Label:
    """A text: anchor is start, middle or end."""

    x: float
    y: float
    text: str
    anchor: str = "start"


@dataclass(frozen=True, slots=True)
class Drawing:
    """An SVG image: what it shows in short and at length, its size in pixels, its marks."""

    title: str
    description: str
    width: float
    height: float
    boxes: tuple[Box, ...] = ()
    lines: tuple[Line, ...] = ()
    labels: tuple[Label, ...] = ()


@dataclass(frozen=True, slots=True)
class Section:
    """A heading, and below it what there is: a sentence, links, a drawing, tables."""

    heading: str
    words: str = ""
    links: tuple[Cell, ...] = ()
    drawing: Drawing | None = None
    legend: tuple[Cell, ...] = ()
    tables: tuple[Table, ...] = ()


@dataclass(frozen=True, slots=True)
class Facts:
    """Names and values."""

    pairs: tuple[tuple[str, Cell], ...]


@dataclass(frozen=True, slots=True)
class Search:
    """A field to look for a name, and what else of the question stays."""

    label: str
    name: str
    value: str
    kept: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Page:
    """A whole page; here is the view that it belongs to, twin the address of its JSON."""

    here: str
    title: str
    twin: str
    facts: Facts
    sections: tuple[Section, ...]
    search: Search | None = None
    turns: tuple[Cell, ...] = ()
    """Links to the pages before and after."""


VIEWS: Final = (
    ("fleet", "Fleet"),
    ("jobs", "Jobs"),
    ("pending", "Pending"),
    ("health", "Health"),
)
"""The views that each page links, by their addresses."""


def room(names: Iterable[str], least: float = 0.0) -> float:
    """How wide a column of labels has to be, in pixels, with a gap after the longest."""
    return max((least, *(len(one) * LETTER + 12 for one in names)))

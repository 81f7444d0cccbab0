"""What pages show of a terminal: in blocks marked console, a command and what it printed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

import checkout

BLOCK: Final = re.compile(r"^```console\n\$ (.*?)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LEFT_OUT: Final = "..."
"""As a line it stands for any lines, at the end of one for the rest of it."""


def of(page: Path) -> Iterator[tuple[str, str]]:
    """Each command of a page's console blocks and the output that is shown."""
    yield from BLOCK.findall(checkout.text(checkout.ROOT / page))


def matches(shown: str, printed: str, words: Mapping[str, str] = MappingProxyType({})) -> bool:
    """Whether the output is what is shown; words are patterns by what stands for them there."""
    pattern = "".join(map(_line, shown.splitlines()))
    for word, meant in words.items():
        pattern = pattern.replace(re.escape(word), meant)
    return re.fullmatch(pattern, printed, re.DOTALL) is not None


def _line(line: str) -> str:
    """A shown line as a pattern."""
    if line == LEFT_OUT:
        return ".*"
    if line.endswith(LEFT_OUT):
        return re.escape(line.removesuffix(LEFT_OUT)) + "[^\\n]*\n"
    return re.escape(line) + "\n"

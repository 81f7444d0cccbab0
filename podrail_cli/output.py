"""How the command prints: plain text for people, JSON and YAML for programs."""

import json
import sys
from collections.abc import Sequence
from typing import Any

import click
import yaml


def as_json(document: object) -> str:
    """Indented JSON."""
    return json.dumps(document, indent=2)


def as_yaml(documents: Sequence[Any]) -> str:
    """YAML documents, fields in the order they were given."""
    return yaml.safe_dump_all(documents, sort_keys=False, allow_unicode=True, width=100)


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as their widest cell, two blanks apart."""
    lines = [list(heads), *(list(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(heads))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def progress(told: str) -> None:
    """Say what takes a while, to a person who waits; in a pipe or a log nobody does."""
    if sys.stderr.isatty():
        click.echo(f"{told} ...", err=True)

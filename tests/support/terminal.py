"""The podrail command in this process, as a terminal shows it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from podrail_cli import command


def run(*arguments: str | Path, given: object = None) -> Result:
    """What a call came to; given goes to standard input, documents as JSON.

    An exception that would be a traceback fails the test.
    """
    text = given if isinstance(given, str) else json.dumps(given)
    words = [str(one) for one in arguments]
    return CliRunner().invoke(command.main, words, input=text, catch_exceptions=False)


def inject(document: object, *arguments: str | Path, status: int = 0) -> list[dict[str, Any]]:
    """The entries that inject -o json prints for a document."""
    result = run("inject", "-f", "-", "-o", "json", *arguments, given=document)
    assert status == result.exit_code, result.output
    printed = json.loads(result.stdout)
    assert ["pods"] == list(printed)
    entries: list[dict[str, Any]] = printed["pods"]
    return entries

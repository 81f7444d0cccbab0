"""The catalogue of reasons against the code that gives them."""

import ast
from collections.abc import Iterator
from functools import cache
from typing import Final

import checkout
import pytest

from podrail import reasons
from podrail.reasons import Meaning

GIVERS: Final = frozenset({"Reason", "PodError", "noting"})
REPLACING: Final = "_replace"
"""What gives a marker another reason, by keyword."""
CATALOGUE_FILE: Final = "podrail/reasons.py"


@cache
def trees() -> tuple[tuple[str, ast.Module], ...]:
    """The modules of the rules, without the catalogue."""
    found = [str(path) for path in checkout.modules("podrail") if str(path) != CATALOGUE_FILE]
    return tuple((path, ast.parse(checkout.text(checkout.ROOT / path))) for path in found)


def given() -> Iterator[tuple[str, str]]:
    """Every code that is written where a reason is made, and where that is."""
    for path, tree in trees():
        for node in ast.walk(tree):
            code = _code(node) if isinstance(node, ast.Call) else None
            if isinstance(code, ast.Constant) and isinstance(code.value, str):
                yield code.value, f"{path}:{code.lineno}"


def _code(call: ast.Call) -> ast.expr | None:
    """Where a call that gives a reason has its code."""
    if _name(call.func) == REPLACING:
        return next((one.value for one in call.keywords if one.arg == "reason"), None)
    return call.args[0] if call.args and _name(call.func) in GIVERS else None


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def mentioned() -> set[str]:
    """Every code that occurs in a text of the rules, alone or before a colon."""
    return {
        code
        for _, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        for code in reasons.CATALOGUE
        if node.value == code or f"{code}: " in node.value
    }


def test_every_code_is_in_the_catalogue() -> None:
    """A reason without a meaning leaves its reader alone."""
    found = dict(given())
    assert len(found) > 20
    assert {} == {code: at for code, at in found.items() if code not in reasons.CATALOGUE}


def test_every_meaning_is_given_by_some_rule() -> None:
    """The catalogue promises nothing."""
    assert set() == set(reasons.CATALOGUE) - mentioned()


@pytest.mark.parametrize(("code", "meaning"), reasons.CATALOGUE.items())
def test_a_meaning_is_two_sentences(code: str, meaning: Meaning) -> None:
    """What it means and what to do, each a sentence that fits into a table."""
    assert code.isalnum()
    assert code[0].isupper()
    for sentence in (meaning.means, meaning.remedy):
        assert sentence[0].isupper() or sentence.startswith("host-local")
        assert sentence.endswith(".")
        assert ". " not in sentence
        assert "|" not in sentence


def test_the_page_is_up_to_date() -> None:
    """docs/user/reasons.md ends with the table: write reasons.table() there after a change."""
    assert checkout.text(checkout.ROOT / "docs/user/reasons.md").endswith(reasons.table())

"""Fields of documents that are not ours to correct."""

from __future__ import annotations

import pytest

from podrail.doctor import fields, finding

WHOLE = {"a": {"b": [{"c": "d"}, 3], "e": "f"}, "metadata": {"name": "n", "namespace": "s"}}


def test_what_has_the_type_is_read() -> None:
    """By its path."""
    assert {"c": "d"} == fields.parts(WHOLE, "a", "b")[0]
    assert "f" == fields.text(WHOLE, "a", "e")
    assert ("n", "s/n") == (fields.name(WHOLE), fields.place(WHOLE))
    assert ("x",) == fields.texts({"a": ["x", 1]}, "a")


def test_what_has_another_type_is_absent() -> None:
    """No document of somebody else's is an error."""
    assert {} == fields.part(WHOLE, "a", "e", "deeper")
    assert () == fields.parts(WHOLE, "a", "e")
    assert () == fields.texts(WHOLE, "a")
    assert "" == fields.text(WHOLE, "a", "b")
    assert "" == fields.label(None, "x")


def test_a_condition_is_found_by_its_type() -> None:
    """Its status; empty if there is none."""
    document = {"status": {"conditions": [{"type": "A", "status": "False"}]}}
    assert ("False", "") == (fields.condition(document, "A"), fields.condition(document, "B"))


@pytest.mark.parametrize(
    ("words", "value"),
    [
        (["--config=a"], "a"),
        (["-config", "a", "-v"], "a"),
        (["--config", "-v"], ""),
        (["--config"], ""),
        (["config", "a"], None),
        ([], None),
    ],
)
def test_a_flag_of_a_command_line(words: list[str], value: str | None) -> None:
    """As Go's flags and pflag are written."""
    assert value == fields.flag(words, "config")


def test_long_lists_are_cut() -> None:
    """With how many more there are."""
    assert "a, b, c and 2 more" == finding.some([*"abcde"])
    assert ("1 node", "2 nodes") == (finding.many(1, "node"), finding.many(2, "node"))

"""Reading a document field by field: all problems at once, and nothing without a bound."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Any

import pytest

from podrail.errors import MalformedError
from podrail.reading import SHOWN, Reader, shown


class Colour(StrEnum):
    """A choice."""

    RED = "red"
    BLUE = "blue"


def read(value: object) -> Any:
    """The reader of an object with one field, f."""
    return Reader.of({"f": value}, "top")


@pytest.mark.parametrize(
    ("reader", "call", "expected", "told"),
    [
        (read("x" * 9), lambda one: one.text("f", "d", limit=8), "d", "a string of 1-8 characters"),
        (read(True), lambda one: one.integer("f", 1, 0, 9), 1, "a whole number from 0 to 9"),
        (read(10), lambda one: one.integer("f", 1, 0, 9), 1, "got 10"),
        (read("5x"), lambda one: one.quantity("f", re.compile("[0-9]+Mi"), 9), 1, "or a size matching"),
        (read(10), lambda one: one.quantity("f", re.compile("[0-9]+Mi"), 9), 1, "from 1 to 9"),
        (read(1), lambda one: one.truth("f"), False, "true or false"),
        (read("green"), lambda one: one.choice("f", Colour.RED), Colour.RED, "one of red, blue"),
        (read("x"), lambda one: one.items("f", 2), (), "expected a list"),
        (read([1, 2, 3]), lambda one: one.items("f", 2), [1, 2], "at most 2 items, got 3"),
        (read({"a": "1", "b": "2"}), lambda one: one.mapping("f", 1), {}, "at most 1 entries, got 2"),
        (read({"a": 1}), lambda one: one.mapping("f", 1), {}, "a string of 0-63 characters, got 1"),
        (read({"a": "x" * 4}), lambda one: one.mapping("f", 1, 3), {}, "a string of 0-3 characters"),
        (read([[0], [5]]), lambda one: one.number_lists("f", 2, 2, 4), ((0,),), "numbers from 0 to 4"),
        (read([[0, 1, 2]]), lambda one: one.number_lists("f", 2, 2, 4), (), "a list of at most 2"),
        (read([[True]]), lambda one: one.number_lists("f", 2, 2, 4), (), "got [True]"),
        (read([["red", None], ["green"]]), lambda one: one.choice_lists("f", Colour, 2, 2), (("red", None), ()), "a list of at most 2 of red, blue or null"),
        (read([["red"] * 3, []]), lambda one: one.choice_lists("f", Colour, 2, 2), ((), ()), "got ['red', 'red', 'red']"),
        (read([[["red"]]]), lambda one: one.choice_lists("f", Colour, 2, 2), ((),), "got [['red']]"),
        (read(["red"]), lambda one: one.choice_lists("f", Colour, 2, 2), ((),), "got 'red'"),
        (read({"a": 1, "b": 2}), lambda one: one.free("f", 1), {"a": 1, "b": 2}, "at most 1 entries"),
        (read(["a", ""]), lambda one: one.texts("f", 9), ("a",), "expected a name, got ''"),
        (read(5), lambda one: one.part("f").fields, {}, "expected an object, got 5"),
        (read({5: 6}), lambda one: one.part("f").fields, {}, "expected an object"),
    ],
    ids=["text", "truth as number", "range", "no size", "large quantity", "number as truth", "choice", "no list", "long list",
         "large object", "object of others", "long value", "large number", "long inner list",
         "truth in a list", "odd word",
         "long list of words", "list as a word", "word as a list", "large free object", "empty name", "no object", "odd keys"],
)  # fmt: skip
def test_a_wrong_field_reads_as_its_default_with_a_problem(
    reader: Reader, call: Any, expected: object, told: str
) -> None:
    """The path names the field; reading goes on."""
    assert expected == call(reader)
    (problem,) = reader.problems
    assert problem.path.startswith("top.f")
    assert told in problem.message


def test_every_problem_is_told_at_once() -> None:
    """Of all parts, fields that nobody knows and fields that are missing included."""
    top = Reader.of({"a": 5, "part": {"b": "x"}, "typo": 1}, "")
    top.text("a")
    top.part("part").integer("b", 0, 0, 9)
    top.required("c")
    top.close()
    with pytest.raises(MalformedError) as caught:
        top.finish("thing")
    assert ["a", "part.b", "c", "typo"] == [one.path for one in caught.value.problems]


def test_a_message_repeats_only_the_beginning_of_a_value() -> None:
    """No document can flood a log."""
    assert SHOWN == len(shown("x" * 10**6))

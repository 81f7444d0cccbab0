"""A schema is what a reading function asks for."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Any

import pytest

from podrail import schema
from podrail.reading import Reader


class Color(StrEnum):
    RED = "red"
    BLUE = "blue"


CASES: list[tuple[str, Any, dict[str, Any]]] = [
    ("text", lambda part: part.text("x", limit=9), {"type": "string", "maxLength": 9}),
    (
        "pattern",
        lambda part: part.text("x", pattern=re.compile("a|b"), limit=1),
        {"type": "string", "maxLength": 1, "pattern": "^(a|b)$"},
    ),
    (
        "integer",
        lambda part: part.integer("x", 1, 0, 5),
        {"type": "integer", "minimum": 0, "maximum": 5},
    ),
    (
        "quantity",
        lambda part: part.quantity("x", re.compile("[0-9]+Mi"), 5),
        {
            "x-kubernetes-int-or-string": True,
            "anyOf": [{"type": "integer"}, {"type": "string"}],
            "minimum": 1,
            "maximum": 5,
            "pattern": "^([0-9]+Mi)$",
            "maxLength": 32,
        },
    ),
    ("truth", lambda part: part.truth("x"), {"type": "boolean"}),
    (
        "choice",
        lambda part: part.choice("x", Color.RED),
        {"type": "string", "enum": ["red", "blue"]},
    ),
    (
        "texts",
        lambda part: part.texts("x", 3, size=7),
        {
            "type": "array",
            "maxItems": 3,
            "items": {"type": "string", "maxLength": 7, "minLength": 1},
        },
    ),
    (
        "number lists",
        lambda part: part.number_lists("x", 2, 3, 4),
        {
            "type": "array",
            "maxItems": 2,
            "items": {
                "type": "array",
                "maxItems": 3,
                "items": {"type": "integer", "minimum": 0, "maximum": 4},
            },
        },
    ),
    (
        "choice lists",
        lambda part: part.choice_lists("x", Color, 2, 3),
        {
            "type": "array",
            "maxItems": 2,
            "items": {
                "type": "array",
                "maxItems": 3,
                "items": {
                    "type": "string",
                    "maxLength": 4,
                    "pattern": "^(red|blue)$",
                    "nullable": True,
                },
            },
        },
    ),
    (
        "free",
        lambda part: part.free("x", 2),
        {"type": "object", "maxProperties": 2, "x-kubernetes-preserve-unknown-fields": True},
    ),
    (
        "mapping",
        lambda part: part.mapping("x", 2),
        {
            "type": "object",
            "maxProperties": 2,
            "additionalProperties": {"type": "string", "maxLength": 63},
        },
    ),
    (
        "part",
        lambda part: part.part("x").truth("y"),
        {"type": "object", "properties": {"y": {"type": "boolean"}}},
    ),
    (
        "parts",
        lambda part: [each.required("y") or each.truth("y") for each in part.parts("x", 4)],
        {
            "type": "array",
            "maxItems": 4,
            "items": {
                "type": "object",
                "required": ["y"],
                "properties": {"y": {"type": "boolean"}},
            },
        },
    ),
]


@pytest.mark.parametrize(
    ("ask", "expected"), [pytest.param(ask, want, id=name) for name, ask, want in CASES]
)
def test_a_question_is_a_schema(ask: Any, expected: dict[str, Any]) -> None:
    """Each method of a Reader has its form in OpenAPI."""
    assert {"x": expected} == schema.of(ask)["properties"]


def test_a_reader_answers_every_question_that_is_recorded() -> None:
    """A recorder and a reader of an empty object give the same defaults, but for what is free."""
    for name, ask, _ in CASES:
        if name not in {"free", "parts"}:
            assert ask(Reader.of({}, "")) == ask(schema.Recorder({}, "", [])), name


def test_a_list_of_whatever_has_no_schema() -> None:
    """It is an error of the reading function, with the path."""

    def read(top: Reader) -> object:
        return top.part("a").items("b", 3)

    with pytest.raises(TypeError, match=r"a\.b"):
        schema.of(read)


def test_what_is_looked_at_alone_is_not_described() -> None:
    """It is there, so that what is asked of a field that is there is recorded too."""

    def read(top: Reader) -> object:
        return None if top.raw("x") is None else top.truth("y")

    assert {"y"} == set(schema.of(read)["properties"])


def nested(top: Reader) -> None:
    for each in top.part("a").parts("b", 2):
        each.truth("c")


def test_paths_name_every_field() -> None:
    """Fields of a list's items stand under its path with brackets."""
    assert ["a", "a.b", "a.b[].c"] == list(schema.paths(schema.of(nested)))


def test_keywords_are_added_by_path() -> None:
    """To fields, to items, and to the schema itself; the schema given stays as it was."""
    plain = schema.of(nested)
    more = {path: {"description": path or "top"} for path in ("", "a.b", "a.b[]", "a.b[].c")}
    found = schema.extended(plain, more)
    listed = found["properties"]["a"]["properties"]["b"]
    assert ("top", "a.b", "a.b[]", "a.b[].c") == (
        found["description"],
        listed["description"],
        listed["items"]["description"],
        listed["items"]["properties"]["c"]["description"],
    )
    assert plain == schema.of(nested)

"""The structural OpenAPI schema of what a reading function reads (CRDs of Kubernetes 1.36).

A Recorder answers each question with the default and notes it, so a format is described by the
function that reads it and nowhere else. What one field cannot say (text for people, rules between
fields) is added by path: `spec.networks[].rail` is the field of every item.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

from podrail.reading import ANY_TEXT, LABEL_VALUE, Choice, Reader

Schema = dict[str, Any]

_PRESENT: Final = object()
"""What a field holds for a question without a type: not None, so that the next one is asked too."""


def of(read: Callable[[Reader], object]) -> Schema:
    """The schema of the object that read takes a reader of."""
    recorder = Recorder({}, "", [])
    read(recorder)
    return recorder.schema


def paths(schema: Schema, path: str = "") -> Iterator[str]:
    """The path of every field that the schema describes, parents first."""
    if "items" in schema:
        yield from paths(schema["items"], f"{path}[]")
    for name, inner in schema.get("properties", {}).items():
        place = f"{path}.{name}" if path else name
        yield place
        yield from paths(inner, place)


def extended(schema: Schema, more: Mapping[str, Schema], path: str = "") -> Schema:
    """The schema with more keywords at some paths; the empty path is the schema itself."""
    found = {**schema, **more.get(path, {})}
    if "items" in schema:
        found["items"] = extended(schema["items"], more, f"{path}[]")
    if "properties" in schema:
        found["properties"] = {
            name: extended(inner, more, f"{path}.{name}" if path else name)
            for name, inner in schema["properties"].items()
        }
    return found


@dataclass(slots=True)
class Recorder(Reader):
    """A reader of no document: what is asked becomes the schema.

    Lists and strings have bounds, since the API server counts the cost of CEL rules by them.
    """

    schema: Schema = field(default_factory=lambda: {"type": "object"})

    def wrong(self, key: str, message: str) -> None:
        """Nothing: there is no document that could be wrong."""

    def raw(self, key: str) -> Any:
        """Something; a field that is only looked at has no schema."""
        self.asked.add(key)
        return _PRESENT

    def required(self, key: str) -> None:
        """Note that the field must be there."""
        self.schema.setdefault("required", []).append(key)

    def text(
        self, key: str, default: str = "", pattern: re.Pattern[str] = ANY_TEXT, limit: int = 253
    ) -> str:
        """Note a string."""
        self._note(key, _string(pattern, limit))
        return default

    def integer(self, key: str, default: int, minimum: int, maximum: int) -> int:
        """Note a whole number."""
        self._note(key, _number(minimum, maximum))
        return default

    def quantity(self, key: str, pattern: re.Pattern[str], maximum: int) -> int | str:
        """Note a whole number or a string."""
        kinds = [{"type": "integer"}, {"type": "string"}]
        bounds = {"minimum": 1, "maximum": maximum, "pattern": _whole(pattern), "maxLength": 32}
        self._note(key, {"x-kubernetes-int-or-string": True, "anyOf": kinds, **bounds})
        return 1

    def truth(self, key: str, *, default: bool = False) -> bool:
        """Note a boolean."""
        self._note(key, {"type": "boolean"})
        return default

    def choice(self, key: str, default: Choice) -> Choice:
        """Note one value of an enumeration."""
        self._note(key, {"type": "string", "enum": [one.value for one in type(default)]})
        return default

    def items(self, key: str, limit: int) -> NoReturn:
        """Nothing can be noted: a list of whatever has no structural schema."""
        raise TypeError(f"{self.at(key)}: the items of at most {limit} have no type")

    def part(self, key: str) -> "Recorder":
        """Note an object; a recorder of its fields."""
        inner = Recorder({}, self.at(key), self.problems)
        self._note(key, inner.schema)
        return inner

    def parts(self, key: str, limit: int) -> list[Reader]:
        """Note a list of objects; one recorder stands for all of them."""
        inner = Recorder({}, f"{self.at(key)}[]", self.problems)
        self._note(key, _list(inner.schema, limit))
        return [inner]

    def texts(
        self, key: str, limit: int, pattern: re.Pattern[str] = ANY_TEXT, size: int = 253
    ) -> tuple[str, ...]:
        """Note a list of strings."""
        self._note(key, _list({**_string(pattern, size), "minLength": 1}, limit))
        return ()

    def number_lists(
        self, key: str, limit: int, size: int, maximum: int
    ) -> tuple[tuple[int, ...], ...]:
        """Note a list of lists of whole numbers."""
        self._note(key, _list(_list(_number(0, maximum), size), limit))
        return ()

    def choice_lists(
        self, key: str, kind: type[Choice], limit: int, size: int
    ) -> tuple[tuple[Choice | None, ...], ...]:
        """Note a list of lists of values that may be null."""
        # No enumeration: kube-apiserver 1.36.3 finds null in none, nullable or with null in it.
        words = re.compile("|".join(kind))
        word = {**_string(words, max(map(len, kind))), "nullable": True}
        self._note(key, _list(_list(word, size), limit))
        return ()

    def free(self, key: str, limit: int) -> Mapping[str, Any] | None:
        """Note an object whose fields nobody checks."""
        kept = {"x-kubernetes-preserve-unknown-fields": True}
        self._note(key, {"type": "object", "maxProperties": limit, **kept})
        return {}

    def mapping(self, key: str, limit: int, size: int = LABEL_VALUE) -> dict[str, str]:
        """Note an object of strings."""
        values = {"additionalProperties": _string(ANY_TEXT, size)}
        self._note(key, {"type": "object", "maxProperties": limit, **values})
        return {}

    def close(self) -> None:
        """Nothing: what was not asked is not in the schema, and the API server prunes it."""

    def finish(self, what: str) -> None:
        """Nothing: rules between fields may have complained of the defaults."""

    def _note(self, key: str, schema: Schema) -> None:
        self.asked.add(key)
        self.schema.setdefault("properties", {})[key] = schema


def _string(pattern: re.Pattern[str], limit: int) -> Schema:
    bound: Schema = {"type": "string", "maxLength": limit}
    return bound if pattern is ANY_TEXT else {**bound, "pattern": _whole(pattern)}


def _whole(pattern: re.Pattern[str]) -> str:
    """The pattern for the whole string: OpenAPI's look for it anywhere."""
    return f"^({pattern.pattern})$"


def _number(minimum: int, maximum: int) -> Schema:
    return {"type": "integer", "minimum": minimum, "maximum": maximum}


def _list(item: Schema, limit: int) -> Schema:
    return {"type": "array", "maxItems": limit, "items": item}


def validations(*rules: Sequence[str]) -> Schema:
    """CEL rules as a keyword: each an expression, its message and, if it has one, the field."""
    names = ("rule", "message", "fieldPath")
    return {"x-kubernetes-validations": [dict(zip(names, rule, strict=False)) for rule in rules]}

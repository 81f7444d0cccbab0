"""Reads a plain document field by field and collects every problem with its path.

A Reader never raises for what the document says: a wrong field yields the default and one more
Problem, so that an author sees all of them at once. Fields that nobody asked for are problems too.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, TypeVar

from podrail.errors import MalformedError, Problem

Choice = TypeVar("Choice", bound=StrEnum)

ANY_TEXT: Final = re.compile(r".*", re.DOTALL)
LABEL_KEY: Final = 317
"""The most characters of a label's key: a DNS name, a slash and a name (apimachinery 0.36)."""
LABEL_VALUE: Final = 63
SHOWN: Final = 80
"""The most characters of a value that a message repeats."""


def shown(value: object) -> str:
    """A short form of a value for a message: cut, so that no document can flood a log."""
    text = repr(value)
    return text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."


@dataclass(slots=True)
class Reader:
    """One object of the document, its path, and the problems found so far (shared by all parts)."""

    fields: Mapping[str, Any]
    path: str
    problems: list[Problem]
    asked: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, value: object, path: str, problems: list[Problem] | None = None) -> "Reader":
        """A reader of value; a value that is no object reads as an empty one, with a problem."""
        found: list[Problem] = [] if problems is None else problems
        if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
            return cls(value, path, found)
        found.append(Problem(path, f"expected an object, got {shown(value)}"))
        return cls({}, path, found)

    def at(self, key: str) -> str:
        """The path of a field of this object."""
        return f"{self.path}.{key}" if self.path else key

    def wrong(self, key: str, message: str) -> None:
        """Note a problem with a field."""
        self.problems.append(Problem(self.at(key), message))

    def raw(self, key: str) -> Any:
        """The field as it stands; None if it is absent or null."""
        self.asked.add(key)
        return self.fields.get(key)

    def required(self, key: str) -> None:
        """Note a problem if the field is absent or null."""
        if self.raw(key) is None:
            self.wrong(key, "is required")

    def text(
        self, key: str, default: str = "", pattern: re.Pattern[str] = ANY_TEXT, limit: int = 253
    ) -> str:
        """A string of at most limit characters that matches the pattern as a whole."""
        value = self.raw(key)
        if value is None:
            return default
        if not isinstance(value, str) or len(value) > limit or not pattern.fullmatch(value):
            kind = "" if pattern is ANY_TEXT else f" matching {pattern.pattern}"
            self.wrong(key, f"expected a string of 1-{limit} characters{kind}, got {shown(value)}")
            return default
        return value

    def integer(self, key: str, default: int, minimum: int, maximum: int) -> int:
        """A whole number from minimum to maximum."""
        value = self.raw(key)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int) or not minimum <= value <= maximum:
            expected = f"a whole number from {minimum} to {maximum}"
            self.wrong(key, f"expected {expected}, got {shown(value)}")
            return default
        return value

    def quantity(self, key: str, pattern: re.Pattern[str], maximum: int) -> int | str:
        """A whole number from 1 to maximum, or a string that matches the pattern; 1 if absent."""
        value = self.raw(key)
        if value is None:
            return 1
        if isinstance(value, str) and pattern.fullmatch(value):
            return value
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= maximum:
            expected = f"a whole number from 1 to {maximum} or a size matching {pattern.pattern}"
            self.wrong(key, f"expected {expected}, got {shown(value)}")
            return 1
        return value

    def truth(self, key: str, *, default: bool = False) -> bool:
        """A boolean."""
        value = self.raw(key)
        if value is None:
            return default
        if not isinstance(value, bool):
            self.wrong(key, f"expected true or false, got {shown(value)}")
            return default
        return value

    def choice(self, key: str, default: Choice) -> Choice:
        """One value of the enumeration that default belongs to."""
        value = self.raw(key)
        if value is None:
            return default
        kind = type(default)
        if not isinstance(value, str) or value not in set(kind):
            allowed = ", ".join(kind)
            self.wrong(key, f"expected one of {allowed}; got {shown(value)}")
            return default
        return kind(value)

    def items(self, key: str, limit: int) -> Sequence[Any]:
        """A list of at most limit items; absent and null read as empty."""
        value = self.raw(key)
        if value is None:
            return ()
        if not isinstance(value, list | tuple):
            self.wrong(key, f"expected a list, got {shown(value)}")
            return ()
        if len(value) > limit:
            self.wrong(key, f"expected at most {limit} items, got {len(value)}")
        return value[:limit]

    def part(self, key: str) -> "Reader":
        """A reader of the object in a field; absent and null read as an empty object."""
        value = self.raw(key)
        return Reader.of({} if value is None else value, self.at(key), self.problems)

    def parts(self, key: str, limit: int) -> list["Reader"]:
        """A reader of each object of a list."""
        return [
            Reader.of(value, f"{self.at(key)}[{index}]", self.problems)
            for index, value in enumerate(self.items(key, limit))
        ]

    def texts(
        self, key: str, limit: int, pattern: re.Pattern[str] = ANY_TEXT, size: int = 253
    ) -> tuple[str, ...]:
        """A list of strings that match the pattern."""
        found = []
        for index, value in enumerate(self.items(key, limit)):
            if isinstance(value, str) and 0 < len(value) <= size and pattern.fullmatch(value):
                found.append(value)
            else:
                self.wrong(f"{key}[{index}]", f"expected a name, got {shown(value)}")
        return tuple(found)

    def number_lists(
        self, key: str, limit: int, size: int, maximum: int
    ) -> tuple[tuple[int, ...], ...]:
        """A list of lists of at most size whole numbers from 0 to maximum."""
        found = []
        for index, value in enumerate(self.items(key, limit)):
            if (
                isinstance(value, list | tuple)
                and len(value) <= size
                and all(type(number) is int and 0 <= number <= maximum for number in value)
            ):
                found.append(tuple(value))
            else:
                expected = f"a list of at most {size} whole numbers from 0 to {maximum}"
                self.wrong(f"{key}[{index}]", f"expected {expected}, got {shown(value)}")
        return tuple(found)

    def choice_lists(
        self, key: str, kind: type[Choice], limit: int, size: int
    ) -> tuple[tuple[Choice | None, ...], ...]:
        """At most limit lists of at most size values of an enumeration, or nulls.

        A list with a problem reads as an empty one, so that the others keep their places.
        """
        known: dict[str | None, Choice | None] = {None: None}
        known |= {one.value: one for one in kind}
        found: list[tuple[Choice | None, ...]] = []
        for index, value in enumerate(self.items(key, limit)):
            listed = value if isinstance(value, list | tuple) and len(value) <= size else (0,)
            if all(isinstance(word, str | None) and word in known for word in listed):
                found.append(tuple(known[word] for word in listed))
            else:
                expected = f"a list of at most {size} of {', '.join(kind)} or null"
                self.wrong(f"{key}[{index}]", f"expected {expected}, got {shown(value)}")
                found.append(())
        return tuple(found)

    def free(self, key: str, limit: int) -> Mapping[str, Any] | None:
        """An object of at most limit fields, whatever they are; None if it is absent or null."""
        if self.raw(key) is None:
            return None
        found = self.part(key).fields
        if len(found) > limit:
            self.wrong(key, f"expected at most {limit} entries, got {len(found)}")
        return found

    def mapping(self, key: str, limit: int, size: int = LABEL_VALUE) -> dict[str, str]:
        """An object of at most limit strings of at most size characters, such as labels."""
        part = self.part(key)
        found: dict[str, str] = {}
        if len(part.fields) > limit:
            self.wrong(key, f"expected at most {limit} entries, got {len(part.fields)}")
            return found
        for name, value in part.fields.items():
            if isinstance(value, str) and len(value) <= size and len(name) <= LABEL_KEY:
                found[name] = value
            else:
                part.wrong(
                    shown(name)[1:-1],
                    f"expected a string of 0-{size} characters, got {shown(value)}",
                )
        return found

    def close(self) -> None:
        """Note every field that nobody asked for."""
        for key in self.fields:
            if key not in self.asked:
                expected = ", ".join(sorted(self.asked))
                self.wrong(key, f"unknown field; the fields here are {expected}")

    def finish(self, what: str) -> None:
        """Raise a MalformedError with every problem that was found, if there is one."""
        if self.problems:
            raise MalformedError(what, self.problems)

"""What a check finds: a verdict, what is the case, and what to do about it."""

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """How it stands; the values are part of `-o json`."""

    OK = "ok"
    WARN = "warn"
    """It works, and something about it may go wrong."""
    FAIL = "fail"
    """Pods do not get their rails, or not where they should."""
    UNKNOWN = "unknown"
    """It could not be looked at."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report; check is a fixed name, remedy is empty where all is well."""

    check: str
    verdict: Verdict
    title: str
    detail: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Topic:
    """What a check is about: its fixed name, and its title for people."""

    check: str
    title: str

    def ok(self, detail: str) -> Finding:
        """All is well."""
        return Finding(self.check, Verdict.OK, self.title, detail)

    def warn(self, detail: str, remedy: str) -> Finding:
        """It works, for now."""
        return Finding(self.check, Verdict.WARN, self.title, detail, remedy)

    def fail(self, detail: str, remedy: str) -> Finding:
        """It does not work."""
        return Finding(self.check, Verdict.FAIL, self.title, detail, remedy)

    def unknown(self, detail: str, remedy: str) -> Finding:
        """It could not be looked at; remedy says how to."""
        return Finding(self.check, Verdict.UNKNOWN, self.title, detail, remedy)


def many(count: int, what: str) -> str:
    """A number of things, in words."""
    return f"{count} {what}{'' if count == 1 else 's'}"


def some(names: tuple[str, ...] | list[str], most: int = 3) -> str:
    """The first of some names, and how many more there are."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")

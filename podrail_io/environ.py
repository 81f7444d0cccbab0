"""Typed settings out of environment variables: every problem at once, nothing read twice."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final, TypeVar

MOST_PORT: Final = 65535
MOST_DIGITS: Final = 18
MOST_SHOWN: Final = 200
"""The most characters of a wrong value that a message repeats."""
T = TypeVar("T")


class SettingsError(Exception):
    """One or more variables are not what was expected; the message has a line for each."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(problems))


class Environ:
    """Reads variables of one prefix; a wrong one yields its default and one more problem."""

    def __init__(self, variables: Mapping[str, str], prefix: str) -> None:
        self._variables = variables
        self._prefix = prefix
        self._problems: list[str] = []

    def text(self, name: str, default: str = "") -> str:
        """The variable as it stands; the default if it is absent or empty."""
        return self._variables.get(self._prefix + name) or default

    def integer(self, name: str, default: int, minimum: int, maximum: int) -> int:
        """A whole number from minimum to maximum."""
        text = self.text(name)
        if not text:
            return default
        number = _number(text)
        if number is not None and minimum <= number <= maximum:
            return number
        return self._wrong(name, text, f"a whole number from {minimum} to {maximum}", default)

    def choice(self, name: str, default: str, allowed: tuple[str, ...]) -> str:
        """One of the allowed words."""
        text = self.text(name, default)
        if text in allowed:
            return text
        return self._wrong(name, text, f"one of {', '.join(allowed)}", default)

    def truth(self, name: str, *, default: bool = False) -> bool:
        """True or false; the default if it is absent."""
        return self.choice(name, "true" if default else "false", ("true", "false")) == "true"

    def log_level(self) -> str:
        """LOG_LEVEL, the same in every program; info if it is absent."""
        return self.choice("LOG_LEVEL", "info", ("debug", "info", "warning", "error"))

    def address(self, name: str, default: str) -> tuple[str, int]:
        """A host and a port, as in 127.0.0.1:8443 or [::1]:8443; port 0 is any free one."""
        text = self.text(name, default)
        host, _, digits = text.rpartition(":")
        bracketed = host.startswith("[") and host.endswith("]")
        bare = host[1:-1] if bracketed else host
        port = _number(digits)
        # A colon without brackets is an IPv6 address whose last group would be taken for the port.
        if not bare or (":" in bare) is not bracketed or port is None or port > MOST_PORT:
            return self._wrong(name, text, "host:port or [IPv6]:port", ("127.0.0.1", 0))
        return bare, port

    def optional_address(self, name: str) -> tuple[str, int] | None:
        """A host and a port; None if the variable is absent."""
        return self.address(name, "") if self.text(name) else None

    def file(self, name: str) -> Path | None:
        """An existing file; None if the variable is absent."""
        return self._path(name, "an existing file", folder=False)

    def folder(self, name: str) -> Path | None:
        """An existing folder; None if the variable is absent."""
        return self._path(name, "an existing folder", folder=True)

    def done(self) -> None:
        """Raise a SettingsError with every problem that was found, if there is one."""
        if self._problems:
            raise SettingsError(self._problems)

    def _path(self, name: str, expected: str, *, folder: bool) -> Path | None:
        text = self.text(name)
        if not text:
            return None
        path = Path(text)
        if path.is_dir() if folder else path.is_file():
            return path
        return self._wrong(name, text, expected, None)

    def _wrong(self, name: str, value: str, expected: str, default: T) -> T:
        self._problems.append(
            f"{self._prefix}{name}: expected {expected}, got {value[:MOST_SHOWN]!r}"
        )
        return default


def _number(text: str) -> int | None:
    # Other scripts' digits are decimal too, and int() refuses more than 4,300 of them.
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= MOST_DIGITS else None

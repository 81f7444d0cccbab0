"""Typed settings out of environment variables: every problem at once, nothing read twice."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final, TypeVar

MOST_PORT: Final = 65535
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
        if text.isdecimal() and minimum <= int(text) <= maximum:
            return int(text)
        return self._wrong(name, text, f"a whole number from {minimum} to {maximum}", default)

    def choice(self, name: str, default: str, allowed: tuple[str, ...]) -> str:
        """One of the allowed words."""
        text = self.text(name, default)
        if text in allowed:
            return text
        return self._wrong(name, text, f"one of {', '.join(allowed)}", default)

    def address(self, name: str, default: str) -> tuple[str, int]:
        """A host and a port, as in 127.0.0.1:8443 or [::1]:8443; port 0 is any free one."""
        text = self.text(name, default)
        host, _, port = text.rpartition(":")
        if host and port.isdecimal() and int(port) <= MOST_PORT:
            return host.strip("[]"), int(port)
        return self._wrong(name, text, "host:port", ("127.0.0.1", 0))

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
        self._problems.append(f"{self._prefix}{name}: expected {expected}, got {value!r}")
        return default

"""What can be wrong, and whose fault it is.

PodrailError
├── MalformedError   a profile, shape or marker is not what its format says; holds every problem
├── PodError         the user's pod contradicts itself or its profile: the pod is refused
└── RequestError     not a request that can be answered at all: the caller gets a 4xx
"""

from collections.abc import Sequence
from dataclasses import dataclass


class PodrailError(Exception):
    """The root of everything that podrail's rules refuse."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong, and where."""

    path: str
    message: str

    def __str__(self) -> str:
        """The field path, then what is wrong there; the document itself has no path."""
        return f"{self.path}: {self.message}" if self.path else self.message


class MalformedError(PodrailError):
    """A document is not what its format says."""

    def __init__(self, what: str, problems: Sequence[Problem]) -> None:
        self.what = what
        self.problems = tuple(problems)
        super().__init__(f"{what}: " + "; ".join(str(problem) for problem in problems))


class PodError(PodrailError):
    """The pod cannot be given what it asks for; the message tells its author what to change."""

    def __init__(self, code: str, path: str, message: str) -> None:
        self.code = code
        self.path = path
        self.message = message
        super().__init__(f"{path}: {message}")


class RequestError(PodrailError):
    """The body is no request of the kind that was expected."""

    def __init__(self, message: str, status: int = 400) -> None:
        self.status = status
        super().__init__(message)

"""What a server may answer on its main loop, and the way out for a call that has to wait after all.

Handing a request to a thread and its answer back costs more than a small admission itself. A path
declared here promises that its handler only computes; where it may have to wait for something, it
says so with about_to_wait, and the same request is answered from the start in a thread.
"""

import contextlib
import threading
from collections.abc import Iterator
from typing import Any, Final

POSTPONED: Final = "podrail_io.postponed"
"""The key of a request's environ that says: this answer is void, ask again in a thread."""
_KEY: Final = "podrail_io.prompt"
_here: Final = threading.local()


class WaitError(Exception):
    """A handler would have to wait where nothing may."""


def declare(app: Any, *paths: str) -> None:
    """Have these paths of a Flask application answered on the main loop."""
    app.extensions[_KEY] = paths_of(app) | set(paths)


def paths_of(app: Any) -> frozenset[str]:
    """The paths declared; none for an application that knows nothing of this."""
    declared: frozenset[str] = getattr(app, "extensions", {}).get(_KEY, frozenset())
    return declared


def about_to_wait() -> None:
    """Say that what follows may take its time.

    Raises:
        WaitError: this is the main loop; the request will be answered in a thread.
    """
    if getattr(_here, "prompt", False):
        raise WaitError


@contextlib.contextmanager
def only() -> Iterator[None]:
    """A block in which nothing may wait."""
    _here.prompt = True
    try:
        yield
    finally:
        _here.prompt = False

"""One object of the API server, as it is now: a list by name, then a watch, again and again.

podrail_io.reflector follows a whole kind; a node's agent wants its own Node and nothing else.
"""

import logging
import threading
from collections.abc import Callable
from typing import Any, Final

from podrail_io.slim import ApiError, SlimApi

_LOG: Final = logging.getLogger(__name__)
Document = dict[str, Any]

FIRST_PAUSE: Final = 1.0
LONGEST_PAUSE: Final = 60.0
LEAST_SECONDS: Final = 300
MOST_SECONDS: Final = 600
"""When the server should end a watch: at a time of its own for each of thousands of agents."""


class Followed:
    """An object by name; None while it is not there, or has not been seen."""

    def __init__(
        self,
        api: SlimApi,
        collection: str,
        name: str,
        chance: Callable[[], float],
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        self._api = api
        self._collection = collection
        self._selector = {"fieldSelector": f"metadata.name={name}"}
        self._name = name
        self._chance = chance
        self._changed = changed
        self._pause = FIRST_PAUSE
        self._stopping = threading.Event()
        self.value: Document | None = None

    def start(self) -> None:
        """Follow it from now on, in a thread of its own."""
        threading.Thread(target=self._run, name=f"followed{self._name}", daemon=True).start()

    def stop(self) -> None:
        """End as soon as the call under way lets it."""
        self._stopping.set()

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._round()
            except ApiError as error:
                _LOG.warning("object not followed", extra={"problem": str(error)})
                self._pause = min(self._pause * 2, LONGEST_PAUSE)
            except (AttributeError, KeyError, TypeError) as error:
                # JSON, but no list and no event.
                _LOG.warning("object not understood", extra={"problem": repr(error)})
                self._pause = min(self._pause * 2, LONGEST_PAUSE)
            self._stopping.wait(self._pause * (0.5 + self._chance() / 2))

    def _round(self) -> None:
        found = self._api.get(self._collection, self._selector)
        mine = [one for one in found["items"] or () if one["metadata"]["name"] == self._name]
        self._take(mine[0] if mine else None)
        seconds = LEAST_SECONDS + self._chance() * (MOST_SECONDS - LEAST_SECONDS)
        query = {
            **self._selector,
            "resourceVersion": found["metadata"]["resourceVersion"],
            "timeoutSeconds": str(int(seconds)),
        }
        for event in self._api.watch(self._collection, query):
            if self._stopping.is_set():
                return
            self._pause = FIRST_PAUSE
            if event["object"]["metadata"].get("name") == self._name:
                self._take(None if event["type"] == "DELETED" else event["object"])

    def _take(self, found: Document | None) -> None:
        if found != self.value:
            self.value = found
            self._changed()

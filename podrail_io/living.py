"""A value made of documents, and made anew when they change: files of a folder, objects of a kind.

What cannot be used never takes the value's place: make is given the value so far, and files that
cannot be read keep their last content.
"""

import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final, Generic, Protocol, TypeVar

from prometheus_client import CollectorRegistry, Gauge

from podrail_io import files
from podrail_io.files import FileError, Placed
from podrail_io.kube import Api, Document
from podrail_io.reflector import Change, Reflector, World

_LOG: Final = logging.getLogger(__name__)
LOOK_SECONDS: Final = 2.0


class Made(Protocol):
    """A value that knows what is wrong with the documents that it could not use."""

    @property
    def problems(self) -> Sequence[object]:
        """What is wrong, one sentence each."""


T = TypeVar("T", bound=Made)


class Living(Generic[T]):
    """The value of three layers of documents: shipped ones, a folder's, and a watched kind's.

    make is called with the layers and the value so far, one call at a time. Each problem of the
    value is logged when it comes up.
    """

    def __init__(
        self,
        shipped: Iterable[Placed],
        folder: Path | None,
        make: Callable[[Sequence[Sequence[Placed]], T | None], T],
    ) -> None:
        self._shipped = tuple(shipped)
        self._folder = folder
        self._make = make
        self._signature: object = None
        self._own = [] if folder is None else self._documents(folder)
        self._watch: Reflector[Document] | None = None
        self._kind = ""
        self._making = threading.Lock()
        self._value = make((self._shipped, self._own, ()), None)
        self._tell(None)

    def follow(
        self, api: Api, path: str, keep: Callable[[Document], Document], world: World
    ) -> None:
        """Have the objects under a path as the last layer, as keep makes them; before `start`."""
        self._watch = Reflector(api, path, keep, world, self._changed)
        self._kind = path.rpartition("/")[2]

    @property
    def value(self) -> T:
        """The value as of the last change."""
        return self._value

    @property
    def synced(self) -> bool:
        """True once all objects of the watched kind were seen, if there is one."""
        return self._watch is None or self._watch.synced

    def start(self) -> None:
        """Look for changes from now on, in threads of its own."""
        if self._folder is not None:
            threading.Thread(target=self._look, args=(self._folder,), daemon=True).start()
        if self._watch is not None:
            self._watch.start()

    def stop(self) -> None:
        """Follow the watched kind no longer."""
        if self._watch is not None:
            self._watch.stop()

    def export(self, registry: CollectorRegistry, name: str) -> None:
        """Have the number of problems as the gauge podrail_<name>_problems."""
        told = "What is wrong with documents that are left out, or kept as they were before."
        gauge = Gauge(f"podrail_{name}_problems", told, registry=registry)
        gauge.set_function(lambda: len(self._value.problems))

    def _changed(self, _change: Change[Document]) -> None:
        self._remake()

    def _look(self, folder: Path) -> None:
        pause = threading.Event()
        while not pause.wait(LOOK_SECONDS):
            try:
                if files.signature([folder]) != self._signature:
                    self._own = self._documents(folder)
                    self._remake()
                    _LOG.info("files reloaded", extra={"folder": str(folder)})
            except (FileError, OSError) as error:
                _LOG.warning("files not reloaded", extra={"problem": str(error)})

    def _documents(self, folder: Path) -> list[Placed]:
        # Taken before the files are read: a change meanwhile is seen at the next look.
        self._signature = files.signature([folder])
        return files.folder_documents(folder)

    def _remake(self) -> None:
        with self._making:
            objects = {} if self._watch is None else self._watch.items()
            watched = [Placed(f"{self._kind}/{name}", objects[name]) for name in sorted(objects)]
            before = self._value
            self._value = self._make((self._shipped, self._own, watched), before)
            self._tell(before)

    def _tell(self, before: T | None) -> None:
        known = set() if before is None else set(map(str, before.problems))
        for problem in map(str, self._value.problems):
            if problem not in known:
                _LOG.warning("document not used", extra={"problem": problem})

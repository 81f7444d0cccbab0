"""A value made from files, made anew when the files change; a bad change never takes its place."""

import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final, Generic, TypeVar

from podrail_io import files
from podrail_io.files import FileError, Placed

_LOG: Final = logging.getLogger(__name__)
LOOK_SECONDS: Final = 2.0
T = TypeVar("T")


class Living(Generic[T]):
    """The value of a folder's documents, and of none if there is no folder.

    make is called with the documents and the value so far; what it raises must be a FileError.
    """

    def __init__(self, folder: Path | None, make: Callable[[list[Placed], T | None], T]) -> None:
        self._folder = folder
        self._make = make
        self._signature: object = None
        self._value = make([] if folder is None else self._documents(folder), None)

    @property
    def value(self) -> T:
        """The value as of the last look."""
        return self._value

    def start(self) -> None:
        """Look at the files from now on, in a thread of its own."""
        if self._folder is not None:
            threading.Thread(target=self._look, args=(self._folder,), daemon=True).start()

    def _look(self, folder: Path) -> None:
        pause = threading.Event()
        while not pause.wait(LOOK_SECONDS):
            try:
                if files.signature([folder]) != self._signature:
                    self._value = self._make(self._documents(folder), self._value)
                    _LOG.info("files reloaded", extra={"folder": str(folder)})
            except (FileError, OSError) as error:
                _LOG.warning("files not reloaded", extra={"problem": str(error)})

    def _documents(self, folder: Path) -> list[Placed]:
        # Taken before the files are read: a change meanwhile is seen at the next look.
        self._signature = files.signature([folder])
        return files.folder_documents(folder)

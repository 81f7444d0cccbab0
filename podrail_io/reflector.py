"""A local copy of the objects of one kind: list in pages, then watch, for as long as the process.

The official client's informer loops without a pause on errors, has no read timeout and cannot tell
whether it is synced; a stale copy would place pods by yesterday's cluster (decision 0005). Here:
jittered backoff, a relist on 410 only, bookmarks, a silent server noticed, `synced` and `age`.
"""

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from podrail_io.kube import GONE, Api, Document, KubeError, StatusError

_LOG: Final = logging.getLogger(__name__)
T = TypeVar("T")

FIRST_PAUSE: Final = 0.5
LONGEST_PAUSE: Final = 30.0
NOT_SERVED_PAUSE: Final = 60.0
"""How often a kind that the API server does not serve is asked for again."""
NOT_FOUND: Final = 404


@dataclass(frozen=True, slots=True)
class World:
    """What a reflector takes from around it: a clock that never goes back, and chance in [0, 1)."""

    clock: Callable[[], float]
    chance: Callable[[], float]


@dataclass(frozen=True, slots=True)
class Change(Generic[T]):
    """An object that came, changed or went: before or after is None."""

    key: str
    before: T | None
    after: T | None


class Reflector(Generic[T]):
    """The objects under a list path, each as what `keep` makes of it (None: not kept).

    `changed` is called for every difference, in the reflector's thread, after the copy shows it.
    """

    def __init__(
        self,
        api: Api,
        path: str,
        keep: Callable[[Document], T | None],
        world: World,
        changed: Callable[[Change[T]], None] = lambda _change: None,
    ) -> None:
        self._api = api
        self._path = path
        self._keep = keep
        self._world = world
        self._changed = changed
        self._items: dict[str, T] = {}
        self._version = ""
        self._heard: float | None = None
        self._failures = 0
        self._stopping = threading.Event()
        self._news = threading.Condition()
        self.relists = 0
        self.errors = 0

    def start(self) -> None:
        """Begin in a thread of its own, which never keeps the process alive."""
        threading.Thread(target=self._run, name=f"reflector{self._path}", daemon=True).start()

    def stop(self) -> None:
        """End as soon as the call under way lets it."""
        self._stopping.set()

    @property
    def synced(self) -> bool:
        """True once the whole list has been seen."""
        return self._heard is not None

    def age(self) -> float:
        """Seconds since the API server was last heard; infinite before the first list."""
        heard = self._heard
        return float("inf") if heard is None else self._world.clock() - heard

    def items(self) -> Mapping[str, T]:
        """A copy of the objects by namespace/name, or by name."""
        return self._items.copy()

    def get(self, key: str) -> T | None:
        """One object."""
        return self._items.get(key)

    def wait_for(self, key: str, seconds: float) -> T | None:
        """One object, waiting for the watch to bring it."""
        with self._news:
            self._news.wait_for(lambda: key in self._items, seconds)
        return self._items.get(key)

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                pause = self._round()
            except Exception:  # noqa: BLE001 - the outermost loop of this thread
                # The one place where a fault in keep or changed may end; the copy starts anew.
                _LOG.exception("reflector failed", extra={"path": self._path})
                self._version = ""
                pause = self._backoff()
            self._stopping.wait(pause)

    def _round(self) -> float:
        """List if needed, watch until it ends, and say how long to pause."""
        try:
            if not self._version:
                self._list()
            heard = self._watch()
        except StatusError as error:
            if error.status == GONE:
                self._version = ""
            if error.status == NOT_FOUND and not self._version:
                self._absent()
                return NOT_SERVED_PAUSE
            return self._failed(error)
        except KubeError as error:
            return self._failed(error)
        if heard:
            self._failures = 0
            return 0.0
        # A watch that ends at once is as good as an error: never ask in a tight loop.
        return self._backoff()

    def _failed(self, error: KubeError) -> float:
        self.errors += 1
        _LOG.warning(
            "reflector lost its API server", extra={"path": self._path, "problem": str(error)}
        )
        return self._backoff()

    def _backoff(self) -> float:
        """The next pause: doubled each time, up to LONGEST_PAUSE, spread over its upper half."""
        pause = min(FIRST_PAUSE * 2**self._failures, LONGEST_PAUSE)
        self._failures = min(self._failures + 1, 16)
        return float(pause * (0.5 + self._world.chance() / 2))

    def _list(self) -> None:
        self.relists += 1
        listed: dict[str, T] = {}
        version = ""
        for page in self._api.pages(self._path):
            version = page.resource_version
            for document in page.items:
                if (kept := self._keep(document)) is not None:
                    listed[key_of(document)] = kept
        for key in self._items.keys() - listed.keys():
            self._set(key, None)
        for key, kept in listed.items():
            self._set(key, kept)
        self._version = version
        self._heard = self._world.clock()

    def _absent(self) -> None:
        """A kind that is not served (no such CRD) is synced and empty."""
        for key in list(self._items):
            self._set(key, None)
        self._heard = self._world.clock()

    def _watch(self) -> bool:
        """Follow the watch to its end; True if the API server was heard or held it for long."""
        began = self._world.clock()
        heard = False
        for event in self._api.watch(self._path, self._version):
            if self._stopping.is_set():
                return True
            self._failures, heard = 0, True
            self._heard = self._world.clock()
            self._version = event.object["metadata"]["resourceVersion"]
            if event.kind == "DELETED":
                self._set(key_of(event.object), None)
            elif event.kind != "BOOKMARK":
                self._set(key_of(event.object), self._keep(event.object))
        if self._world.clock() - began >= LONGEST_PAUSE:
            self._heard, heard = self._world.clock(), True
        return heard

    def _set(self, key: str, kept: T | None) -> None:
        before = self._items.get(key)
        if kept == before:
            return
        with self._news:
            if kept is None:
                del self._items[key]
            else:
                self._items[key] = kept
            self._news.notify_all()
        self._changed(Change(key, before, kept))


def key_of(document: Document) -> str:
    """The object's namespace/name, or its name if it is cluster-scoped."""
    metadata: dict[str, Any] = document["metadata"]
    namespace = metadata.get("namespace")
    return f"{namespace}/{metadata['name']}" if namespace else str(metadata["name"])

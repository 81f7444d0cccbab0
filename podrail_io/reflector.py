"""A local copy of the objects of one kind: list in pages, then watch, for as long as the process.

The official client's informer loops without a pause on errors, has no read timeout and cannot tell
whether it is synced; a stale copy would place pods by yesterday's cluster (decision 0005). Here:
jittered backoff, a relist only where due, bookmarks, a silent server noticed, `synced`, `age`.
"""

import logging
import threading
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, Generic, ParamSpec, TypeVar

from podrail_io.kube import (
    GONE,
    PAGE_SECONDS,
    SILENCE_SECONDS,
    Api,
    Document,
    Event,
    KubeError,
    StatusError,
)
from podrail_io.pace import Pace
from podrail_io.revival import Revival

_LOG: Final = logging.getLogger(__name__)
T = TypeVar("T")
R = TypeVar("R")
P = ParamSpec("P")

NOT_SERVED_PAUSE: Final = 60.0
"""How often a kind that the API server does not serve is asked for again."""
CALM_SECONDS: Final = 10.0
"""A watch that lasted so long was a good one: what failed before it no longer counts."""
BAD_REQUEST: Final = 400
NOT_FOUND: Final = 404
_WORTHLESS: Final = frozenset({BAD_REQUEST, NOT_FOUND, GONE})
"""Answers after which the version at hand leads nowhere and the list has to begin anew."""


@dataclass(frozen=True, slots=True)
class World:
    """What a reflector takes from around it; times are in seconds.

    clock never goes back, chance is in [0, 1), wait returns early when the event is set, silence is
    how long the server may send nothing; revival is for all reflectors of the API server.
    """

    clock: Callable[[], float]
    chance: Callable[[], float]
    wait: Callable[[threading.Event, float], object] = threading.Event.wait
    silence: float = SILENCE_SECONDS
    revival: Revival = field(default_factory=Revival)


@dataclass(frozen=True, slots=True)
class Change(Generic[T]):
    """An object that came, changed or went: before or after is None.

    One that was deleted and made again while nobody watched is a change from one to the other.
    """

    key: str
    before: T | None
    after: T | None


class Reflector(Generic[T]):
    """The objects under a list path, each as what `keep` makes of it (None: not kept).

    `changed` is called for every difference, in the reflector's thread, after the copy shows it.
    An object that `keep` raises on is not kept; what either raises is logged and counted as fault.
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
        self._pace = Pace(world.clock, world.chance)
        self._bell = threading.Event()
        self._stopping = threading.Event()
        self._news = threading.Condition()
        self.relists = 0
        self.errors = 0
        self.faults = 0

    def start(self) -> None:
        """Begin in a thread of its own, which never keeps the process alive."""
        threading.Thread(target=self._run, name=f"reflector{self._path}", daemon=True).start()

    def stop(self) -> None:
        """End as soon as the call under way lets it."""
        self._stopping.set()
        self._bell.set()

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

    @property
    def view(self) -> Mapping[str, T]:
        """The objects as they are at any moment, for looking one up; not to be walked through."""
        return MappingProxyType(self._items)

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
            pause = self._guarded(self._round)
            if pause is None:
                self._version = ""
                pause = self._pace.pause(self._requests)
            self._rest(pause)

    @property
    def _requests(self) -> int:
        """How many the next round will make."""
        return 1 if self._version else 2

    def _rest(self, pause: float) -> None:
        """Pause, but no longer than until the API server answers somebody whom it had failed."""
        if not self._stopping.is_set():
            self._world.wait(self._bell, pause)
        if self._bell.is_set():
            self._bell.clear()
            self._world.wait(self._stopping, self._pace.early(self._requests))

    def _guarded(self, act: Callable[P, R], *given: P.args, **named: P.kwargs) -> R | None:
        """What act returns; None after an exception, which must not end the thread.

        The one place that answers any exception: this thread has no loop further out.
        """
        try:
            return act(*given, **named)
        except Exception:  # noqa: BLE001 - keep and changed may raise anything
            self.faults += 1
            _LOG.exception("reflector fault", extra={"path": self._path})
            return None

    def _round(self) -> float:
        """List if needed, watch until it ends, and say how long to pause."""
        try:
            if not self._version:
                self._list()
            # A watch that ends soon is as good as an error: never ask in a tight loop.
            return 0.0 if self._watch() else self._pace.pause(self._requests)
        except StatusError as error:
            return self._refused(error)
        except KubeError as error:
            return self._failed(error)

    def _refused(self, error: StatusError) -> float:
        listing = not self._version
        if error.status in _WORTHLESS:
            self._version = ""
        if error.status == NOT_FOUND and listing:
            self._absent()
            return NOT_SERVED_PAUSE
        return self._failed(error, error.retry_after)

    def _failed(self, error: KubeError, told: float = 0.0) -> float:
        self.errors += 1
        self._world.revival.lost(self._bell)
        _LOG.warning(
            "reflector lost its API server", extra={"path": self._path, "problem": str(error)}
        )
        return self._pace.pause(self._requests, told)

    def _list(self) -> None:
        self._pace.ask()
        self.relists += 1
        listed: dict[str, T] = {}
        version = ""
        for page in self._api.pages(self._path, min(PAGE_SECONDS, self._world.silence)):
            version = page.resource_version
            self._world.revival.answered(self._bell)
            for document in page.items:
                if (kept := self._guarded(self._keep, document)) is not None:
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
        self._world.revival.answered(self._bell)
        self._pace.calm(0)
        self._heard = self._world.clock()

    def _watch(self) -> bool:
        """Follow the watch to its end; True if it was a calm one."""
        self._pace.ask()
        began = self._world.clock()
        try:
            events = self._api.watch(self._path, self._version, self._world.silence)
            self._world.revival.answered(self._bell)
            with closing(events):
                for event in events:
                    if self._stopping.is_set():
                        return True
                    self._take(event)
        finally:
            calm = self._world.clock() - began >= CALM_SECONDS
            if calm:
                self._pace.calm()
        if calm:
            self._heard = self._world.clock()
        return calm

    def _take(self, event: Event) -> None:
        if event.kind == "DELETED":
            self._set(key_of(event.object), None)
        elif event.kind != "BOOKMARK":
            self._set(key_of(event.object), self._guarded(self._keep, event.object))
        self._version = event.resource_version
        self._heard = self._world.clock()

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
        self._guarded(self._changed, Change(key, before, kept))


def key_of(document: Document) -> str:
    """The object's namespace/name, or its name if it is cluster-scoped."""
    metadata: dict[str, Any] = document["metadata"]
    namespace = metadata.get("namespace")
    return f"{namespace}/{metadata['name']}" if namespace else str(metadata["name"])

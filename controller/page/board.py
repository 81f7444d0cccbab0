"""The map as it is now, drawn for whoever looks: one drawing at a time, each good for a while."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from controller.docket import Rules
from controller.page.watch import Watch
from podrail.explanation import Explanation
from podrail.fabric import Profile
from podrail.railmap import fleet, health, spots
from podrail.railmap.facts import Pod
from podrail.railmap.fleet import Overview
from podrail.railmap.health import Around, Health
from podrail.railmap.scene import Drafter, Scene
from podrail.railmap.spots import Plotter
from podrail.snapshot import Snapshot
from podrail.topology import Topology

GOOD_SECONDS: Final = 2.0
"""How long a scene is shown to everybody before another is drawn."""
SYNC_SECONDS: Final = 10.0
"""How long the first one to look waits for the watches."""
LOOK_SECONDS: Final = 0.05
MOST_AGAIN: Final = 4
"""The pods that are explained before anybody asks again."""


class NotYetError(Exception):
    """The watches have not seen the cluster yet."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What the map is drawn with. clock never goes back, now is seconds since the epoch."""

    shapes: Mapping[str, Topology]
    stale_seconds: float
    clock: Callable[[], float]
    now: Callable[[], float]


@dataclass(frozen=True, slots=True)
class _Drawn:
    """A scene, when it was drawn, and what its views share; spots once somebody needed them."""

    scene: Scene
    at: float
    overview: Overview
    spots: Snapshot | None


class Board:
    """Scenes for the page's threads: who looks gets the last one at once, and has the next drawn.

    Only the first to look waits, for the watches and for the first drawing.
    """

    def __init__(
        self,
        watch: Watch,
        rules: Rules,
        profiles: Callable[[], Mapping[str, Profile]],
        around: Callable[[], Around],
        terms: Terms,
    ) -> None:
        self._watch = watch
        self._rules = rules
        self._profiles = profiles
        self._around = around
        self._terms = terms
        self._drafter = Drafter(terms.shapes, terms.stale_seconds)
        self._plotter = Plotter()
        self._drawing = threading.Lock()
        self._drawn: _Drawn | None = None
        self._told: tuple[Snapshot | None, dict[str, Explanation | None]] = (None, {})
        self._asked: set[str] = set()
        """The pods that somebody looked at since the last scene: who does, looks again."""

    def scene(self) -> Scene:
        """The map, as it was when somebody looked last or some seconds ago.

        Raises:
            NotYetError: the cluster has not been seen yet.
        """
        self._watch.start()
        drawn = self._drawn
        if drawn is None:
            with self._drawing:
                return (self._drawn or self._draw()).scene
        if self._old(drawn) and self._drawing.acquire(blocking=False):
            threading.Thread(target=self._renew, name="page", daemon=True).start()
        return drawn.scene

    def overview(self, shown: Scene) -> Overview:
        """What the fleet comes to."""
        drawn = self._drawn
        return drawn.overview if drawn and drawn.scene is shown else fleet.overview(shown)

    def explained(self, shown: Scene, pod: Pod) -> Explanation | None:
        """Every node for a pod that waits."""
        found = self._spots(shown)
        of, told = self._told
        if of is not found:
            told = {}
            self._told = (found, told)
        self._asked.add(pod.key)
        if pod.key not in told:
            told[pod.key] = self._explain(pod, found)
        return told[pod.key]

    def _explain(self, pod: Pod, there: Snapshot) -> Explanation | None:
        return spots.explained(pod, there, sorted(self._rules.now.gpus), self._profiles())

    def _spots(self, shown: Scene) -> Snapshot:
        """The scene as the score has it: that of the last one is kept, and made with the next."""
        drawn = self._drawn
        if drawn and drawn.scene is shown and drawn.spots is not None:
            return drawn.spots
        with self._drawing:
            found = self._plotter.plot(shown, self._rules.now.gpus)
            if self._drawn and self._drawn.scene is shown:
                self._drawn = replace(self._drawn, spots=found)
        return found

    def health(self, shown: Scene) -> Health:
        """How podrail itself stands."""
        return health.of(shown, self._around())

    def _old(self, drawn: _Drawn) -> bool:
        return self._terms.clock() - drawn.at >= GOOD_SECONDS

    def _renew(self) -> None:
        """Draw in a thread that holds the lock already."""
        try:
            self._draw()
        finally:
            self._drawing.release()

    def _draw(self) -> _Drawn:
        self._wait()
        before, ours = self._drawn, self._rules.now
        made = self._drafter.draw(self._watch.facts(), ours, self._terms.now())
        needed = before is not None and before.spots is not None
        plotted = self._plotter.plot(made, ours.gpus) if needed else None
        if plotted is not None:
            asked, self._asked = self._asked, set()
            again = [pod for pod in made.waiting if pod.key in asked][:MOST_AGAIN]
            self._told = (plotted, {pod.key: self._explain(pod, plotted) for pod in again})
        self._drawn = _Drawn(made, self._terms.clock(), fleet.overview(made), plotted)
        return self._drawn

    def _wait(self) -> None:
        patience = threading.Event()
        end = self._terms.clock() + SYNC_SECONDS
        while not self._watch.synced:
            if self._terms.clock() >= end:
                raise NotYetError
            patience.wait(LOOK_SECONDS)

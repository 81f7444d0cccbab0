"""The loop: look, judge, write. Whatever a tree, a kubelet or an API server says, it goes on."""

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from nodeagent.kubelet import Source
from nodeagent.metrics import Metrics, Shown
from nodeagent.sight import Glance, Sight
from nodeagent.writer import Writer
from podrail.evidence.noderails import NodeRails
from podrail.observation import counters, host, marks, report, usage
from podrail.observation.counters import Sample, Track
from podrail.observation.health import Signs
from podrail.observation.marks import Mark
from podrail.observation.memory import Seen
from podrail.observation.report import Around
from podrail_io.followed import Followed
from podrail_io.slim import ApiError

_LOG: Final = logging.getLogger(__name__)
GLANCE_SECONDS: Final = 2.0
"""How often a few files are read: a port that goes down is seen within so long."""
LOOK_SECONDS: Final = 300.0
"""How often everything is read though nothing seems to have happened."""
USAGE_SECONDS: Final = 5.0
COUNT_SECONDS: Final = 15.0
BEFORE_SECONDS: Final = 10.0
"""How often an API server that does not answer is asked what was written before."""
IDLE_SECONDS: Final = 30.0
"""How often a node without GPUs or NICs is looked at: drivers may come late."""


Grounds = tuple[Seen, Signs, Around, tuple[Mark, ...]]


@dataclass(frozen=True, slots=True)
class Parts:
    """What the agent is made of."""

    sight: Sight
    source: Source
    writer: Writer
    node: Followed
    metrics: Metrics


@dataclass(frozen=True, slots=True)
class Clocks:
    """clock never goes back; now is seconds since the epoch."""

    clock: Callable[[], float]
    now: Callable[[], float]


class Agent:
    """What was seen, and when to look again."""

    def __init__(self, name: str, parts: Parts, clocks: Clocks) -> None:
        self._name = name
        self._parts = parts
        self._clocks = clocks
        self._seen: Seen | None = None
        self._trees = host.Trees()
        self._glance: Glance = ()
        self._signs = Signs()
        self._around = Around(name)
        self._tracks: dict[str, Track] = {}
        self._due: dict[str, float] = {}
        self._known = self._exists = False
        self._told: object = None
        self._judgement: tuple[Grounds, NodeRails, str] | None = None

    def problems(self) -> Sequence[str]:
        """Why the agent is not ready."""
        if self._seen is None:
            return ["the devices have not been looked at"]
        if self._idle is None and not self._parts.writer.written:
            return ["NodeRails is not written"]
        return []

    @property
    def _idle(self) -> str | None:
        reason = None if self._seen is None else report.idle(self._seen.topology)
        return reason.code if reason else None

    def run(self, stopping: threading.Event, news: threading.Event) -> None:
        """Look until told to stop; news means that something is worth a look at once."""
        while not stopping.is_set():
            try:
                self.round()
            except Exception:  # noqa: BLE001 - the outermost loop of this program
                self._parts.metrics.count("faults")
                _LOG.exception("round failed")
            news.wait(IDLE_SECONDS if self._idle else GLANCE_SECONDS)
            news.clear()

    def round(self) -> None:
        """Look at what is due, and write what follows from it."""
        if not self._known and self._is_due("before", BEFORE_SECONDS):
            self._remember()
        seen = self._look()
        self._parts.metrics.observed = self._clocks.clock()
        if self._idle and not self._exists:
            self._show(seen, None)
            return
        self._ask(seen)
        found, free = self._judged(seen)
        self._show(seen, found)
        if self._known:
            self._parts.writer.write(found, free)
            self._exists = self._exists or self._parts.writer.written

    def _judged(self, seen: Seen) -> tuple[NodeRails, str]:
        """The object and the hash; at rest those of the last round, for nothing has changed."""
        marked = marks.holding(self._marks(), self._clocks.now())
        grounds = (seen, self._signs, self._around, marked)
        if self._judgement is None or not _same(self._judgement[0], grounds):
            found = report.write(seen, replace(self._signs, marks=marked), self._around)
            free = usage.free(found.observed or seen.topology, seen.host, self._signs.usage)
            self._judgement = (grounds, found, free)
        _, found, free = self._judgement
        return found, free

    def _remember(self) -> None:
        """Begin with what an earlier agent has written in this boot."""
        try:
            before = self._parts.writer.before()
        except ApiError as error:
            _LOG.warning("API server not heard", extra={"problem": str(error)})
            return
        self._known, self._exists = True, before is not None
        if before is not None:
            self._seen = report.again(before, self._parts.sight.look().boot)
            # What was remembered is whole only after another look.
            self._due.pop("look", None)

    def _look(self) -> Seen:
        """The devices: a glance, and everything if that shows a change or it is time."""
        glance = self._parts.sight.glance()
        if (
            self._seen is not None
            and glance == self._glance
            and not self._is_due("look", LOOK_SECONDS)
        ):
            return self._seen
        self._parts.metrics.count("looks")
        self._due["look"] = self._clocks.clock() + LOOK_SECONDS
        self._trees = self._parts.sight.look()
        seen = report.look(self._trees, self._seen, self._labels())
        self._seen = seen
        self._parts.sight.watch(seen)
        self._glance = self._parts.sight.glance()
        topology = seen.topology
        addresses = [card.pci for card in topology.cards] + [nic.pci for nic in topology.nics]
        self._signs = replace(
            self._signs,
            trees=self._trees,
            dead=self._parts.sight.dead(addresses),
            driven=host.driven(self._trees.proc),
        )
        redirected = self._parts.sight.redirected(self._trees, seen)
        self._around = replace(self._around, redirected=redirected)
        return seen

    def _ask(self, seen: Seen) -> None:
        """The kubelet and the counters, each in its own time."""
        if self._is_due("settings", LOOK_SECONDS):
            settings = self._parts.source.settings()
            self._around = replace(self._around, kubelet=settings)
        if self._is_due("usage", USAGE_SECONDS):
            before = self._parts.source.errors
            heard = self._parts.source.usage()
            if heard != self._signs.usage:
                self._signs = replace(self._signs, usage=heard)
            self._parts.metrics.count("kubelet_errors", self._parts.source.errors - before)
        if self._is_due("counters", COUNT_SECONDS):
            self._count(seen)

    def _count(self, seen: Seen) -> None:
        at = self._clocks.clock()
        for nic in seen.topology.nics:
            if nic.rail is not None:
                totals = counters.totals(self._parts.sight.counters(nic))
                before = self._tracks.get(nic.device, Track())
                self._tracks[nic.device] = counters.follow(before, Sample(at, totals))
        suspected = {
            device: track.suspicions for device, track in self._tracks.items() if track.suspicions
        }
        if suspected != self._signs.suspected:
            self._signs = replace(self._signs, suspected=suspected)

    def _marks(self) -> Sequence[Mark]:
        """What other health systems say of the node's rails."""
        found, problems = marks.read(self._metadata("annotations"))
        if problems != self._told:
            self._told = problems
            for one in problems:
                _LOG.warning("mark not used", extra={"problem": str(one)})
        return found

    def _labels(self) -> Mapping[str, str]:
        return self._metadata("labels")

    def _metadata(self, key: str) -> Mapping[str, str]:
        document: dict[str, Any] = self._parts.node.value or {}
        found: Mapping[str, str] = document.get("metadata", {}).get(key) or {}
        return found

    def _show(self, seen: Seen, found: NodeRails | None) -> None:
        reason = report.idle(seen.topology)
        if reason and self._parts.metrics.shown.idle != reason.code:
            _LOG.info("idle", extra={"reason": reason.code, "told": reason.message})
        self._parts.metrics.shown = Shown(
            topology=found.observed if found else None,
            tracks=self._tracks,
            troubles=found.troubles if found else (),
            idle=reason.code if reason else "",
        )

    def _is_due(self, name: str, seconds: float) -> bool:
        """True once in so many seconds."""
        now = self._clocks.clock()
        if now < self._due.get(name, float("-inf")):
            return False
        self._due[name] = now + seconds
        return True


def _same(one: Grounds, other: Grounds) -> bool:
    """True if nothing has been replaced; cheaper than comparing whole trees."""
    return one[3] == other[3] and all(a is b for a, b in zip(one[:3], other[:3], strict=True))

"""Agents that have not been heard for long: counted, and told once by an Event on their node."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from controller import events
from podrail.audit.sight import Sight

NEWS_SECONDS: Final = 3000.0
"""For how long after it is noticed silence is news: less than an Event is kept (an hour), so that
a controller that starts anew does not tell it again."""


@dataclass(frozen=True, slots=True)
class Silence:
    """An agent that is not heard, and when it last was, in seconds since the epoch."""

    node: str
    since: float


class Agents:
    """Who is silent, and of whom that was told."""

    def __init__(self, stale_seconds: float, uid: Callable[[str], str | None]) -> None:
        self._stale = stale_seconds
        self._uid = uid
        self._told: dict[str, float] = {}
        self.silent: tuple[Silence, ...] = ()

    def look(self, sights: Mapping[str, Sight], now: float) -> None:
        """Note who is silent; an object that outlived its node is nobody's."""
        # One without a time is an admin's override, and no agent's.
        heard = {name: one.observed_at for name, one in sights.items() if one.observed_at}
        self.silent = tuple(
            Silence(node, at)
            for node, at in sorted(heard.items())
            if now - at > self._stale and self._uid(node) is not None
        )
        self._told = {node: at for node, at in self._told.items() if heard.get(node) == at}

    def news(self, now: float) -> list[Silence]:
        """Those of whom nothing was told, while it is news."""
        return [
            one
            for one in self.silent
            if one.node not in self._told and now - one.since < self._stale + NEWS_SECONDS
        ]

    def event(self, silence: Silence, now: str) -> dict[str, Any]:
        """What tells of it."""
        since = datetime.fromtimestamp(silence.since, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return events.of_stale_agent(silence.node, self._uid(silence.node) or "", since, now)

    def told(self, silence: Silence) -> None:
        """Note that it was told."""
        self._told[silence.node] = silence.since

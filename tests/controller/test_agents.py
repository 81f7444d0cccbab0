"""Agents that are not heard."""

from __future__ import annotations

from dataclasses import replace

import audited
import pytest

from controller.agents import NEWS_SECONDS, Agents

STALE = 900.0
HEARD = audited.STARTED
THERE = {"n1": "uid-1"}


def looked(after: float, node: str = "n1", at: float | None = HEARD) -> Agents:
    """After a look at one agent so many seconds later."""
    found = Agents(STALE, THERE.get)
    found.look({node: replace(audited.seen(), observed_at=at)}, HEARD + after)
    return found


@pytest.mark.parametrize(
    ("after", "node", "silent"),
    [
        pytest.param(STALE, "n1", [], id="in time"),
        pytest.param(STALE + 1, "n1", ["n1"], id="too late"),
        pytest.param(STALE + 1, "gone", [], id="without a node"),
    ],
)
def test_an_agent_is_silent_after_a_while(after: float, node: str, silent: list[str]) -> None:
    """If its node is still there."""
    assert silent == [one.node for one in looked(after, node).silent]


def test_an_override_without_an_agent_is_not_silent() -> None:
    """Nobody was ever heard there."""
    assert () == looked(STALE + 1, at=None).silent


def test_silence_is_told_once() -> None:
    """And again if the agent was heard in between."""
    agents, now = looked(STALE + 1), HEARD + STALE + 1
    (silence,) = agents.news(now)
    agents.told(silence)
    assert [] == agents.news(now)
    agents.look({"n1": audited.seen()}, now)
    assert [] == agents.news(now)
    agents.look({"n1": replace(audited.seen(), observed_at=now)}, now + STALE + 1)
    assert ["n1"] == [one.node for one in agents.news(now + STALE + 1)]


def test_old_silence_is_no_news() -> None:
    """A controller that starts anew does not tell what the last one has told."""
    agents = looked(STALE + NEWS_SECONDS)
    assert ["n1"] == [one.node for one in agents.silent]
    assert [] == agents.news(HEARD + STALE + NEWS_SECONDS)


def test_the_event_is_about_the_node_and_the_same_for_the_same_silence() -> None:
    """Its name follows from the node and the time it was last heard."""
    agents = looked(STALE + 1)
    (silence,) = agents.silent
    one, other = agents.event(silence, "a"), agents.event(silence, "b")
    assert one["metadata"] == other["metadata"]
    assert ("default", {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "uid-1"}) == (
        one["metadata"]["namespace"],
        one["involvedObject"],
    )
    assert audited.START in one["message"]

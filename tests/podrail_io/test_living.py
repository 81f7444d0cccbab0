"""Values that follow their files and the objects of a kind."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import kinds_api
import pytest
from kinds_api import KindsApi
from prometheus_client import CollectorRegistry

from podrail_io.files import FileError, Placed
from podrail_io.kube import Api
from podrail_io.living import LOOK_SECONDS, Living
from podrail_io.reflector import World

THINGS = "/apis/x.io/v1/things"


@dataclass(frozen=True, slots=True)
class Value:
    """What the layers hold, and how often a value was made."""

    layers: list[list[Any]]
    times: int
    problems: tuple[str, ...]


def value(layers: Sequence[Sequence[Placed]], earlier: Value | None) -> Value:
    """The layers as they are; what is "bad" is a problem."""
    found = [[one.document for one in layer] for layer in layers]
    problems = tuple(one.place for layer in layers for one in layer if one.document == "bad")
    return Value(found, earlier.times + 1 if earlier else 1, problems)


def eventually(condition: Callable[[], bool]) -> bool:
    end = time.monotonic() + 4 * LOOK_SECONDS
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


def keep(document: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = document["spec"]
    return found


@pytest.fixture
def server() -> Iterator[KindsApi]:
    with kinds_api.serving() as running:
        yield running


@pytest.fixture
def followed(server: KindsApi) -> Iterator[Living[Value]]:
    """A value of one shipped document and the server's things, not started."""
    living = Living([Placed("a", "shipped")], None, value)
    world = World(time.monotonic, random.SystemRandom().random)
    living.follow(Api.connect(server=server.url), THINGS, keep, world)
    yield living
    living.stop()


def test_without_a_folder() -> None:
    """Without a folder and a kind the value is made once, of what is shipped."""
    living = Living([Placed("a", "x")], None, value)
    living.start()
    assert ([["x"], [], []], 1, True) == (living.value.layers, living.value.times, living.synced)
    living.stop()


def test_a_wrong_start_is_an_error(tmp_path: Path) -> None:
    """Files that cannot be read at the start are not passed over."""
    with pytest.raises(FileError, match="No such file"):
        Living((), tmp_path / "none", value)


def test_a_change_is_seen_and_a_bad_one_is_not_taken(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A new content makes a new value; one that cannot be read keeps the last and is logged once."""
    (tmp_path / "a.yaml").write_text("a: 1")
    living = Living((), tmp_path, value)
    assert [[], [{"a": 1}], []] == living.value.layers
    living.start()
    (tmp_path / "a.yaml").write_text("a: 22")
    assert eventually(lambda: living.value.layers[1] == [{"a": 22}])
    (tmp_path / "a.yaml").write_text("a: [")
    assert eventually(lambda: "files not reloaded" in caplog.messages)
    assert ([{"a": 22}], 2) == (living.value.layers[1], living.value.times)


def test_objects_are_the_last_layer(server: KindsApi, followed: Living[Value]) -> None:
    """In the order of their names; synced means that all were seen."""
    server.put(f"{THINGS}/b", {"spec": {"n": 1}})
    server.put(f"{THINGS}/a", {"spec": {"n": 2}})
    assert not followed.synced
    followed.start()
    assert eventually(lambda: followed.synced)
    assert [["shipped"], [], [{"n": 2}, {"n": 1}]] == followed.value.layers
    server.remove(f"{THINGS}/a")
    assert eventually(lambda: followed.value.layers[2] == [{"n": 1}])


@pytest.mark.usefixtures("server")
def test_a_kind_that_is_not_served_is_an_empty_layer(followed: Living[Value]) -> None:
    """A cluster without the definition works with files."""
    followed.start()
    assert eventually(lambda: followed.synced)
    assert [["shipped"], [], []] == followed.value.layers


def test_a_problem_is_logged_once_and_counted_as_long_as_it_lasts(
    server: KindsApi, followed: Living[Value], caplog: pytest.LogCaptureFixture
) -> None:
    """However often the value is made meanwhile."""
    registry = CollectorRegistry()
    followed.export(registry, "things")

    def count() -> float | None:
        return registry.get_sample_value("podrail_things_problems")

    server.put(f"{THINGS}/a", {"spec": "bad"})
    server.put(f"{THINGS}/b", {"spec": "good"})
    followed.start()
    assert eventually(lambda: followed.value.layers[2] == ["bad", "good"])
    assert 1 == caplog.messages.count("document not used")
    assert "things/a" == vars(caplog.records[-1])["problem"]
    assert 1 == count()
    server.put(f"{THINGS}/a", {"spec": "good"})
    assert eventually(lambda: count() == 0)

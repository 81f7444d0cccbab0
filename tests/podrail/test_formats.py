"""What one version of podrail writes on pods and another reads: docs/user/upgrade.md has the rules.

A reader passes over fields that it does not know, and refuses words of an enumeration that it does
not know. So fields may be added; the "v" changes only where an old reader would act wrongly.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import marked
import pytest

from podrail import marker, names
from podrail.audit import promise
from podrail.marker import Injected, Outcome
from podrail.topology import Tier

VERSIONS: Final = {path.stem: marked.read(path) for path in sorted(marked.FOLDER.glob("*.yaml"))}
FIRST: Final = VERSIONS["first"]
EACH: Final = pytest.mark.parametrize("name", marked.ASKED)
FIRST_OUTCOMES: Final = {"injected", "skipped"}
FIRST_TIERS: Final = {"PIX", "PXB", "GROUP", "PHB", "NODE", "SYS"}
OPEN: Final = {"resources", "parts"}
"""Objects whose keys are names and no fields."""


def shape(value: Any, key: str = "") -> Any:
    """The fields of a document and the kinds of their values; of a list that of its first item."""
    if isinstance(value, dict):
        return {} if key in OPEN else {name: shape(one, name) for name, one in value.items()}
    if isinstance(value, list):
        return [shape(one) for one in value[:1]]
    return "number" if isinstance(value, int | float) else type(value).__name__


def texts(one: marked.Marked) -> list[str]:
    """The markers of a pod."""
    return [one.injected, *([one.placement] if one.placement else [])]


def meaning(text: str) -> Injected:
    """What a reader of today takes from an admission marker, but for the words of its reasons."""
    found = marker.injected(text)
    assert found is not None
    return found._replace(reasons=tuple(replace(one, message="") for one in found.reasons))


@EACH
@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_is_read_to_the_same_meaning(version: str, name: str) -> None:
    """Whoever wrote the markers, the pod gets the same: rails, networks, late keys, its promise."""
    old, new = VERSIONS[version][name], marked.write(name)
    assert meaning(new.injected) == meaning(old.injected)
    assert promise.admitted(new.injected) == promise.admitted(old.injected)
    assert marker.placed_rails(new.placement) == marker.placed_rails(old.placement)


@EACH
@pytest.mark.parametrize("version", VERSIONS)
def test_every_versions_forecast_is_read(version: str, name: str) -> None:
    """The controller compares what was foretold, not what it would foretell today."""
    old = VERSIONS[version][name]
    if old.placement is None:
        assert "skipped" == name
        return
    said, found = json.loads(old.placement), promise.forecast(old.placement, marked.NODE)
    assert found is not None
    assert (said["tier"], said["expected"]) == (found.tier, found.worth)
    assert [one["p"] for one in said["gpuSets"]] == [chance for _, chance in found.gpu_sets]


@EACH
def test_an_old_reader_finds_all_it_knows(name: str) -> None:
    """Each field of the first format is still written, with a value of its kind, and the same v."""
    for old, new in zip(texts(FIRST[name]), texts(marked.write(name)), strict=True):
        assert lost(shape(json.loads(old)), shape(json.loads(new))) == []
        assert json.loads(old)["v"] == json.loads(new)["v"]


def lost(old: Any, new: Any, at: str = "") -> list[str]:
    """The paths of old that new does not have, or has with another kind of value."""
    if isinstance(old, dict) and isinstance(new, dict):
        return [path for key, one in old.items() for path in lost(one, new.get(key), f"{at}.{key}")]
    if isinstance(old, list) and isinstance(new, list):
        return lost(old[0], new[0], f"{at}[]") if old and new else []
    return [] if old == new else [at]


def test_a_lost_field_is_seen() -> None:
    """The test above can fail: a field that is gone, another kind of value, within a list."""
    old = {"a": 1, "b": [{"c": ""}], "d": ""}
    assert [".a", ".b[].c", ".d"] == lost(shape(old), shape({"b": [{"c": 1}], "d": None}))


def test_an_old_reader_knows_every_word() -> None:
    """It would take a marker with a new word for one that cannot be read."""
    assert FIRST_OUTCOMES == set(Outcome)
    assert FIRST_TIERS == set(Tier)


@EACH
def test_what_is_kept_of_today_is_what_is_written_today(name: str) -> None:
    """If this fails, copy latest.yaml to the last version's name, then `python -m marked`."""
    kept = VERSIONS["latest"][name]
    found = marked.write(name)
    assert kept.pod.keys() == found.pod.keys()
    assert [shape(json.loads(one)) for one in texts(kept)] == [
        shape(json.loads(one)) for one in texts(found)
    ]


def grown(value: Any, key: str = "") -> Any:
    """The document with a field more in each of its objects."""
    if isinstance(value, dict):
        more = {} if key in OPEN else {"tomorrow": {"x": [1]}}
        return {**{name: grown(one, name) for name, one in value.items()}, **more}
    return [grown(one) for one in value] if isinstance(value, list) else value


@pytest.mark.parametrize(
    "read",
    [
        pytest.param(lambda one: marker.injected(one.injected), id="admission"),
        pytest.param(lambda one: promise.forecast(one.placement, marked.NODE), id="forecast"),
        pytest.param(lambda one: marker.placed_rails(one.placement), id="rails"),
    ],
)
def test_fields_of_a_later_version_are_passed_over(read: Callable[[marked.Marked], object]) -> None:
    """At every level of both markers."""
    now = marked.write("late")
    pod = json.loads(json.dumps(now.pod))
    annotations = pod["metadata"]["annotations"]
    annotations[names.INJECTED] = json.dumps(grown(json.loads(now.injected)))
    later = marked.Marked(now.name, pod, json.dumps(grown(json.loads(now.placement or ""))))
    assert read(now)
    assert read(now) == read(later)

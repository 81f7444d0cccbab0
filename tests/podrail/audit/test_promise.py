"""What the markers on a pod promise."""

from __future__ import annotations

import json

import audited
import builders
import placing
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podrail import names
from podrail.audit import promise
from podrail.audit.promise import Forecast, Promise
from podrail.topology import Tier


def test_admission_promises_rails_to_a_container() -> None:
    """With the profile, and the resources that were asked for."""
    found = audited.document()["metadata"]["annotations"][names.INJECTED]
    resources = tuple(f"nvidia.com/rail{rail}" for rail in range(8))
    wanted = Promise("sriov-rails", True, "train", tuple(range(8)), resources)
    assert wanted == promise.admitted(found)


def test_a_pod_that_was_skipped_is_promised_nothing() -> None:
    """Admission has told it why."""
    document = placing.injected(builders.shipped()["tcp"], builders.container(gpus=0))
    found = promise.admitted(document["metadata"]["annotations"][names.INJECTED])
    assert found is not None
    assert not found.injected


def test_a_placement_foretells_gpus_distance_and_worth() -> None:
    """As the extender writes them."""
    text = audited.document(gpus=4)["metadata"]["annotations"][names.PLACEMENT]
    found = promise.forecast(text, audited.NODE)
    assert found is not None
    likeliest, chance = found.gpu_sets[0]
    assert (4, chance) == (len(likeliest), found.chance(likeliest))
    assert 0.0 == found.chance((9,))


def test_a_pod_without_gpus_has_no_chances() -> None:
    """Nothing was foretold of them."""
    assert Forecast((0,)).chance((0,)) is None


def marker(**fields: object) -> str:
    """A placement marker."""
    return json.dumps({"v": 1, "node": "n1", "rails": [1, 0], "tier": "PIX", **fields})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(marker(), Forecast((0, 1), (), Tier.PIX), id="sorted"),
        pytest.param(marker(tier=None), Forecast((0, 1)), id="unknown node"),
        pytest.param(marker(expected=1), Forecast((0, 1), (), Tier.PIX, 1.0), id="whole number"),
        pytest.param(marker(node="n2"), None, id="another node"),
        pytest.param(marker(v=2), None, id="another version"),
        pytest.param(marker(tier="NEAR"), None, id="another tier"),
        pytest.param(marker(expected=2), None, id="no share"),
        pytest.param(marker(expected=True), None, id="no number"),
        pytest.param(marker(gpuSets=[{"gpus": [0], "p": "x"}]), None, id="no chance"),
        pytest.param("", None, id="none"),
        pytest.param("[" * 5000, None, id="deep"),
    ],
)
def test_a_marker_is_read_whole_or_not_at_all(text: str, expected: Forecast | None) -> None:
    """What cannot be read is no placement, and one for another node is not this one's."""
    assert expected == promise.forecast(text, "n1")


@given(st.text() | st.recursive(st.none() | st.floats(), st.lists, max_leaves=4).map(json.dumps))
def test_any_text_is_answered(text: str) -> None:
    """No annotation makes it raise."""
    assert promise.forecast(text, "n1") is None
    assert promise.admitted(text) is None

"""The shape catalog: all problems at once, nothing shifted, unknown stays unknown."""

from __future__ import annotations

from typing import Any

import placing
import pytest

from podrail import catalog
from podrail.errors import MalformedError
from podrail.topology import Judged, Tier


def shape(**fields: Any) -> dict[str, Any]:
    """A catalog document of one shape with two GPUs and two NICs."""
    whole = {
        "shape": "two",
        "gpus": [{"numa": 0}, {"numa": 1}],
        "nics": [{"name": "a", "rail": 0, "numa": 0}, {"name": "b", "rail": 1, "numa": 1}],
        "tiers": ["PIX SYS", "SYS PIX"],
    }
    return {"shapes": [{**whole, **fields}]}


def test_the_shipped_catalog_has_shapes_of_every_cloud() -> None:
    """Shapes without distances or rails are listed for their sources and yield no topology."""
    assert {
        "dgx-h100",
        "p5.48xlarge",
        "Standard_ND96isr_H100_v5",
        "BM.GPU.H100.8",
        "a4-highgpu-8g",
    } <= set(placing.SHAPES)
    assert "alibaba/ebmgn*" not in placing.SHAPES
    assert "BM.GPU.H200.8" not in placing.SHAPES


@pytest.mark.parametrize(
    ("name", "rails", "nics"), [("p5.48xlarge", 8, 32), ("dgx-h100", 8, 12), ("p4d.24xlarge", 4, 4)]
)
def test_several_nics_may_make_a_rail_and_some_make_none(name: str, rails: int, nics: int) -> None:
    """Four EFA devices a rail on p5; storage NICs of a DGX are no rails."""
    found = placing.SHAPES[name]
    assert (rails, nics) == (len(found.rails), len(found.nics))


def test_grace_machines_are_judged_by_numa() -> None:
    """Their GPUs reach NICs through the CPU at full speed."""
    assert Judged.NUMA is placing.SHAPES["Standard_ND128isr_GB300_v6"].judged


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"tiers": ["PIX SYS"]}, "tiers: expected a row for each of 2 GPUs, got 1"),
        ({"tiers": ["PIX SYS", "SYS"]}, "tiers[1]: expected 2 of PIX"),
        ({"tiers": ["PIX SYS", "SYS PIXX"]}, "tiers[1]: expected 2 of PIX"),
        ({"tiers": ["PIX SYS", 5]}, "tiers[1]: expected 2 of PIX"),
        ({"gpus": [{"numa": -1}, {}]}, "gpus[0].numa: expected a whole number"),
        ({"nics": [{"rail": "x"}, {}]}, "nics[0].rail: expected a whole number"),
        ({"nics": [{"role": "spare"}, {}]}, "nics[0].role: expected one of rail, storage"),
        ({"nics": [{"role": ["rail"]}, {}]}, "nics[0].role: expected one of rail, storage"),
        ({"shape": None}, "shape: is required"),
        ({"speed": 1}, "speed: unknown field"),
    ],
)
def test_a_problem_names_the_place_and_is_never_mended(
    fields: dict[str, Any], problem: str
) -> None:
    """A row is refused, not shifted or filled."""
    with pytest.raises(MalformedError) as caught:
        catalog.read([("own.yaml", shape(**fields))])
    assert any(problem in str(one) for one in caught.value.problems), caught.value.problems
    assert all(one.path.startswith("own.yaml") for one in caught.value.problems)


def test_an_unknown_distance_stays_unknown() -> None:
    """Null is neither near nor far."""
    found = catalog.read([("x", shape(tiers=["PIX null", "SYS PIX"]))])["two"]
    assert (Tier.PIX, None) == found.tiers[0]


def test_a_later_document_wins() -> None:
    """An admin's own shape takes the place of a shipped one."""
    found = catalog.read([("a", shape()), ("b", shape(tiers=["SYS SYS", "SYS SYS"]))])
    assert 0.2 == found["two"].worth[0][0]

"""The picture of growth."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree as ET

import plot
import pytest


def case(ms: float) -> dict[str, Any]:
    """A measure as ranking's, in which everything takes as long."""
    return {**{name: {"p50_ms": ms} for name in plot.LINES}, "json_loads_ms": ms}


def test_points_stand_in_the_order_of_their_nodes() -> None:
    """Numbers in JSON are texts, and 15,000 is not before 500."""
    found = plot.lines({"15000": case(9.0), "500": case(1.0)})
    assert {name: [(500, 1.0), (15_000, 9.0)] for name in plot.LINES} == found


def test_each_line_is_drawn_within_the_picture() -> None:
    """With a dot for each number of nodes, and its name at its end."""
    root = ET.fromstring(plot.drawn({"500": case(1.0), "5000": case(3.0)}))
    space = "{http://www.w3.org/2000/svg}"
    paths = [one.get("points", "") for one in root.iter(f"{space}polyline")]
    corners = [tuple(map(float, point.split(","))) for path in paths for point in path.split()]
    assert len(plot.LINES) == len(paths)
    assert all(0 <= x <= 720 and 0 <= y <= 420 for x, y in corners)
    assert set(plot.LINES) <= {one.text for one in root.iter(f"{space}text")}


def test_one_number_of_nodes_is_no_growth() -> None:
    """It is refused rather than drawn as a line."""
    with pytest.raises(ValueError, match="has 1 numbers of nodes"):
        plot.drawn({"500": case(1.0)})

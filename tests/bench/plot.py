"""How the cost of a call grows with the number of nodes, as an SVG picture.

By itself, from the JSON that a run has printed: `python tests/bench/plot.py FIGURES.json OUT.svg`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

LINES: Final = {
    "prioritize": "#0b5394",
    "filter": "#38761d",
    "null": "#666666",
    "json_loads": "#b45f06",
}
"""What is drawn, and in which colour: a handler that does nothing and the bare parsing are floors."""
_WIDTH: Final = 720
_HEIGHT: Final = 420
_LEFT: Final = 60
_RIGHT: Final = 110
_TOP: Final = 40
_BOTTOM: Final = 50
_STEPS: Final = 5

Line = Sequence[tuple[int, float]]


def lines(growth: Mapping[str, Any]) -> dict[str, Line]:
    """For each name of LINES its points (nodes, milliseconds at the median), by number of nodes."""
    cases = sorted((int(nodes), case) for nodes, case in growth.items())
    return {
        name: [
            (nodes, case["json_loads_ms"] if name == "json_loads" else case[name]["p50_ms"])
            for nodes, case in cases
        ]
        for name in LINES
    }


def drawn(growth: Mapping[str, Any]) -> str:
    """The picture of what `ranking.measure` calls growth; both axes begin at 0.

    Raises:
        ValueError: there are fewer than two numbers of nodes, so nothing grows.
    """
    if len(growth) < 2:
        raise ValueError(f"growth has {len(growth)} numbers of nodes, expected at least 2")
    found = lines(growth)
    most = max(nodes for line in found.values() for nodes, _ in line)
    slowest = max(ms for line in found.values() for _, ms in line)
    body = [*_axes(most, slowest)]
    for name, line in found.items():
        body += _line(name, [(_x(nodes, most), _y(ms, slowest)) for nodes, ms in line])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img"'
        ' font-family="sans-serif" font-size="13">\n'
        "<title>Milliseconds of a call by the number of nodes</title>\n"
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#ffffff"/>\n'
        + "\n".join(body)
        + "\n</svg>\n"
    )


def _axes(most: int, slowest: float) -> Iterator[str]:
    yield f'<text x="{_LEFT}" y="22">milliseconds of one call (median), by the number of nodes</text>'
    for step in range(_STEPS + 1):
        share = step / _STEPS
        y, x = _y(share * slowest, slowest), _x(share * most, most)
        yield f'<line x1="{_LEFT}" y1="{y}" x2="{_WIDTH - _RIGHT}" y2="{y}" stroke="#dddddd"/>'
        yield f'<text x="{_LEFT - 8}" y="{y + 4}" text-anchor="end">{share * slowest:.1f}</text>'
        yield f'<text x="{x}" y="{_HEIGHT - 22}" text-anchor="middle">{share * most:,.0f}</text>'


def _line(name: str, points: Sequence[tuple[float, float]]) -> Iterator[str]:
    colour, (x, y) = LINES[name], points[-1]
    path = " ".join(f"{x},{y}" for x, y in points)
    yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>'
    for dot_x, dot_y in points:
        yield f'<circle cx="{dot_x}" cy="{dot_y}" r="3" fill="{colour}"/>'
    yield f'<text x="{x + 8}" y="{y + 4}" fill="{colour}">{name}</text>'


def _x(nodes: float, most: float) -> float:
    return round(_LEFT + (_WIDTH - _LEFT - _RIGHT) * nodes / most, 1)


def _y(ms: float, slowest: float) -> float:
    return round(_HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * ms / slowest, 1)


if __name__ == "__main__":
    figures, out = map(Path, sys.argv[1:3])
    out.write_text(drawn(json.loads(figures.read_text())["extender"]["growth"]))

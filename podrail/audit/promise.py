"""What a pod was promised: by admission its rails, by its placement what to expect of the node.

Markers are read as they stand on the pod. Pods of a template have equal markers, so that what is
read of tens of thousands of pods is kept once.
"""

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from podrail import marker, names
from podrail.audit import unique
from podrail.reading import Reader
from podrail.topology import Tier

MOST_SETS: Final = 8
MOST_DEVICES: Final = 64
GpuSets = tuple[tuple[tuple[int, ...], float], ...]


@dataclass(frozen=True, slots=True)
class Promise:
    """What admission did: injected is false for a pod that was skipped, with a reason told then."""

    profile: str
    injected: bool
    container: str = ""
    rails: tuple[int, ...] = ()
    resources: tuple[str, ...] = ()
    """The resources that admission asked for."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """What the placement expected of the node; None where the node was not known."""

    rails: tuple[int, ...]
    gpu_sets: GpuSets = ()
    """The likeliest sets of GPUs, each with its chance; none for a pod without GPUs."""
    tier: Tier | None = None
    worth: float | None = None

    def chance(self, gpus: tuple[int, ...]) -> float | None:
        """How likely these GPUs were; None if nothing was foretold."""
        if not self.gpu_sets:
            return None
        return next((chance for some, chance in self.gpu_sets if some == gpus), 0.0)


@lru_cache(maxsize=4096)
def admitted(text: str) -> Promise | None:
    """The promise of an admission marker; None if it cannot be read."""
    found = marker.injected(text)
    if found is None:
        return None
    rails, resources = tuple(sorted(set(found.rails))), tuple(sorted(found.resources))
    return Promise(found.profile, found.injected, found.container, rails, resources)


def forecast(text: str, node: str) -> Forecast | None:
    """The forecast of a placement marker; None if it cannot be read, or is about another node."""
    try:
        top = Reader.of(json.loads(text), names.PLACEMENT)
    except (ValueError, RecursionError):
        return None
    found = Forecast(
        rails=_numbers(top, "rails"),
        gpu_sets=tuple(
            (_numbers(one, "gpus"), _share(one, "p") or 0.0)
            for one in top.parts("gpuSets", MOST_SETS)
        ),
        tier=None if top.raw("tier") is None else top.choice("tier", Tier.SYS),
        worth=_share(top, "expected"),
    )
    if top.problems or top.raw("v") != names.FORMAT_VERSION or top.text("node") != node:
        return None
    return unique.one(found)


def _numbers(part: Reader, key: str) -> tuple[int, ...]:
    found = part.items(key, MOST_DEVICES)
    return tuple(sorted({one for one in found if type(one) is int and one >= 0}))


def _share(part: Reader, key: str) -> float | None:
    value = part.raw(key)
    if value is None:
        return None
    if type(value) not in {int, float} or not 0 <= value <= 1:
        part.wrong(key, "expected a number from 0 to 1")
        return None
    return float(value)

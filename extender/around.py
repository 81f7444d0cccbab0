"""What the view of the cluster takes from around it, and how long what it assumes lasts."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from podrail.evidence.cluster import Resources
from podrail_io.reflector import World


@dataclass(frozen=True, slots=True)
class Terms:
    """How long, in seconds, rails are held for a bind that nobody saw, and a block for a job."""

    hold: float = 60.0
    claim: float = 300.0


@dataclass(frozen=True, slots=True)
class Around:
    """Clocks, and how GPUs and NICs are called."""

    world: World
    now: Callable[[], datetime]
    resources: Callable[[], Resources]

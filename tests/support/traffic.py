"""Random sites that are never empty, and the jobs that come and go on them.

Small pods and jobs of many nodes, machines whose NICs are near and others whose are not, nodes of
which strangers hold some GPUs for ever. Jobs ask for 70 to 95 % of the GPUs at any time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from random import Random

import placing
import simulated
import states

from podrail.fabric import Profile
from podrail.kubelet.node import Kubelet, Policy
from podrail.score import state
from podrail.simulation import site
from podrail.simulation.order import Order
from podrail.simulation.trace import Work
from podrail.snapshot import Spot
from podrail.topology import Topology

GPU = "nvidia.com/gpu"
SOCKETS = (0,) * 4 + (1,) * 4


def machine(near: Callable[[int, int], str], nics: tuple[int, ...] = SOCKETS) -> Topology:
    """Two sockets of four GPUs, and eight NICs by their sockets."""
    rows = [" ".join(near(gpu, nic) for nic in range(8)) for gpu in range(8)]
    return states.machine(rows, numas=SOCKETS, nics=nics)


HALF_CROSSED = machine(
    lambda gpu, nic: "PIX" if gpu == nic < 4 else "NODE" if max(gpu, nic) < 4 else "SYS", (0,) * 8
)
"""Half of the GPUs have their NICs near, the others none."""
BRIDGED = machine(lambda gpu, nic: "NODE" if gpu // 4 == nic // 4 else "SYS")
"""Without a switch every pair goes through a CPU."""
SWAPPED = machine(
    lambda gpu, nic: "PIX" if nic == (gpu + 4) % 8 else "SYS" if gpu // 4 == nic // 4 else "NODE",
    SOCKETS[::-1],
)
"""The sockets' rails are swapped: whole nodes are aligned, halves with fixed rails are not."""
POOR = {
    "podrail-crossed": placing.CROSSED,
    "half-crossed": HALF_CROSSED,
    "bridged": BRIDGED,
    "swapped": SWAPPED,
}
GOOD = {name: placing.SHAPES[name] for name in ("podrail-aligned", "hgx-h100-8nic", "dgx-a100")}
SHAPES = placing.SHAPES | POOR
FABRICS = {
    "fixed rails": simulated.RAILS,
    "late rails": simulated.SHARED,
    "all rails": placing.shared("AllRails"),
    "pool": simulated.POOL,
}
SIZES = ((1, 0.3), (2, 0.2), (4, 0.25), (8, 0.25))
NODES = ((2, 0.5), (4, 0.3), (8, 0.14), (16, 0.05), (32, 0.01))
MEAN_SECONDS = 1800


@dataclass(frozen=True, slots=True)
class Traffic:
    """A site and its jobs by arrival."""

    spots: tuple[Spot, ...]
    orders: tuple[Order, ...]


def traffic(seed: int, nodes: int = 64, jobs: int = 400) -> Traffic:
    """The site and the jobs of a seed; the same every time."""
    chance = Random(seed)
    name = chance.choice(sorted(FABRICS))
    load = chance.uniform(0.7, 0.95)
    policy = chance.choice([Policy.NONE, Policy.NONE, Policy.BEST_EFFORT])
    good, poor = chance.choice(sorted(GOOD)), chance.choice(sorted(POOR))
    scattered, held = chance.random() < 0.5, chance.choice([0.0, 0.0, 0.2])
    spots = _site(chance, FABRICS[name], (good, poor), nodes, scattered=scattered)
    spots = tuple(_held(chance, _kubelet(spot, policy), held) for spot in spots)
    free = sum(spot.free[GPU] for spot in spots)
    orders = simulated.orders(*_works(chance, free, load, jobs), fabric=FABRICS[name])
    return Traffic(spots, orders)


def _site(
    chance: Random, fabric: Profile, shapes: tuple[str, str], nodes: int, *, scattered: bool
) -> tuple[Spot, ...]:
    rows = [f"{shape}:{nodes // 2}:8:16" for shape in shapes]
    found = site.spots(map(site.row, rows), SHAPES, [fabric])
    if not scattered:
        return found
    places = [spot.place for spot in found]
    chance.shuffle(places)
    return tuple(replace(spot, place=place) for spot, place in zip(found, places, strict=True))


def _kubelet(spot: Spot, policy: Policy) -> Spot:
    assert spot.state is not None
    return replace(spot, state=state.same(replace(spot.state, kubelet=Kubelet(policy))))


def _held(chance: Random, spot: Spot, share: float) -> Spot:
    """The node with one or two GPUs that somebody else has for ever, by chance."""
    if chance.random() >= share:
        return spot
    assert spot.state is not None
    gone = chance.sample(range(8), chance.choice([1, 2]))
    free = {**spot.free, GPU: 8 - len(gone)}
    left = tuple(gpu for gpu in range(8) if gpu not in gone)
    known = replace(spot.state, free=state.counted(free), gpus=left)
    return replace(spot, free=free, state=state.same(known))


def _works(chance: Random, gpus: int, load: float, jobs: int) -> Iterator[Work]:
    """Enough jobs at once to fill the site so far, then the others one by one."""
    shapes = [_shape(chance) for _ in range(jobs)]
    mean = sum(pods * size for pods, size in shapes) / jobs
    every = mean * MEAN_SECONDS / (gpus * load)
    now, filled = 0.0, 0
    for number, (pods, size) in enumerate(shapes):
        seconds = chance.randrange(MEAN_SECONDS // 3, MEAN_SECONDS * 5 // 3)
        filled += pods * size
        if filled > gpus * load:
            now += chance.expovariate(1 / every)
        yield simulated.job(f"j{number}", pods, size, arrival=round(now), seconds=seconds)


def _shape(chance: Random) -> tuple[int, int]:
    """Pods and GPUs of each: four of five jobs are a single pod."""
    if chance.random() < 0.8:
        return 1, _drawn(chance, SIZES)
    return _drawn(chance, NODES), 8


def _drawn(chance: Random, table: tuple[tuple[int, float], ...]) -> int:
    return chance.choices([one for one, _ in table], [share for _, share in table])[0]

"""How fast a job's all-reduce would be: a model from published numbers, not a measurement.

What is counted is the share of the aligned rate, 1 at best. A pod's GPUs share their data over
NVLink, so a pod is as fast as its pairs on the average; a job waits for its slowest pod. A rail
that serves more GPUs than the machine has for each rail is divided among them. What it costs to
cross leaf switches is left out, since no number is published that a model could go by.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from podrail.simulation.replay import Run
from podrail.snapshot import Spot
from podrail.topology import Judged, Tier, Topology

BY_TIER: Final[Mapping[Tier | None, float]] = {
    Tier.PIX: 1.0,
    Tier.PXB: 1.0,
    Tier.GROUP: 1.0,
    Tier.PHB: 0.63,
    Tier.NODE: 0.63,
    Tier.SYS: 0.53,
    None: 0.53,
}
"""Through a CPU: all_reduce on two nodes, 29.68 of 46.93 GB/s (DRANET's paper and documentation).

Across sockets: one GPU and one EFA on another root complex of a p4d, 6.04 of 11.35 GB/s (DRANET's
README for EKS). MI300X lost far more (6.10 of 42.53 GB/s), so this flatters misplaced pods there.
"""
OTHER_NUMA: Final = 0.54
"""Where NUMA nodes decide: 25 of 46 GB/s on OCI's GB200 (DRANET's README for OKE)."""


def rate(topology: Topology, gpu: int, rail: int) -> float:
    """The share of the aligned rate at which a GPU uses a rail that serves no other."""
    if topology.worth[rail][gpu] >= 1:
        return 1.0
    if topology.judged is Judged.NUMA:
        return OTHER_NUMA
    return BY_TIER[topology.tier(gpu, rail)]


def fair(topology: Topology) -> int:
    """How many GPUs of the machine there are for each rail."""
    return -(-len(topology.gpus) // len(topology.rails))


def pod(topology: Topology, pairs: Sequence[tuple[int, int]], loads: Sequence[int]) -> float:
    """The share of a pod's pairs of GPU and rail; loads has how many GPUs each rail serves."""
    most = fair(topology)
    shares = [
        rate(topology, gpu, rail) * min(1.0, most / load)
        for (gpu, rail), load in zip(pairs, loads, strict=True)
    ]
    return sum(shares) / len(shares)


def job(run: Run, spots: Sequence[Spot]) -> float | None:
    """The share of a job's slowest pod; None if nothing is known of one of its nodes."""
    found = []
    for one, loads in zip(run.pods, run.loads, strict=True):
        known = spots[one.node].state
        if known is None or not one.serving:
            return None
        pairs = list(zip(one.gpus, one.serving, strict=True))
        found.append(pod(known.topology, pairs, loads))
    return min(found)

"""`podrail topology -o tree`: NUMA nodes, what hangs together in each, and how far apart it is."""

from collections.abc import Iterator

from podrail.topology import Topology

Pair = tuple[int, int]
"""A GPU and a NIC, by their places."""


def text(topology: Topology) -> str:
    """A line for each branch; ? is an unknown distance or NUMA node."""
    nics = [nic.numa for nic in topology.nics]
    nodes = sorted({*topology.gpus, *nics}, key=lambda one: (one is None, one or 0))
    lines = [line for node in nodes for line in _node(topology, node)]
    apart = [
        (gpu, nic)
        for gpu, node in enumerate(topology.gpus)
        for nic, other in enumerate(nics)
        if node != other
    ]
    return "\n".join([*lines, *_between(topology, apart, "between NUMA nodes")])


def _node(topology: Topology, node: int | None) -> Iterator[str]:
    """A NUMA node: the groups in it, then those that are in none, then how far groups are apart."""
    yield f"NUMA {'?' if node is None else node}"
    gpus = [at for at, one in enumerate(topology.gpus) if one == node]
    nics = [at for at, one in enumerate(topology.nics) if one.numa == node]
    near: set[Pair] = set()
    grouped: set[str] = set()
    for group in topology.groups:
        names = [*_gpus(set(group[0]) & set(gpus)), *_nics(topology, set(group[1]) & set(nics))]
        pairs = [(gpu, nic) for gpu in group[0] if gpu in gpus for nic in group[1] if nic in nics]
        if pairs:
            near.update(pairs)
            grouped.update(names)
            yield f"  {_tiers(topology, pairs):<5} {', '.join(names)}"
    alone = [*_gpus(set(gpus)), *_nics(topology, set(nics))]
    yield from (f"  {'-':<5} {name}" for name in alone if name not in grouped)
    rest = [(gpu, nic) for gpu in gpus for nic in nics if (gpu, nic) not in near]
    yield from (f"  {line}" for line in _between(topology, rest, "to each other"))


def _between(topology: Topology, pairs: list[Pair], where: str) -> Iterator[str]:
    if pairs:
        yield f"{_tiers(topology, pairs):<5} {where}"


def _tiers(topology: Topology, pairs: list[Pair]) -> str:
    return "/".join(sorted({topology.tiers[gpu][nic] or "?" for gpu, nic in pairs}))


def _gpus(gpus: set[int]) -> list[str]:
    return [f"GPU{at}" for at in sorted(gpus)]


def _nics(topology: Topology, nics: set[int]) -> list[str]:
    return [_nic(topology, at) for at in sorted(nics)]


def _nic(topology: Topology, at: int) -> str:
    nic = topology.nics[at]
    rail = "no rail" if nic.rail is None else f"rail {nic.rail}"
    return f"{nic.name} ({rail}{'' if nic.gbps is None else f', {nic.gbps} Gbit/s'})"

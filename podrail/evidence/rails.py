"""Which NIC is which rail: by whoever says so, else by leaf switch, else by a guess.

A NIC that is near no GPU is no rail: storage and front-end cards are often PIX with each other. The
guess is the order of PCI addresses, and it is wrong on real machines (OCI MI355X-v1, reversed
H100 boxes), so it is marked as what it is.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from podrail.evidence import pci
from podrail.topology import SWITCHED, Judged, Nic, RailSource, Role, Tier, Topology

_LEAF: Final = re.compile(r"(?:backend|ib)\.coreweave\.cloud/neighbors\.current\.([^.]+)\.device")


def leaves(labels: Mapping[str, str]) -> Mapping[str, str]:
    """The leaf switch of each interface, from a node's labels (CoreWeave, read 2026-07)."""
    found = ((_LEAF.fullmatch(key), value) for key, value in labels.items())
    return {match[1]: leaf for match, leaf in found if match and leaf}


def numbered(topology: Topology, leaf_of: Mapping[str, str] | None = None) -> Topology:
    """The topology with a rail number and the role of a rail on each NIC that is one.

    Numbers that are there already stay; leaf_of has the leaf switch by device or interface.
    """
    if topology.rails:
        return _with(topology, {})
    by_leaf = _by_leaf(topology, leaf_of or {})
    if by_leaf:
        return _with(topology, by_leaf, RailSource.LABEL)
    return _with(topology, _by_address(topology), RailSource.PCI)


def _with(
    topology: Topology, rails: Mapping[int, int], source: RailSource = RailSource.PCI
) -> Topology:
    nics = []
    for at, nic in enumerate(topology.nics):
        rail = rails.get(at, nic.rail)
        if rail is not None:
            said = source if at in rails else nic.rail_source
            nics.append(replace(nic, rail=rail, rail_source=said, role=nic.role or Role.RAIL))
        else:
            nics.append(nic)
    return replace(topology, nics=tuple(nics))


def near(topology: Topology, at: int) -> tuple[int, ...]:
    """The GPUs that a NIC is nearest to; empty if it is near none, as this machine goes.

    Near is below a switch where any NIC of the node is, else the best there is short of SYS.
    """
    if topology.judged is Judged.NUMA:
        here = topology.nics[at].numa
        return tuple(gpu for gpu, numa in enumerate(topology.gpus) if numa == here is not None)
    row = [tiers[at] for tiers in topology.tiers]
    best = next((tier for tier in Tier if tier in row), None)
    wanted = SWITCHED if topology.best in SWITCHED else {Tier.PHB, Tier.NODE}
    return tuple(gpu for gpu, tier in enumerate(row) if tier is best and tier in wanted)


def _by_leaf(topology: Topology, leaf_of: Mapping[str, str]) -> dict[int, int]:
    """The leaves in the order of their names are the rails, on NICs that are near a GPU."""
    known = {
        at: leaf
        for at, nic in enumerate(topology.nics)
        if (leaf := leaf_of.get(nic.device or nic.name) or leaf_of.get(nic.netdev))
        and near(topology, at)
    }
    ordered = sorted(set(known.values()), key=_natural)
    return {at: ordered.index(leaf) for at, leaf in known.items()}


def _natural(name: str) -> list[tuple[int, str]]:
    """What sorts leaf-9 before leaf-10."""
    return [
        (int(part), "") if part.isdigit() else (-1, part) for part in re.findall(r"\d+|\D+", name)
    ]


def _by_address(topology: Topology) -> dict[int, int]:
    """Rails in the order of the NICs' addresses, no more in a group than it has GPUs.

    Several NICs for one GPU share its rail: four EFA of a p5, two ports of OCI's H100 cards.
    """
    ours = [at for at, nic in enumerate(topology.nics) if nic.role in {None, Role.RAIL}]
    ours.sort(key=lambda at: _order(topology.nics, at))
    groups: dict[tuple[int, ...], list[int]] = {}
    for at in ours:
        gpus = near(topology, at)
        if gpus:
            groups.setdefault(gpus, []).append(at)
    shares = {
        at: (gpus, rank * min(len(gpus), len(nics)) // len(nics))
        for gpus, nics in groups.items()
        for rank, at in enumerate(nics)
    }
    places = list(dict.fromkeys(shares[at] for at in ours if at in shares))
    return {at: places.index(share) for at, share in shares.items()}


def _order(nics: Sequence[Nic], at: int) -> tuple[int, ...]:
    """By address where each has one: half an order would be none."""
    return (*pci.order(nics[at].pci), at) if all(nic.pci for nic in nics) else (at,)

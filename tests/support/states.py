"""States of nodes, and wishes, for the tests of scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import builders
import placing

from podrail.fabric import Profile
from podrail.kubelet.node import Kubelet, Policy
from podrail.placement import Wish
from podrail.score import state
from podrail.score.need import Need
from podrail.score.state import State
from podrail.topology import Evidence, Judged, Nic, Tier, Topology
from podrail.topology import State as Port

GPU = "nvidia.com/gpu"
RAILS = builders.shipped()["sriov-rails"]
POOL = builders.shipped()["sriov-pool"]
SHARED = placing.shared()
ALL_RAILS = placing.shared("AllRails")


def wish(fabric: Profile = RAILS, gpus: int = 8, **fields: Any) -> Wish:
    """The wish of a pod with GPUs on a fabric."""
    return placing.wish(placing.injected(fabric, builders.container(gpus=gpus), **fields))


def need(fabric: Profile = RAILS, gpus: int = 8, **fields: Any) -> Need:
    """What such a pod needs."""
    return wish(fabric, gpus, **fields).need(fabric)


def node(
    topology: Topology = placing.ALIGNED,
    *,
    gpus: Sequence[int] | None = None,
    free: Mapping[str, int] | None = None,
    used: Mapping[int, int] | None = None,
    policy: Policy = Policy.NONE,
) -> State:
    """A node with these GPUs free, so many devices free, these rails in use."""
    return state.same(
        State(
            state.plain(topology),
            Kubelet(policy),
            free=state.counted(free or {}),
            gpus=None if gpus is None else tuple(gpus),
            used=tuple(sorted((used or {}).items())),
        )
    )


def machine(
    rows: Sequence[str],
    *,
    numas: Sequence[int | None],
    nics: Sequence[int | None] | None = None,
    judged: Judged = Judged.PCIE,
) -> Topology:
    """A topology of rows of distances such as "PIX SYS"; NIC k is rail k."""
    tiers = tuple(tuple(Tier(word) for word in row.split()) for row in rows)
    where = nics or (0,) * len(tiers[0])
    cards = tuple(Nic(f"mlx5_{at}", at, numa) for at, numa in enumerate(where))
    return Topology("made", tuple(numas), cards, tiers, judged, Evidence.CATALOG)


def ports(topology: Topology, **ports: Port) -> Topology:
    """The topology with the state of some rails' ports, r3=Port.DOWN."""
    nics = tuple(replace(nic, state=ports.get(f"r{nic.rail}")) for nic in topology.nics)
    return replace(topology, nics=nics)

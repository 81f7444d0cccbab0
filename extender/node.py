"""What is kept of a Node object, and what a node is apart from the pods on it."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from podrail import locality, names, quantity
from podrail.evidence.atlas import Found
from podrail.evidence.noderails import NodeRails
from podrail.kubelet.node import Kubelet
from podrail.locality import NOWHERE, Place
from podrail.score import state
from podrail.score.kin import Kin, Near
from podrail.score.state import Counted, State
from podrail.topology import Topology


@dataclass(frozen=True, slots=True)
class Node:
    """A node's labels, its devices by resource, and its kubelet's version."""

    labels: Mapping[str, str]
    devices: Counted = ()
    version: str = ""
    shunned: bool = False
    """True if a taint says that pods should rather not go there."""


@dataclass(frozen=True, slots=True)
class Standing:
    """A node apart from its pods."""

    labels: Mapping[str, str] = field(default_factory=dict)
    devices: Counted = ()
    place: Place = NOWHERE
    kubelet: Kubelet = field(default_factory=Kubelet)
    topology: Topology | None = None
    """With its evidence; None if nothing is known of it."""
    plain: Topology | None = None
    """What the score knows of it: one object for all nodes of a kind."""
    product: str = ""
    gbps: int = 0
    sliced: bool = False
    holders: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """The GPUs that the agent saw a pod hold, by namespace/name."""
    shunned: bool = False


UNKNOWN: Final = Standing()
"""A node that no watch has shown."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A node as the pod finds it that is to be bound there, without the pod itself."""

    standing: Standing
    state: State | None
    used: Mapping[int, int]
    kin: Kin
    near: Near


def kept(document: Mapping[str, Any]) -> Node:
    """What is kept of a Node object."""
    status, spec = document.get("status") or {}, document.get("spec") or {}
    allocatable = status.get("allocatable") or {}
    devices = {name: quantity.count(count) for name, count in allocatable.items() if "/" in name}
    return Node(
        document["metadata"].get("labels") or {},
        state.counted(devices),
        sys.intern((status.get("nodeInfo") or {}).get("kubeletVersion") or ""),
        any(one.get("effect") == "PreferNoSchedule" for one in spec.get("taints") or ()),
    )


def standing(
    node: Node, found: Found, rails: NodeRails | None, placed: Callable[[Place], Place]
) -> Standing:
    """The node as all evidence has it; placed gives the one object for equal places."""
    seen, basis = found.kubelet, found.basis
    plain = None if basis is None else state.plain(basis)
    idle = None if plain is None else state.idle(plain)
    product = node.labels.get(names.GPU_PRODUCT, "")
    if not product and idle is not None:
        product = min(idle.products, default="")
    return Standing(
        labels=node.labels,
        devices=node.devices,
        place=placed(locality.of(node.labels)),
        kubelet=state.kubelet(seen.policy, seen.scope, seen.options, node.version),
        topology=basis,
        plain=plain,
        product=product,
        gbps=(idle.gbps if idle is not None else None) or 0,
        sliced=state.sliced(node.labels),
        holders=_holders(found, rails),
        shunned=node.shunned,
    )


def _holders(found: Found, rails: NodeRails | None) -> Mapping[str, tuple[int, ...]]:
    """PodResources gives no UID, so pods are told by their names."""
    gpus = {identifier: gpu for gpu, identifier in enumerate(found.ids) if identifier}
    held: dict[str, tuple[int, ...]] = {}
    for one in rails.allocations if rails is not None and gpus else ():
        if one.device in gpus:
            key = f"{one.namespace}/{one.pod}"
            held[key] = (*held.get(key, ()), gpus[one.device])
    return held

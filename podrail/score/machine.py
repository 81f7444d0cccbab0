"""The nodes that a state can be to the kubelet model, for one pod's resources.

Which devices are free may be known by number only: then each possible set is looked at, or a sample
of them that is spread evenly. kube-scheduler counted the devices before it asked, so a pod that
asks for more than seems free finds what it asks for.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Final

from podrail import subsets
from podrail.kubelet import node as nodes
from podrail.kubelet.node import PAIR, Card, Counts, Kubelet, Machine, Node, Plugin, Resource
from podrail.score.need import Need
from podrail.score.state import Counted, State
from podrail.topology import Topology

MOST_NODES: Final = 24
MOST_VFS: Final = 4
"""Of one port that are told apart: more make it hardly likelier that a pod gets two of a port."""
_CHOSEN: Final = frozenset({"nvidia.com/gpu", "nvidia.com/pgpu"})
"""The resources that NVIDIA's device plugin serves with go-gpuallocator."""


@dataclass(frozen=True, slots=True)
class Possible:
    """A node as the kubelet may see it, and the GPUs that are free there."""

    node: Node
    gpus: tuple[int, ...]


def of(state: State, need: Need) -> Machine:
    """The node's kubelet with the resources that the pod asks for and that are known here."""
    return _machine(state.topology, state.kubelet, state.capacity, need)


def possible(state: State, need: Need) -> tuple[Possible, ...]:
    """The nodes that the state can be, each as likely as another."""
    known = of(state, need)
    asked = wants(need)
    stocks = [_free(one, state, asked[one.name]) for one in known.resources]
    found = list(product(*stocks))
    step = max(1.0, len(found) / MOST_NODES)
    places = range(min(len(found), MOST_NODES))
    return tuple(_possible(known, found[int(at * step)], state) for at in places)


def _possible(machine: Machine, free: tuple[Counts, ...], state: State) -> Possible:
    for resource, counts in zip(machine.resources, free, strict=True):
        if resource.gpu:
            gpus = (
                card.number for card, count in zip(resource.cards, counts, strict=True) if count
            )
            return Possible(Node(machine, free), tuple(gpus))
    return Possible(Node(machine, free), state.gpus or state.healthy_gpus)


def wants(need: Need) -> dict[str, int]:
    """The devices that the pod asks for, of each resource."""
    found: dict[str, int] = {}
    for container in need.containers:
        for name, want in container.wants:
            found[name] = found.get(name, 0) + want
    return found


@lru_cache(maxsize=1024)
def _machine(topology: Topology, kubelet: Kubelet, capacity: Counted, need: Need) -> Machine:
    asked = wants(need)
    offered = dict(capacity)
    resources = [_gpus(topology, name) for name in need.gpu_names if name in asked]
    for name, rails in need.nics.items():
        nics = _nics(topology, name, rails)
        if nics:
            many = max(offered.get(name, len(nics)), asked[name])
            if need.counted:
                each = max(-(-asked[name] // len(nics)), min(MOST_VFS, -(-many // len(nics))))
                cards = tuple(Card(at, topology.nics[at].numa, each) for at in nics)
                resources.append(Resource(name, cards))
            else:
                resources.append(nodes.shared(name, nics, many))
    told = (*topology.gpus, *(nic.numa for nic in topology.nics))
    numas = tuple(sorted({numa for numa in told if numa is not None}))
    return Machine(kubelet, numas or (0,), tuple(resources))


def _gpus(topology: Topology, name: str) -> Resource:
    cards = tuple(Card(gpu, numa) for gpu, numa in enumerate(topology.gpus))
    if name not in _CHOSEN:
        return Resource(name, cards, gpu=True)
    return Resource(name, cards, Plugin.ALIGNED, gpu=True, links=_links(topology))


@lru_cache(maxsize=1024)
def _links(topology: Topology) -> tuple[tuple[int, ...], ...]:
    """What pairs of GPUs are worth to the plugin, as far as PCIe groups and NUMA nodes tell.

    NVLinks are left out: on NVSwitch they are the same for all pairs and decide nothing.
    """
    switches = [frozenset(gpus) for gpus, _ in topology.groups]

    def pair(one: int, other: int) -> int:
        if one == other:
            return 0
        if any({one, other} <= switch for switch in switches):
            return PAIR["PIX"]
        here = topology.gpus[one]
        return PAIR["NODE" if here is not None and here == topology.gpus[other] else "SYS"]

    every = range(len(topology.gpus))
    return tuple(tuple(pair(one, other) for other in every) for one in every)


def _nics(topology: Topology, name: str, rails: frozenset[int]) -> tuple[int, ...]:
    """The NICs behind a resource: those that the evidence says, else all of the rails."""
    of_rails = [at for at, nic in enumerate(topology.nics) if not rails or nic.rail in rails]
    named = [at for at in of_rails if topology.nics[at].resource == name]
    return tuple(named or of_rails)


def _free(resource: Resource, state: State, want: int) -> tuple[Counts, ...]:
    """The free devices of each card, in each way that is possible."""
    if resource.gpu:
        return tuple(_gpu_counts(resource, state, want))
    every = tuple(card.devices for card in resource.cards)
    free = max(want, dict(state.free).get(resource.name, sum(every)))
    if free >= sum(every):
        return (every,)
    each, more = divmod(free, len(every))
    if each or not more:
        # The VFs of a pool are spread: which port has one more of many decides nothing.
        return (tuple(each + (at < more) for at in range(len(every))),)
    sets = subsets.some(len(every), more, MOST_NODES // 3)
    return tuple(tuple(int(at in one) for at in range(len(every))) for one in sets)


def _gpu_counts(resource: Resource, state: State, want: int) -> Iterator[Counts]:
    places = range(len(resource.cards))
    healthy = state.healthy_gpus
    if state.gpus is not None and len(state.gpus) >= want:
        yield tuple(int(at in state.gpus) for at in places)
        return
    free = min(len(healthy), max(want, dict(state.free).get(resource.name, len(healthy))))
    for some in subsets.some(len(healthy), free, MOST_NODES):
        gpus = {healthy[at] for at in some}
        yield tuple(int(at in gpus) for at in places)

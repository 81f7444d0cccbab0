"""Nodes of the usual shapes and pods, as the kubelet model wants them."""

from __future__ import annotations

from collections.abc import Sequence

from podrail.kubelet.node import (
    Card,
    Container,
    Kind,
    Kubelet,
    Machine,
    Node,
    Plugin,
    Policy,
    Request,
    Resource,
    links,
    shared,
)

GPU = "nvidia.com/gpu"
POOL = "x.dev/vf"
TWO_SOCKETS = (0, 0, 0, 0, 1, 1, 1, 1)
NVSWITCH = 18


def rail(number: int) -> str:
    return f"x.dev/rail{number}"


def gpus(
    numas: Sequence[int] = TWO_SOCKETS, *, switch: int = 1, nvlinks: int = NVSWITCH
) -> Resource:
    cards = tuple(Card(at, numa) for at, numa in enumerate(numas))
    switches = [at // switch for at in range(len(numas))] if switch > 1 else []
    pairs = links(numas, switches, nvlinks)
    return Resource(GPU, cards, Plugin.ALIGNED, gpu=True, links=pairs)


def rails(numas: Sequence[int] = TWO_SOCKETS, *, told: bool = True) -> tuple[Resource, ...]:
    """A resource for each rail, with one device."""
    return tuple(
        Resource(rail(at), (Card(at, numa),), publishes_numa=told) for at, numa in enumerate(numas)
    )


def pool(numas: Sequence[int] = TWO_SOCKETS, *, each: int = 1, told: bool = True) -> Resource:
    """One resource for all NICs."""
    cards = tuple(Card(at, numa, each) for at, numa in enumerate(numas))
    return Resource(POOL, cards, publishes_numa=told)


def shared_pool(nics: Sequence[int]) -> Resource:
    """One resource whose every device opens all NICs."""
    return shared(POOL, nics, 63)


def machine(
    *resources: Resource,
    policy: Policy = Policy.NONE,
    numas: int = 2,
    kubelet: Kubelet | None = None,
) -> Machine:
    return Machine(kubelet or Kubelet(policy), tuple(range(numas)), resources)


def node(on: Machine, held: Sequence[int] = ()) -> Node:
    """The machine with everything free but these cards of its first resource."""
    first, *rest = on.everything().free
    left = tuple(0 if card in held else count for card, count in enumerate(first))
    return Node(on, (left, *rest))


def pod(*, gpus: int, rails: Sequence[int] = (), pool: int = 0, kind: Kind = Kind.APP) -> Request:
    """One container."""
    wants = [(GPU, gpus), *((rail(one), 1) for one in rails)]
    return (Container((*wants, (POOL, pool)) if pool else tuple(wants), kind),)

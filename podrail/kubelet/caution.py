"""What kubelets of a machine cannot do, or take very long for, whatever is free there just now."""

from dataclasses import dataclass
from math import prod
from typing import Final

from podrail.kubelet import hints
from podrail.kubelet.node import Container, Machine, Policy, Request, Stock

MOST_PERMUTATIONS: Final = 2**20
"""About 3 to 4 s: 16.8 million took kubelets up to 1.35 between 42 and 72 s (measured)."""


@dataclass(frozen=True, slots=True)
class Caution:
    """A sentence for people, and what to do."""

    message: str
    remedy: str


def warnings(machine: Machine, request: Request) -> tuple[Caution, ...]:
    """What will go wrong, or take very long, even on an empty node of this kind."""
    found = (_numas(machine), _merge(machine, request))
    return tuple(one for one in found if one is not None)


def permutations(machine: Machine, container: Container) -> int:
    """How many permutations of hints a kubelet goes through for a container on an empty node."""
    places = {resource.name: at for at, resource in enumerate(machine.resources)}
    found = []
    for name, want in container.wants:
        if name in places:
            at = places[name]
            free = machine.everything().free[at]
            one = hints.of(machine, at, Stock(free, (0,) * len(free)), want)
            found.append(1 if one is None else max(1, len(one.masks)))
    return prod(found)


def _numas(machine: Machine) -> Caution | None:
    kubelet = machine.kubelet
    if kubelet.policy is Policy.NONE or len(machine.numas) <= kubelet.most_numas:
        return None
    return Caution(
        f"topologyManagerPolicy {kubelet.policy} does not start on {len(machine.numas)} NUMA nodes:"
        f" it allows {kubelet.most_numas}",
        "Raise max-allowable-numa-nodes (topologyManagerPolicyOptions), or take policy none.",
    )


def _merge(machine: Machine, request: Request) -> Caution | None:
    """Up to 1.35 NUMA nodes without devices count too; single-numa-node drops all wide hints."""
    if machine.kubelet.policy in {Policy.NONE, Policy.SINGLE_NUMA_NODE}:
        return None
    most = max((permutations(machine, one) for one in request), default=0)
    if most < MOST_PERMUTATIONS:
        return None
    return Caution(
        f"kubelet 1.{machine.kubelet.minor} goes through {most:,} permutations of NUMA nodes to"
        " admit one pod with all GPUs, which takes it many seconds",
        "Use kubelet 1.36, one pool of NICs in place of a resource for each rail, or fewer NUMA"
        " nodes for each socket.",
    )

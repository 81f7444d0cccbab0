"""The NodeRails object that an agent's observations add up to."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from podrail.evidence import devices, rails, sysfs
from podrail.evidence.noderails import MOST_ALLOCATIONS, Allocation, Kubelet, NodeRails, Trouble
from podrail.observation import gpudirect, health, host, memory, usage
from podrail.observation.health import Signs
from podrail.observation.memory import Seen
from podrail.observation.usage import Usage
from podrail.topology import Evidence, Topology

SOURCE: Final = "sysfs"
MOST_LINK: Final = 32


@dataclass(frozen=True, slots=True)
class Around:
    """What is known of the node but not from its trees."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    kubelet: Kubelet = field(default_factory=Kubelet)
    redirected: frozenset[str] = frozenset()
    """The bridges whose ACS sends peer traffic up to the CPU."""


def look(trees: host.Trees, before: Seen | None, labels: Mapping[str, str]) -> Seen:
    """The devices of this boot: those in the trees, and those seen before and gone."""
    bare = _bounded(sysfs.read(trees.files, trees.links, "/sys"))
    known = host.known(trees, bare)
    return memory.recall(before, known, host.of(trees, known), rails.leaves(labels))


def idle(topology: Topology) -> Trouble | None:
    """Why there is nothing to report of a node; None if there is."""
    if not topology.gpus:
        return Trouble("NoGpus", "", "no GPU is on the PCI bus")
    if not topology.nics:
        return Trouble("NoNics", "", "no RDMA device is in class/infiniband")
    return None


def write(seen: Seen, signs: Signs, around: Around) -> NodeRails:
    """The object, without a time."""
    topology, troubles = health.judge(seen, signs)
    verdict, reasons = gpudirect.judge(signs.trees, topology, around.redirected)
    named = usage.named(topology, seen.host, signs.usage)
    reason = idle(topology)
    return NodeRails(
        name=around.name,
        observed=None if reason else replace(named, evidence=Evidence.NODERAILS, warnings=()),
        source=SOURCE,
        boot_id=signs.trees.boot,
        kubelet=around.kubelet,
        gpudirect=verdict,
        gpudirect_reasons=reasons,
        allocations=_sorted(signs.usage)[:MOST_ALLOCATIONS],
        host=seen.host,
        troubles=(reason,) if reason else troubles,
    )


def _bounded(topology: Topology) -> Topology:
    """The topology without values that no NodeRails may hold, whatever a file says."""
    nics = tuple(
        replace(
            nic,
            link=nic.link[:MOST_LINK],
            numa=_at_most(nic.numa, devices.MOST_NUMA),
            gbps=_at_most(nic.gbps, devices.MOST_GBPS),
        )
        for nic in topology.nics
    )
    gpus = tuple(_at_most(numa, devices.MOST_NUMA) for numa in topology.gpus)
    return replace(topology, gpus=gpus, nics=nics)


def _at_most(value: int | None, most: int) -> int | None:
    return value if value is not None and value <= most else None


def again(found: NodeRails, boot: str) -> Seen | None:
    """What an object that was written in this boot remembers; None if it is of another one."""
    if found.observed is None or not boot or found.boot_id != boot:
        return None
    return Seen(replace(found.observed, evidence=Evidence.SYSFS), found.host)


def _sorted(used: Usage) -> tuple[Allocation, ...]:
    return tuple(
        sorted(
            used.held,
            key=lambda one: (one.namespace, one.pod, one.container, one.resource, one.device),
        )
    )

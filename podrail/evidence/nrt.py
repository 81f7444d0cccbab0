"""NodeResourceTopology (topology.node.k8s.io/v1alpha2): how many GPUs and NICs each NUMA node has.

It knows neither devices nor rails, so two devices are on one NUMA node or not; and the kubelet's
TopologyManager policy and scope, which nothing else says of a node from outside.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final

from podrail import quantity
from podrail.reading import Reader
from podrail.topology import Evidence, Judged, Nic, Tier, Topology

MOST_ZONES: Final = 256
MOST_RESOURCES: Final = 256
MOST_DEVICES: Final = 1024
_ZONE: Final = re.compile(r"node-(\d{1,4})")
"""As NFD's topology updater and the resource-topology-exporter call a NUMA node."""
_BULK: Final = frozenset({"cpu", "memory"})


@dataclass(frozen=True, slots=True)
class Reported:
    """A node's topology, and the kubelet's policy and scope; empty where nothing says them."""

    node: str
    topology: Topology
    policy: str
    scope: str


def read(document: object, gpus: Collection[str], nics: Collection[str], place: str) -> Reported:
    """What a NodeResourceTopology says of the resources that are GPUs and NICs.

    Raises:
        MalformedError: with every problem.
    """
    top = Reader.of(document, place)
    zones = [one for one in top.parts("zones", MOST_ZONES) if one.text("type") == "Node"]
    counted = [found for zone in zones for found in _counts(zone)]
    numas = tuple(numa for numa, name in counted if name in gpus)
    devices = tuple(
        Nic(f"{name}[{at}]", None, numa, resource=name)
        for at, (numa, name) in enumerate(one for one in counted if one[1] in nics)
    )
    attributes = {one.text("name"): one.text("value") for one in top.parts("attributes", 64)}
    node = top.part("metadata").text("name")
    top.finish("NodeResourceTopology")
    tiers = tuple(tuple(_tier(numa, nic.numa) for nic in devices) for numa in numas)
    topology = Topology("", numas, devices, tiers, Judged.PCIE, Evidence.NRT, partial=True)
    policy = attributes.get("topologyManagerPolicy", "")
    return Reported(node, topology, policy, attributes.get("topologyManagerScope", ""))


def _counts(zone: Reader) -> Iterator[tuple[int | None, str]]:
    """The zone's number and the resource's name, once for each device of the zone's capacity."""
    match = _ZONE.fullmatch(zone.text("name"))
    numa = int(match[1]) if match else None
    for part in zone.parts("resources", MOST_RESOURCES):
        if part.text("name") in _BULK:
            continue
        try:
            count = quantity.whole(part.raw("capacity"))
        except ValueError as error:
            part.wrong("capacity", str(error))
            continue
        for _ in range(min(count, MOST_DEVICES)):
            yield numa, part.text("name")


def _tier(gpu: int | None, nic: int | None) -> Tier | None:
    """Same node or not; that a switch may be shared is beyond it."""
    if gpu is None or nic is None:
        return None
    return Tier.NODE if gpu == nic else Tier.SYS

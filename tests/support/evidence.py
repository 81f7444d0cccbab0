"""The documents of a cluster that tell of its nodes' topologies."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import captures
import placing
import yaml

from podrail.evidence import noderails
from podrail.evidence.cluster import Resources
from podrail.evidence.noderails import Kubelet, NodeRails
from podrail.topology import Gpu, Topology

COUNTED = Resources({"nvidia.com/gpu"}, {"nvidia.com/rdma-vf"})
SHAPE = "dgx-h100"
LEAF = "backend.coreweave.cloud/neighbors.current.{}.device"


def node(name: str = "n1", shape: str | None = SHAPE, **labels: str) -> dict[str, Any]:
    """A Node of a machine type."""
    kind = {"node.kubernetes.io/instance-type": shape} if shape else {}
    return {"kind": "Node", "metadata": {"name": name, "labels": {**kind, **labels}}}


def seen(name: str = "n1", shape: str = SHAPE) -> Topology:
    """What an agent sees of a machine type: the GPUs of each node have identifiers of their own."""
    known = placing.SHAPES[shape]
    cards = (
        Gpu(f"GPU-{name}-{at}", known.card(at).pci or f"0000:{at:02x}:00.0", "H100")
        for at in range(len(known.gpus))
    )
    nics = (replace(nic, device=nic.name) for nic in known.nics)
    return replace(known, shape="", cards=tuple(cards), nics=tuple(nics))


def rails(name: str = "n1", **fields: Any) -> dict[str, Any]:
    """A NodeRails object of the node, with what an agent sees unless it is said otherwise."""
    found = NodeRails(name, **{"observed": seen(name), **fields})
    return noderails.document(found)


def restricted(name: str = "n1") -> dict[str, Any]:
    """The same, and the kubelet's policy."""
    return rails(name, kubelet=Kubelet("restricted", "pod"))


def slices(name: str = "n1") -> list[dict[str, Any]]:
    """The ResourceSlices of a p4d, as published for this node."""
    found = []
    for capture in ("gpu", "dranet"):
        whole = yaml.safe_load(captures.text(f"dra/p4d.24xlarge-{capture}.yaml"))
        for one in whole.get("items", [whole]):
            pool = {**one["spec"]["pool"], "name": name}
            found.append({**one, "spec": {**one["spec"], "nodeName": name, "pool": pool}})
    return found


def count(name: str = "n1", **attributes: str) -> dict[str, Any]:
    """A NodeResourceTopology of two NUMA nodes with two GPUs and two VFs each."""
    capacities = (("nvidia.com/gpu", 2), ("nvidia.com/rdma-vf", "2"), ("cpu", "64"))
    resources = [{"name": key, "capacity": value} for key, value in capacities]
    zones = [
        {"name": f"node-{number}", "type": "Node", "resources": resources} for number in range(2)
    ]
    listed = [{"name": key, "value": value} for key, value in attributes.items()]
    return {
        "kind": "NodeResourceTopology",
        "metadata": {"name": name},
        "attributes": listed,
        "zones": zones,
    }

"""NodeRails as a custom resource: what an admin knows of a node, and what the node agent saw."""

from collections.abc import Mapping
from typing import Any, Final

from podrail import schema
from podrail.crd import definition
from podrail.crd.definition import Kind
from podrail.evidence import noderails
from podrail.schema import Schema, validations

NODE_RAILS: Final = Kind(
    noderails.KIND,
    "noderails",
    "nr",
    (
        ("GPUs", "integer", ".status.summary.gpus"),
        ("Rails", "integer", ".status.summary.rails"),
        ("Policy", "string", ".status.kubelet.policy"),
        ("GPUDirect", "string", ".status.gpudirect.verdict"),
        ("Age", "date", ".metadata.creationTimestamp"),
    ),
)
_LISTS: Final = ("spec.override", "status")
"""Where devices and distances are listed, by the admin and by the agent."""

_LISTED: Final[Mapping[str, str]] = {
    "gpus": "The GPUs, in the order of nvidia-smi.",
    "gpus[].index": "The GPU's place in the list; absent: its place.",
    "gpus[].id": "The UUID, as the device plugin calls the GPU.",
    "gpus[].pci": "The PCI address, such as 0000:1a:00.0.",
    "gpus[].product": "The product, such as NVIDIA H100 80GB HBM3.",
    "gpus[].numa": "The NUMA node; absent or null: unknown.",
    "gpus[].healthy": "Whether the GPU can be used; absent: true.",
    "nics": "The RDMA devices; each has hca, netdev or pci, by which it is told.",
    "nics[].rail": "The rail that the NIC is on; absent or null: none is known.",
    "nics[].railSource": "Who says so; pci, the order of the addresses, is a guess.",
    "nics[].role": "What the NIC is for; absent: unknown.",
    "nics[].hca": "The RDMA device, such as mlx5_0.",
    "nics[].netdev": "The network interface on the host.",
    "nics[].pci": "The PCI address, such as 0000:18:00.0.",
    "nics[].numa": "The NUMA node; absent or null: unknown.",
    "nics[].linkLayer": "The link layer, such as InfiniBand or Ethernet.",
    "nics[].state": "The state of the port; absent: unknown.",
    "nics[].gbps": "The port's speed in Gb/s; absent or null: unknown.",
    "nics[].resource": "The extended resource that hands the NIC to pods.",
    "judgedBy": "What decides whether a pair is aligned: pcie, or numa on Grace; absent: pcie.",
    "tiers": "The distance of each GPU, a list, and each NIC in it; null: unknown.",
}
_OWN: Final[Mapping[str, str]] = {
    "spec": "What an admin knows better.",
    "spec.override": "Devices as they are: with tiers the whole node, without them corrections.",
    "status": "What the node agent saw; nobody else writes it.",
    "status.source": "Where the devices were read from, such as sysfs.",
    "status.observedAt": "When the agent last looked.",
    "status.bootID": "The boot of the node that it looked in.",
    "status.summary": "Counts of the lists below, for listings.",
    "status.summary.gpus": "How many GPUs there are.",
    "status.summary.rails": "How many rails there are.",
    "status.kubelet": "How the kubelet places devices.",
    "status.kubelet.policy": "Its topologyManagerPolicy.",
    "status.kubelet.scope": "Its topologyManagerScope.",
    "status.kubelet.options": "Its topologyManagerPolicyOptions, each as name=value.",
    "status.gpudirect": "Whether NICs reach GPU memory by themselves.",
    "status.gpudirect.verdict": "Measured, possible by what is loaded, or not.",
    "status.gpudirect.reasons": "What the verdict rests on.",
    "status.allocations": "The devices that containers hold, by the kubelet's PodResources.",
    "status.allocations[].resource": "The extended resource.",
    "status.allocations[].deviceID": "The device, as its plugin calls it.",
    "status.allocations[].namespace": "The pod's namespace.",
    "status.allocations[].pod": "The pod's name; PodResources has no UID.",
    "status.allocations[].container": "The container's name.",
    "status.host": "What the host gives its pods.",
    "status.host.rdmaNetns": "Whether RDMA devices are shared by network namespaces or exclusive.",
    "status.host.memlock": "How many bytes may be locked, or unlimited.",
    "status.host.gpuDriver": "The version of the GPU driver.",
    "status.host.ports": "What each RDMA device offers.",
    "status.host.ports[].hca": "The RDMA device, such as mlx5_0.",
    "status.host.ports[].gids": "Its kinds of GID, such as RoCE v2.",
    "status.host.ports[].vfs": "The PCI addresses of its virtual functions.",
    "status.host.netdevs": "How the interfaces that are up spread what they receive over CPUs.",
    "status.host.netdevs[].name": "The interface, such as eth0.",
    "status.host.netdevs[].queues": "How many receive queues it has.",
    "status.host.netdevs[].rps": "How many of them have CPUs in rps_cpus.",
    "status.host.netdevs[].rfs": "How many of them have flows in rps_flow_cnt.",
    "status.host.rpsSockFlowEntries": "The sysctl net.core.rps_sock_flow_entries; 0: RFS is off.",
    "status.troubles": "What is wrong with the node or its devices.",
    "status.troubles[].code": "What it is, in one word.",
    "status.troubles[].device": "The device; absent: the node as a whole.",
    "status.troubles[].message": "What it is, for people.",
}
SENTENCES: Final[Mapping[str, str]] = {
    **_OWN,
    **{f"{place}.{path}": text for place in _LISTS for path, text in _LISTED.items()},
}
"""What `kubectl explain` says of each field."""

_UNKNOWN: Final[Schema] = {"nullable": True}
_NULLS: Final = ("gpus[].numa", "nics[].rail", "nics[].numa", "nics[].gbps")
_PLACED: Final = "g.index < size(self.gpus) && self.gpus[g.index] == g"
_ONCE: Final = "self.gpus.exists_one(h, has(h.index) && h.index == g.index)"
_ROWS: Final = "has(self.gpus) && size(self.tiers) == size(self.gpus)"
_COLUMNS: Final = "self.tiers.all(row, size(row) == (has(self.nics) ? size(self.nics) : 0))"
_SAID: Final = " || ".join(f"self.?{key}.orValue('') != ''" for key in ("hca", "netdev", "pci"))
_DEVICES: Final = validations(
    (
        f"!has(self.gpus) || self.gpus.all(g, !has(g.index) || ({_PLACED} && {_ONCE}))",
        "expected each gpus[].index to be its place in the list",
        ".gpus",
    ),
    (
        f"!has(self.tiers) || size(self.tiers) == 0 || ({_ROWS})",
        "expected a row of tiers for each of gpus",
        ".tiers",
    ),
    (
        f"!has(self.tiers) || {_COLUMNS}",
        "expected a word or null for each of nics in each row of tiers",
        ".tiers",
    ),
)
RULES: Final[Mapping[str, Schema]] = {
    **dict.fromkeys(_LISTS, _DEVICES),
    **{f"{place}.nics[]": validations((_SAID, "expected hca, netdev or pci")) for place in _LISTS},
}
"""What no field says alone."""

FORMS: Final[Mapping[str, Schema]] = {
    "": {"description": "One node's GPUs, NICs and rails; its name is the node's."},
    "status.observedAt": {"format": "date-time"},
    **{f"{place}.{path}": _UNKNOWN for place in _LISTS for path in _NULLS},
}
"""What the reader takes beside the types of its questions, or leaves to the API server."""


def node_rails() -> dict[str, Any]:
    """The CustomResourceDefinition of NodeRails."""
    recorded = schema.of(noderails.fields)["properties"]
    name: Schema = {"type": "string", "maxLength": 253}
    found = definition.whole(recorded["spec"], recorded["status"], name)
    told = {path: {"description": sentence} for path, sentence in SENTENCES.items()}
    for more in (told, FORMS, RULES):
        found = schema.extended(found, more)
    return definition.of(NODE_RAILS, found)

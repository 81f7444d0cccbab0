"""A fabric as values: how its devices are handed to pods (design §4). `profile.read` makes them."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from podrail.nccl import settings as nccl
from podrail.selector import Selector


class Mode(StrEnum):
    """What the profile does to the pods that name it."""

    ENFORCE = "Enforce"
    OBSERVE = "Observe"
    SUSPENDED = "Suspended"


class Attachment(StrEnum):
    """How a pod gets to the fabric's devices."""

    SRIOV_VF = "SriovVF"
    SHARED_DEVICE = "SharedDevice"
    HOST_DEVICE = "HostDevice"
    IPOIB = "IPoIB"
    HOST_NETWORK = "HostNetwork"
    EFA = "EFA"
    ERDMA = "ERDMA"
    NONE = "None"
    DRA = "Dra"


class Dialect(StrEnum):
    """Whose annotation names the networks of a pod."""

    MULTUS = "Multus"
    GKE = "GKE"
    VOLCENGINE = "Volcengine"


class Requester(StrEnum):
    """Who writes the requests for the fabric's resources into the pod.

    INJECTOR is for clusters where network-resources-injector counts them out of the networks.
    """

    PODRAIL = "Podrail"
    INJECTOR = "Injector"


EXCLUSIVE: Final = frozenset({Attachment.SRIOV_VF, Attachment.HOST_DEVICE})
"""Attachments whose networks each take a counted device."""


class Per(StrEnum):
    """What a count is multiplied by."""

    RAIL = "Rail"
    GPU = "GPU"
    NODE = "Node"
    POD = "Pod"
    FIXED = "Fixed"


class Partial(StrEnum):
    """What a pod gets that asks for a part of a node's GPUs."""

    ALL_RAILS = "AllRails"
    SAME_NUMA = "SameNuma"
    PROPORTIONAL = "Proportional"
    DENY = "Deny"


class Verified(StrEnum):
    """How far a shipped profile has been tried."""

    HARDWARE = "hardware"
    NODE = "node"
    API = "api"
    DOCUMENT = "document"


@dataclass(frozen=True, slots=True)
class Rails:
    """The rails of a node of this fabric: how many, for how many GPUs, grouped by NUMA node."""

    count: int
    gpus: int
    numa_groups: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Network:
    """A network that pods are attached to; rail None is no single rail.

    A NetworkAttachmentDefinition, or where namespace is empty a network of the whole cluster.
    resource is the one of which each attachment takes a device; empty if it takes none.
    """

    namespace: str
    nad: str
    rail: int | None
    interface: str
    repeat: int
    cni_args: Mapping[str, Any] | None
    resource: str

    @property
    def name(self) -> str:
        """The network as namespace/name, or its name if it is one of the whole cluster."""
        return f"{self.namespace}/{self.nad}" if self.namespace else self.nad

    @property
    def interfaces(self) -> tuple[str, ...]:
        """The interface of each repetition: the name itself, or the name with its number from 0."""
        if self.repeat == 1:
            return (self.interface,)
        return tuple(f"{self.interface}{number}" for number in range(self.repeat))


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource, and how many of it a pod asks for; of huge pages how much, in size."""

    name: str
    rail: int | None
    per: Per
    value: int
    size: str = ""


@dataclass(frozen=True, slots=True)
class Late:
    """The value that a setting takes on nodes whose label has this value."""

    label: str
    equals: str
    value: str


@dataclass(frozen=True, slots=True)
class Setting:
    """A variable, its value on any node, its carrier, and its values on particular nodes."""

    name: str
    value: str
    carrier: nccl.Carrier
    late: tuple[Late, ...]

    def on(self, labels: Mapping[str, str]) -> str:
        """The value on a node with these labels; the first late value that matches wins."""
        for late in self.late:
            if labels.get(late.label) == late.equals:
                return late.value
        return self.value


@dataclass(frozen=True, slots=True)
class Extras:
    """What else a pod of this fabric needs; each only where the pod says nothing itself."""

    ipc_lock: bool
    shm_size: str
    node_selector: Mapping[str, str]
    scheduler_name: str
    dns_policy: str


@dataclass(frozen=True, slots=True)
class Group:
    """The GPUs and the NICs of one NUMA node, each as an expression about a device (CEL)."""

    gpu_selector: str
    nic_selector: str


@dataclass(frozen=True, slots=True)
class Claim:
    """How pods claim GPUs and NICs together (DRA): device classes, expressions, what binds them.

    match is the attribute that a GPU and its NICs share, empty for none; groups stand in for it
    where no attribute of a NIC is one of a GPU.
    """

    gpu_class: str
    gpu_selector: str
    nic_class: str
    nic_selector: str
    match: str
    groups: tuple[Group, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Profile:
    """One fabric. Two profiles are the same only if they are one object, so it can be a key."""

    name: str
    generation: int
    description: str
    verified: Verified
    mode: Mode
    namespaces: Selector
    gpu_resources: tuple[str, ...]
    attachment: Attachment
    dialect: Dialect
    rails: Rails
    networks: tuple[Network, ...]
    resources: tuple[Resource, ...]
    requested_by: Requester
    partial: Partial
    settings: tuple[Setting, ...]
    conf_file: str
    extras: Extras
    patience_seconds: int
    claim: Claim | None
    """None unless the attachment is Dra."""

    @property
    def ib_disabled(self) -> bool:
        """True if the profile turns RDMA off in NCCL."""
        return any(one.name == "NCCL_IB_DISABLE" and one.value == "1" for one in self.settings)

    @property
    def late_networks(self) -> bool:
        """True if the rails may still be chosen when the pod is bound.

        Only where no network has a device of its own: limits are fixed at admission (design §6).
        """
        return (
            self.dialect is Dialect.MULTUS
            and self.attachment in {Attachment.SHARED_DEVICE, Attachment.IPOIB}
            and any(network.rail is not None for network in self.networks)
            and all(resource.rail is None for resource in self.resources)
        )

"""The catalogue of reasons: what every code means, whom it concerns and what to do about it.

A code is part of the interface: it stands in markers, warnings, refusals, conditions and metrics,
and never changes its meaning. docs/user/reasons.md is made from here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Final


class Who(StrEnum):
    """Who can do something about it."""

    USER = "user"
    """The author of the pod."""
    ADMIN = "admin"
    """Whoever looks after the fabric's profiles, networks and nodes."""
    PODRAIL = "podrail"
    """Nobody, as a rule: podrail is not ready yet, or at fault."""


class Severity(StrEnum):
    """What becomes of the pod."""

    REFUSED = "refused"
    """The pod is not created."""
    SKIPPED = "skipped"
    """The pod is created without rails."""
    WARNING = "warning"
    """The pod gets its rails, or the profile is used, and something about it may go wrong."""
    NOTE = "note"
    """Only written down."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a code says: one sentence on what it means, one on what to do."""

    severity: Severity
    means: str
    remedy: str
    who: Who = Who.USER


_refused = partial(Meaning, Severity.REFUSED)
_skipped = partial(Meaning, Severity.SKIPPED)
_warning = partial(Meaning, Severity.WARNING)
_note = partial(Meaning, Severity.NOTE)
_of_profile = partial(Meaning, Severity.WARNING, who=Who.ADMIN)

_PODS: Final[Mapping[str, Meaning]] = {
    "MalformedNetworks": _refused(
        "The pod's annotation of networks cannot be read by the platform that it is for.",
        "Correct the element that the message names.",
    ),
    "MalformedPod": _refused(
        "A field of the pod has another type than core/v1 gives it.",
        "Correct the field that the message names.",
    ),
    "MalformedQuantity": _refused(
        "The count of a device is not a whole number.",
        "Write a whole number such as 8.",
    ),
    "RequestIsNotLimit": _refused(
        "A device is requested in another number than its limit.",
        "Make both the same, or leave the request out.",
    ),
    "NoSuchContainer": _refused(
        "The annotation podrail.dev/container names no container that asks for GPUs.",
        "Name a container with GPUs, or remove the annotation.",
    ),
    "SeveralGpuContainers": _refused(
        "Several containers ask for GPUs, and network devices belong to one container.",
        "Name the one that trains in the annotation podrail.dev/container.",
    ),
    "NoSuchRail": _refused(
        "The annotation podrail.dev/rails names rails that the fabric does not have.",
        "Name different rails of the fabric such as 0,1, or remove the annotation.",
    ),
    "PartOfANode": _refused(
        "The profile gives rails to pods with all GPUs of a node only.",
        "Ask for all GPUs of a node, or opt into another profile.",
    ),
    "ProfileNotForNamespace": _refused(
        "The profile's namespaceSelector leaves the pod's namespace out.",
        "Choose a profile for this namespace, or have the namespace labelled.",
    ),
    "UnknownProfile": _refused(
        "No profile has the name in the label; a pod without GPUs is let through without rails.",
        "Correct the label podrail.dev/fabric, or have the profile created.",
    ),
    "Suspended": _skipped(
        "The profile's mode is Suspended, so nobody gets rails from it.",
        "Set spec.mode of the profile to Enforce when the reason for it is gone.",
        who=Who.ADMIN,
    ),
    "Observed": _skipped(
        "The profile's mode is Observe, so it is only told what the pod would get.",
        "Set spec.mode of the profile to Enforce when pods are to get their rails.",
        who=Who.ADMIN,
    ),
    "MirrorPod": _skipped(
        "The pod is the kubelet's copy of a static pod, which cannot be changed.",
        "Create the pod through the API server if it is to have rails.",
    ),
    "NoGpu": _skipped(
        "No container asks for a GPU that the profile knows.",
        "Set the GPU in the limits of the container that trains; else there is nothing to do.",
    ),
    "ZeroRails": _skipped(
        "The container that has the GPUs asks for none of a resource of the fabric.",
        "Take the zero out if the pod is to have rails.",
    ),
    "FractionalGpu": _skipped(
        "The pod shares a GPU with others (HAMi, KAI), so no rail is its own.",
        "Ask for whole GPUs if the pod is to have rails.",
    ),
    "SharedGpu": _skipped(
        "The pod's GPU is time-sliced or under MPS, so no rail is its own.",
        "Ask for whole GPUs if the pod is to have rails.",
    ),
    "Mig": _skipped(
        "The pod asks for a MIG slice of a GPU, which has no rail of its own.",
        "Ask for whole GPUs if the pod is to have rails.",
    ),
    "DraNetworks": _skipped(
        "The pod claims its NICs itself, by dynamic resource allocation.",
        "Nothing, or remove the claim if podrail is to give the rails.",
    ),
    "MalformedGpus": _refused(
        "The annotation podrail.dev/gpus is no number of GPUs that a node has.",
        "Write a whole number such as 4.",
    ),
    "GpusAskedTwice": _refused(
        "The pod claims GPUs, and its limits ask for more of them.",
        "Remove the GPUs from the limits, or the annotation podrail.dev/gpus.",
    ),
    "GpusNotClaimed": _refused(
        "The limits ask for a part of a node's GPUs, which cannot be paired with claimed NICs.",
        "Write the annotation podrail.dev/gpus in place of the GPUs in the limits.",
    ),
    "RailsAreClaimed": _warning(
        "The pod names its rails, but which rails a claim gets is the scheduler's choice.",
        "Remove the annotation podrail.dev/rails.",
    ),
    "NotOnHostNetwork": _skipped(
        "The profile is for pods on the host's network, and this one is not.",
        "Set hostNetwork: true, or opt into another profile.",
    ),
    "NamespaceNotSeen": _skipped(
        "The namespace is so new that podrail does not know its labels yet.",
        "Create the pod again, or label the pod itself.",
        who=Who.PODRAIL,
    ),
    "HostNetwork": _warning(
        "The pod is on the host's network, where no networks can be attached.",
        "Remove hostNetwork, or opt into a profile for pods on the host's network.",
    ),
    "EmptyNetwork": _warning(
        "The pod's annotation has an element without a name, a network that nobody finds.",
        "Remove the needless comma or the empty element.",
    ),
    "NcclMisread": _warning(
        "NCCL, or a library beside it, reads a variable of the pod otherwise than it looks.",
        "Change the value as the message says, or remove the variable.",
    ),
    "EnvFromHidden": _warning(
        "Variables of the profile win over variables of the same name in the pod's envFrom.",
        "Write the variables that must win into env of the container.",
    ),
    "NcclConfTaken": _warning(
        "The pod has an nccl.conf of its own, so the profile's settings in a file are left out.",
        "Add the profile's settings to that file, or remove it.",
    ),
    "ImageConfHidden": _note(
        "The profile's nccl.conf is mounted over one that the image may have.",
        "Write what the image's file sets into env of the container, if it is needed.",
    ),
    "OtherScheduler": _warning(
        "The pod names a scheduler of its own choice, so podrail does not place it.",
        "Remove schedulerName, or accept the other scheduler's choice of nodes.",
    ),
    "IpcLockInert": _warning(
        "The container does not run as root, and then IPC_LOCK has no effect.",
        "Have the limit for locked memory (memlock) raised on the nodes, or run as root.",
    ),
    "IpcLockForbidden": _warning(
        "The namespace's Pod Security Standard forbids IPC_LOCK, so it is left out.",
        "Have memlock raised on the nodes, or the namespace's standard changed.",
    ),
    "HugepagesNeedMemory": _warning(
        "Huge pages are left out, since Kubernetes wants memory or CPU beside them.",
        "Ask for memory or CPU in the container.",
    ),
    "ProfileChangedMidJob": _warning(
        "Other pods of the job run with an earlier generation of the profile.",
        "Create the job again if its ranks disagree.",
    ),
    "PolicyDoesNotCoverRails": _warning(
        "A NetworkPolicy selects the pod, and it sees neither RDMA nor the rails' interfaces.",
        "Separate tenants by networks or partitions; do not count on the policy there.",
    ),
    "MeshSidecar": _warning(
        "A service mesh's sidecar may intercept the connections by which NCCL's ranks meet.",
        "Turn its injection off for the pod, or exclude the ports or interfaces of the job.",
    ),
}

_NETWORKS: Final[Mapping[str, Meaning]] = {
    "NadMissing": _of_profile(
        "A NetworkAttachmentDefinition that is named does not exist.",
        "Create it, or correct the name.",
    ),
    "NadUnreachable": _of_profile(
        "Multus isolates namespaces, so pods elsewhere cannot use the network.",
        "Move it to a namespace that is open to all, or open its own.",
    ),
    "NadMalformed": _of_profile(
        "The configuration in a NetworkAttachmentDefinition cannot be used.",
        "Correct what the message names.",
    ),
    "ResourceMismatch": _of_profile(
        "The network takes its device from another resource than the profile counts for it.",
        "Make the NAD's resourceName and the profile's resource the same.",
    ),
    "ResourceNotAdvertised": _of_profile(
        "No node has the resource, so no pod that asks for it can start.",
        "Look at the device plugin, or correct the resource's name.",
    ),
    "NobodyPlaces": _of_profile(
        "The profile names a scheduler for its pods, and none is installed that asks the extender.",
        "Install podrail's scheduler, or take schedulerName out of the profile.",
    ),
    "RdmaPluginMissing": _of_profile(
        "The network of a VF does not move its RDMA device into the pod.",
        "Add the rdma plugin to the NAD's chain.",
    ),
    "HostLocalPool": _of_profile(
        "host-local counts on each node by itself, so two pods get the same address.",
        "Use whereabouts, nv-ipam or another IPAM of the whole cluster.",
    ),
    "SubnetTooSmall": _of_profile(
        "The network has fewer addresses than the pods' interfaces may take.",
        "Enlarge its range.",
    ),
    "SameSubnetNoArp": _of_profile(
        "Several rails are in one subnet, and any of them answers ARP for all.",
        "Chain tuning (arp_announce 2, arp_ignore 1) or sbr, or give each rail a subnet.",
    ),
    "TwoDefaultRoutes": _of_profile(
        "A network adds a default route beside the pod network's, which can break DNS.",
        "Take the default route out of the NAD, or chain sbr.",
    ),
    "MtuDiffers": _of_profile(
        "The rails do not all have the same MTU.",
        "Make them equal, and equal to the switches'.",
    ),
    "OverlayPodNetwork": _of_profile(
        "NCCL's traffic goes through an overlay of the pod network, which is slow.",
        "Attach a network without one, and set its MTU with the overlay's header in mind.",
    ),
}

CATALOGUE: Final[Mapping[str, Meaning]] = {**_PODS, **_NETWORKS}
"""Every reason by its code."""


def table() -> str:
    """The catalogue as a table in Markdown, by severity and then by code."""
    order = list(Severity)
    listed = sorted(CATALOGUE.items(), key=lambda item: (order.index(item[1].severity), item[0]))
    lines = [
        "| Code | What becomes of the pod | Who | Meaning | What to do |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| `{code}` | {one.severity} | {one.who} | {one.means} | {one.remedy} |"
        for code, one in listed
    ]
    return "\n".join(lines) + "\n"

"""How pods get to the fabric of a kind of machine: attachment, rails, networks, resources."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from podrail.discovery import line, multus
from podrail.discovery.line import Line
from podrail.discovery.scene import GKE, Scene
from podrail.dra.terms import PCIE_ROOT
from podrail.evidence import slices
from podrail.fabric import Attachment, Dialect, Partial, Requester
from podrail.topology import Confidence, Topology

EFA: Final = "vpc.amazonaws.com/efa"
ERDMA: Final = "aliyun/erdma"
VOLCENGINE: Final = "vke.volcengine.com/rdma"
_INFINIBAND: Final = frozenset({"aks", "coreweave"})
"""Platforms whose counted devices are InfiniBand's, which needs no network."""
_SHARING: Final = frozenset({"macvlan", "ipvlan", "ipoib"})
_RDMA: Final = 'device.attributes["dra.net"].?rdma.orValue(false)'
_HUGE_PAGES: Final = "5120Mi"
"""What AWS's samples ask for (awsome-distributed-training, 2026)."""


def lines(scene: Scene) -> tuple[Line, ...]:
    """The lines about devices; the way that the platform itself prescribes comes first."""
    counts = scene.machine.counts
    for resource, way in _PRESCRIBED.items():
        if resource in counts:
            return tuple(way(scene))
    if scene.platform_networks or any(name.startswith(GKE) for name in counts):
        return tuple(_gke(scene))
    if scene.series and not _is_apart(scene):
        return tuple(multus.lines(scene, scene.series[0]))
    if counts:
        return tuple(_bare(scene))
    offered = scene.machine.claimed
    return tuple(_nothing(scene) if offered is None else _claims(offered))


def _is_apart(scene: Scene) -> bool:
    """True if the one network there is has hardly to do with the devices: storage, mostly.

    It shares a port and names no resource, while the devices are the pod's own or InfiniBand's.
    """
    first = scene.series[0]
    if first.single is None or first.resources or not first.types & _SHARING:
        return False
    owned = [scene.owned(name) for name in scene.machine.counts]
    bare = scene.machine.platform in _INFINIBAND or not all(one.shared for one in owned)
    return bool(owned) and bare


def _efa(scene: Scene) -> Iterator[Line]:
    machine, count = scene.machine, scene.machine.counts[EFA]
    yield line.attachment(Attachment.EFA, Confidence.HIGH, f"nodes give {EFA}")
    yield line.rails(min(count, machine.gpus), f"{count} EFA devices for {machine.gpus} GPUs")
    question = (
        "Where card 0 carries the node's address the plugin gives one less on some nodes: a fixed "
        "count is then never met there."
    )
    value = line.counted(EFA, "Node", count)
    yield line.resource(value, f"nodes give {count}", question)
    if machine.huge:
        value = line.counted("hugepages-2Mi", "Pod", _HUGE_PAGES)
        yield line.resource(value, "libfabric's EFA provider uses them")
    yield line.partial(Partial.PROPORTIONAL)


def _erdma(_scene: Scene) -> Iterator[Line]:
    yield line.attachment(Attachment.ERDMA, Confidence.HIGH, f"nodes give {ERDMA}")
    value = line.counted(ERDMA, "Pod", 1)
    yield line.resource(value, "one token for each pod, says Alibaba's controller")
    yield line.partial(Partial.ALL_RAILS)


def _volcengine(scene: Scene) -> Iterator[Line]:
    count = scene.machine.counts[VOLCENGINE]
    because = f"nodes give {count} of {VOLCENGINE}"
    yield line.attachment(Attachment.HOST_DEVICE, Confidence.HIGH, because)
    yield Line(
        "dialect", Dialect.VOLCENGINE.value, Confidence.HIGH, "VKE has an annotation of its own"
    )
    yield line.rails(count, because)
    network = {"name": "rdma", "repeat": count, "resource": VOLCENGINE}
    yield Line("networks", network, Confidence.HIGH, "one network repeated, as in VKE's samples")
    asked = ("GPU", 1) if count == scene.machine.gpus else ("Node", count)
    yield line.resource(line.counted(VOLCENGINE, *asked), because)
    yield line.partial(Partial.PROPORTIONAL)


def _gke(scene: Scene) -> Iterator[Line]:
    """eth1 and on are GKE's networks in order, those without RDMA first, as in its samples."""
    counted = (one.removeprefix(GKE) for one in scene.machine.counts if one.startswith(GKE))
    named = sorted({*scene.platform_networks, *counted} - {"default"}, key=_by_number)
    rdma = [one for one in named if "rdma" in one]
    others = [one for one in named if one not in rdma]
    yield line.attachment(
        Attachment.HOST_DEVICE, Confidence.HIGH, f"GKE has {len(named)} further networks"
    )
    yield Line("dialect", Dialect.GKE.value, Confidence.HIGH, "Multus is not used on GKE")
    yield line.rails(len(rdma), f"{len(rdma)} networks with rdma in their names")
    for number, name in enumerate(others, 1):
        question = "Do training pods need this network?"
        value = {"name": name, "interface": f"eth{number}"}
        yield Line("networks", value, Confidence.MEDIUM, f"network {name}", question)
    for rail, name in enumerate(rdma):
        network = {"name": name, "rail": rail, "interface": f"eth{len(others) + 1 + rail}"}
        yield Line("networks", network, Confidence.HIGH, f"network {name}")
    for rail, name in enumerate(rdma):
        resource = {"name": f"{GKE}{name}", "rail": rail}
        yield Line("resources", resource, Confidence.MEDIUM, "GKE counts each network")
    added = "Google's samples have no requests for them: GKE adds them itself"
    yield Line("requestedBy", Requester.INJECTOR.value, Confidence.MEDIUM, added)
    yield line.partial(Partial.SAME_NUMA)


def _bare(scene: Scene) -> Iterator[Line]:
    """Devices without networks: InfiniBand, which needs no addresses."""
    found = {name: scene.owned(name) for name in scene.machine.counts}
    name, owned = next(iter(found.items()))
    many = len(found)
    how = Attachment.SHARED_DEVICE if owned.shared else Attachment.SRIOV_VF
    question = owned.question or (
        ""
        if scene.machine.platform in _INFINIBAND
        else "Is this InfiniBand? RoCE needs a network with an address for each rail, and there is "
        "no NetworkAttachmentDefinition for it."
    )
    yield line.attachment(how, owned.confidence, owned.because, question)
    if many > 1:
        yield line.rails(many, f"{many} resources of NICs", Confidence.LOW)
        for rail, one in enumerate(found):
            value = {"name": one, "rail": rail}
            yield Line(
                "resources", value, Confidence.LOW, "by name", "Is this the order of the rails?"
            )
        yield line.partial(Partial.ALL_RAILS if owned.shared else Partial.SAME_NUMA)
        return
    count, gpus = scene.machine.counts[name], scene.machine.gpus
    yield line.rails(gpus if owned.shared else min(count, gpus), f"{gpus} GPUs", Confidence.MEDIUM)
    asked = ("GPU", 1) if count == gpus else ("Node", count)
    value = line.counted(name, *(("Pod", 1) if owned.shared else asked))
    yield Line("resources", value, owned.confidence, owned.because)
    yield line.partial(Partial.ALL_RAILS if owned.shared else Partial.PROPORTIONAL)


def _claims(offered: Topology) -> Iterator[Line]:
    """GPUs and NICs that pods claim together, where a PCIe root tells which belong together."""
    drivers = f"ResourceSlices of {slices.GPU_DRIVER} and {slices.NIC_DRIVER}"
    if not offered.groups:
        question = "Begin with podrail profiles dra-gb200, whose groups stand in for a shared root."
        told = f"{drivers}, whose devices share no PCIe root"
        yield line.attachment(Attachment.NONE, Confidence.LOW, told, question)
        return
    yield line.attachment(Attachment.DRA, Confidence.HIGH, drivers)
    yield line.rails(len(offered.nics), f"{len(offered.nics)} NICs in them")
    own, usual = (
        "the driver's own class",
        "Which class do kubectl get deviceclasses and its file say?",
    )
    yield Line("claim.gpuDeviceClass", slices.GPU_DRIVER, Confidence.MEDIUM, own)
    yield Line(
        "claim.nicDeviceClass", "dranet.net", Confidence.LOW, "as in dranet's examples", usual
    )
    yield Line("claim.nicSelector", _RDMA, Confidence.MEDIUM, "the pod network's NIC has no RDMA")
    yield Line("claim.match", PCIE_ROOT, Confidence.HIGH, "GPUs and NICs have roots in common")


def _nothing(scene: Scene) -> Iterator[Line]:
    """No resource and no network: the host's devices, the runtime's, or no RDMA at all."""
    word, gpus = scene.machine.platform, scene.machine.gpus
    if word == "oke":
        question = "Are pods to use the host's network, or is the SR-IOV operator still to come?"
        because = "Oracle's machines have RDMA, and nothing hands it to pods"
        yield line.attachment(Attachment.HOST_NETWORK, Confidence.LOW, because, question)
    elif word == "nebius":
        question = "Do pods run privileged? Only then does the runtime give them the devices."
        because = "on Nebius the runtime gives the devices"
        yield line.attachment(Attachment.SHARED_DEVICE, Confidence.LOW, because, question)
    else:
        because = "no node gives NICs, and no network is for them"
        question = "Are there NICs for training at all? Then a device plugin is missing."
        yield line.attachment(Attachment.NONE, Confidence.LOW, because, question)
        return
    yield line.rails(gpus, f"{gpus} GPUs", Confidence.LOW, "How many rails does a node have?")
    yield line.partial(Partial.ALL_RAILS)


def _by_number(name: str) -> tuple[str, int]:
    stem = name.rstrip("0123456789")
    return stem, int(name[len(stem) :] or 0)


_PRESCRIBED: Final[Mapping[str, Callable[[Scene], Iterator[Line]]]] = {
    EFA: _efa,
    ERDMA: _erdma,
    VOLCENGINE: _volcengine,
}
"""The ways of platforms that name their resource for everybody."""

"""The lines about devices where NetworkAttachmentDefinitions lead to the rails."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from podrail.discovery import line
from podrail.discovery.line import Line
from podrail.discovery.scene import Scene
from podrail.discovery.series import Railed, Series
from podrail.fabric import Attachment, Partial
from podrail.multus.conflist import SRIOV
from podrail.multus.nad import Nad
from podrail.topology import Confidence

ATTACHMENTS: Final[Mapping[str, Attachment]] = {
    **dict.fromkeys(SRIOV, Attachment.SRIOV_VF),
    "multi-nic": Attachment.SRIOV_VF,
    "ovs": Attachment.SRIOV_VF,
    "host-device": Attachment.HOST_DEVICE,
    "amd-host-device": Attachment.HOST_DEVICE,
    "ipoib": Attachment.IPOIB,
    "macvlan": Attachment.SHARED_DEVICE,
    "ipvlan": Attachment.SHARED_DEVICE,
}
"""What a plugin that makes the interface means for the pod."""
_OWN: Final = frozenset({Attachment.SRIOV_VF, Attachment.HOST_DEVICE})
_MANY_NICS: Final = "multi-nic"
_STEMS: Final[Mapping[Attachment, str]] = {
    Attachment.SRIOV_VF: "vf",
    Attachment.HOST_DEVICE: "hostdev",
    Attachment.IPOIB: "ipoib",
}
_MOST_EACH: Final = 2
"""VFs for a GPU beyond which a pool's size is no number to attach to one pod."""


def plugin(series: Series) -> str:
    """The plugin of the chain that makes the interface; empty if none is known."""
    return next((kind for kind in ATTACHMENTS if kind in series.types), "")


def lines(scene: Scene, series: Series) -> Iterator[Line]:
    """The lines for the pods of one series of networks."""
    kind = plugin(series)
    how = ATTACHMENTS.get(kind, Attachment.SRIOV_VF)
    chain = ", ".join(sorted(series.types)) or "a file on the node"
    sure = Confidence.HIGH if kind else Confidence.LOW
    question = "" if kind else "What kind of device do these networks give to pods?"
    yield Line("attachment", how.value, sure, f"the networks' plugins: {chain}", question)
    if series.single is not None:
        yield from _single(scene, series, how)
    elif how in _OWN:
        yield from _own(scene, series)
    else:
        yield from _shared(scene, series)


def _own(scene: Scene, series: Series) -> Iterator[Line]:
    """Every network takes a device: of its own resource, or all of one pool."""
    pooled = len(series.resources) == 1
    yield from _networks(series, own=True, named=pooled or series.planes > 1)
    for one in series.networks:
        if one.nad.resource and not pooled:
            yield _of_rail(scene, series, one)
    if pooled:
        value = line.counted(series.resources[0], "Rail", series.planes)
        yield line.resource(value, "every network takes a device of it")
    yield line.partial(Partial.PROPORTIONAL if pooled else Partial.SAME_NUMA)


def _shared(scene: Scene, series: Series) -> Iterator[Line]:
    """Networks beside shared devices: one token for all of them, or one for each rail."""
    yield from _networks(series, own=False, named=False)
    own = series.resources
    if own:
        for one in series.networks:
            if one.nad.resource:
                yield _of_rail(scene, series, one)
    else:
        yield from _tokens(scene, series.rails)
    yield line.partial(Partial.ALL_RAILS)


def _tokens(scene: Scene, rails: int) -> Iterator[Line]:
    """The shared resources of the nodes, of which no network speaks."""
    found = {name: scene.owned(name) for name in scene.machine.counts}
    if len(found) == rails > 1:
        for rail, name in enumerate(found):
            question = "Is this the order of the rails?"
            value = {"name": name, "rail": rail}
            yield Line("resources", value, Confidence.LOW, "one for each network", question)
        return
    per_gpu = scene.machine.platform == "akash"
    for name, owned in found.items():
        question = "" if owned.shared else owned.question
        if len(found) > 1:
            question = "Does a pod need each of these resources?"
        value = line.counted(name, "GPU" if per_gpu else "Pod", 1)
        yield Line("resources", value, owned.confidence, owned.because, question)


def _single(scene: Scene, series: Series, how: Attachment) -> Iterator[Line]:
    """One network: repeated over a pool, with many NICs of its own, or beside a shared device."""
    (one,) = series.networks
    nad = one.nad
    if how in _OWN and nad.resource and plugin(series) != _MANY_NICS:
        yield from _pool(scene, one, how)
        return
    stem = _STEMS.get(how, "rail")
    if plugin(series) == _MANY_NICS:
        name, count = next(iter(scene.machine.counts.items()), ("", 1))
        yield line.rails(count, f"the node gives {count} of {name or 'no resource'}")
        network: dict[str, Any] = {"name": nad.key, "interface": "nic"}
        yield Line("networks", network, Confidence.HIGH, "it attaches all NICs of the node's group")
        if name:
            yield line.resource(line.counted(name, "Node", count), f"a node gives {count}")
    else:
        yield line.rails(1, series.because)
        question = "Is this the network of the training traffic, or another one?"
        if how in _OWN:
            question = _starved(nad)
        # Sockets over an IPoIB network are no rail: NCCL opens them beside or instead of RDMA.
        of_rail = {"rail": 0} if scene.machine.counts else {}
        network = {"name": nad.key, **of_rail, "interface": f"{stem}0"}
        yield Line("networks", network, Confidence.MEDIUM, series.because, question)
        yield from _tokens(scene, 1)
    yield line.partial(Partial.ALL_RAILS)


def _pool(scene: Scene, one: Railed, how: Attachment) -> Iterator[Line]:
    nad, resource, gpus = one.nad, one.nad.resource, scene.machine.gpus
    count, sure, because, question = _devices(scene, resource)
    yield line.rails(min(count, gpus), because, sure, question)
    network: dict[str, Any] = {
        "name": nad.key,
        "interface": _STEMS[how],
        "repeat": count,
        "resource": resource,
    }
    yield Line("networks", network, sure, "one network repeated, one device each", question)
    asked = ("GPU", 1) if count == gpus else ("Node", count)
    value = line.counted(resource, *asked)
    yield Line("resources", value, sure, f"{nad.key} takes a device of it", question)
    yield line.partial(Partial.PROPORTIONAL)


def _devices(scene: Scene, resource: str) -> tuple[int, Confidence, str, str]:
    """How many devices of a pool a pod with the whole node takes."""
    given, gpus = scene.machine.counts[resource], scene.machine.gpus
    topology, pool = scene.machine.topology, scene.pool(resource)
    nics = len(pool.ports) if pool is not None else 0
    nics = nics or len([nic for nic in topology.nics if nic.rail is not None] if topology else ())
    if nics and given != nics and given % nics == 0:
        told = f"{given} VFs on {nics} NICs: one of each NIC"
        return nics, Confidence.MEDIUM, told, "Is one VF of each NIC what a pod is to get?"
    if given <= _MOST_EACH * gpus:
        return given, Confidence.HIGH, f"a node gives {given} of {resource}", ""
    question = f"How many NICs are behind the {given} of {resource}?"
    return gpus, Confidence.LOW, f"one for each of {gpus} GPUs", question


def _networks(series: Series, *, own: bool, named: bool) -> Iterator[Line]:
    yield line.rails(series.rails, series.because, series.confidence, series.question)
    for one in series.networks:
        interface = f"r{one.rail}p{one.plane}" if series.planes > 1 else f"rail{one.rail}"
        value: dict[str, Any] = {"name": one.nad.key, "rail": one.rail, "interface": interface}
        if named and one.nad.resource:
            value["resource"] = one.nad.resource
        question = _starved(one.nad) if own and not one.nad.resource else ""
        yield Line("networks", value, series.confidence, f"network {one.nad.key}", question)


def _of_rail(scene: Scene, series: Series, one: Railed) -> Line:
    resource = one.nad.resource
    absent = f"No node gives {resource} now: look at its device plugin."
    question = "" if resource in scene.machine.counts else absent
    value = {"name": resource, "rail": one.rail}
    because = f"{one.nad.key} takes a device of it"
    return Line("resources", value, series.confidence, because, question)


def _starved(nad: Nad) -> str:
    return (
        f"{nad.key} has no annotation for its resource, so its plugin gets no device: which "
        "resource is it?"
    )

"""What is wrong with the networks of a profile, or with those of a pod.

check is for conditions of a profile, warnings for a new pod and cheap. A rule looks at the whole
scene and yields reasons; each names the object, what was found there and what to do. The codes are
told in docs/user/nad-lint.md.
"""

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from typing import Any, Final

from podrail import fleet
from podrail import pod as pods
from podrail.fabric import Attachment, Dialect, Profile, Requester
from podrail.marker import Reason
from podrail.multus import networks, subnets
from podrail.multus.conflist import SRIOV
from podrail.multus.nad import OPEN, Isolation, Nad
from podrail.multus.scene import Scene, Use
from podrail.names import NETWORKS
from podrail.pod import Pod

CODES: Final = (
    "HostLocalPool",
    "MtuDiffers",
    "NadMalformed",
    "NadMissing",
    "NadUnreachable",
    "NobodyPlaces",
    "OverlayPodNetwork",
    "RdmaPluginMissing",
    "ResourceMismatch",
    "ResourceNotAdvertised",
    "SameSubnetNoArp",
    "SubnetTooSmall",
    "TwoDefaultRoutes",
)
"""Every code that is found here."""
_DEFAULT_NETWORK: Final = "v1.multus-cni.io/default-network"
_MULTUS_NAMESPACE: Final = "kube-system"
"""Where Multus looks for a default network without a namespace (multus-cni v4.3, by default)."""


def check(
    profile: Profile,
    nads: Mapping[str, Nad],
    nodes: Iterable[Mapping[str, Any]],
    isolation: Isolation = OPEN,
    *,
    placed: bool = True,
) -> tuple[Reason, ...]:
    """Every reason, in the order of the rules; nads by namespace/name, nodes as documents.

    placed says whether a scheduler asks the extender.
    """
    of_rail: dict[int | None, str] = {
        one.rail: one.name for one in profile.resources if one.rail is not None
    }
    uses = tuple(
        Use(
            f"spec.networks[{index}]",
            network,
            nad,
            network.resource or of_rail.get(network.rail, ""),
        )
        for index, network in enumerate(profile.networks)
        if (nad := nads.get(network.name)) is not None
    )
    found = fleet.of(profile, nodes, {use.nad.resource for use in uses if use.nad.resource})
    scene = Scene(profile, nads, isolation, uses, found)
    scheduler = profile.extras.scheduler_name
    alone = () if placed or not scheduler else (_nobody_places(scheduler),)
    return (*alone, *(reason for rule in _RULES for reason in rule(scene)))


def _nobody_places(scheduler: str) -> Reason:
    message = f"no scheduler asks the extender, so pods would wait for {scheduler!r}: take it out"
    return Reason("NobodyPlaces", "spec.extras.schedulerName", message)


def warnings(
    pod: Pod, profile: Profile, nads: Mapping[str, Nad], isolation: Isolation = OPEN
) -> tuple[Reason, ...]:
    """What Multus will not do for the networks that a pod has after injection.

    Raises:
        PodError: Multus would refuse an annotation.
    """
    if profile.dialect is not Dialect.MULTUS:
        return ()
    asked = _asked(pod)
    found: list[Reason] = []
    for index, name in enumerate(_named(pod, NETWORKS, pod.namespace)):
        nad = nads.get(name)
        if nad is not None and profile.requested_by is Requester.INJECTOR:
            # The injector asks for the resource of each network, perhaps after podrail.
            asked.add(nad.resource)
        hidden = nad is not None and isolation.hides(nad.namespace, pod.namespace)
        wrong = _unusable(name, nad, asked, hidden=hidden)
        if wrong:
            code, message = wrong
            found.append(Reason(code, f"metadata.annotations['{NETWORKS}'][{index}]", message))
    return (*found, *_default_network(pod, nads))


def _default_network(pod: Pod, nads: Mapping[str, Nad]) -> Iterator[Reason]:
    if _DEFAULT_NETWORK not in pod.annotations:
        return
    for name in _named(pod, _DEFAULT_NETWORK, _MULTUS_NAMESPACE):
        if name not in nads:
            path = f"metadata.annotations['{_DEFAULT_NETWORK}']"
            yield Reason("NadMissing", path, _nowhere(name))


def _unusable(
    name: str, nad: Nad | None, asked: Container[str], *, hidden: bool
) -> tuple[str, str] | None:
    """The code and the message of why a pod cannot use a network; None if it can."""
    if nad is None:
        return "NadMissing", _nowhere(name)
    if hidden:
        return "NadUnreachable", f"Multus isolates namespaces: this one cannot use {name}"
    starved = nad.starved(asked)
    return ("ResourceMismatch", f"{name} {starved}") if starved else None


def _named(pod: Pod, annotation: str, namespace: str) -> list[str]:
    """The networks that an annotation names, as namespace/name."""
    elements = networks.parse(pod.annotations.get(annotation, "")).elements
    return [element.network(namespace) for element in elements]


def _nowhere(name: str) -> str:
    return f"there is no NetworkAttachmentDefinition {name}: create it, or correct the name"


def _asked(pod: Pod) -> set[str]:
    """The resources that the containers which run together ask for."""
    return {name for container in pod.running for name in pods.limits(container)}


def _missing(scene: Scene) -> Iterator[Reason]:
    for index, network in enumerate(scene.profile.networks):
        path = f"spec.networks[{index}].name"
        # A network without a namespace is no NAD but one of the platform's own.
        if network.namespace and network.name not in scene.nads:
            yield Reason("NadMissing", path, _nowhere(network.name))
        elif network.namespace and scene.isolation.hides(network.namespace, ""):
            message = (
                f"Multus isolates namespaces: only pods of {network.namespace} can use "
                f"{network.name}; move it to {' or '.join(sorted(scene.isolation.open_to_all))}, "
                "or add its namespace to globalNamespaces of Multus"
            )
            yield Reason("NadUnreachable", path, message)


def _malformed(scene: Scene) -> Iterator[Reason]:
    for use in scene.distinct:
        for problem in use.nad.problems[:4]:
            yield Reason("NadMalformed", use.path, f"{use.nad.key}: {problem}")


def _mismatched(scene: Scene) -> Iterator[Reason]:
    asked = {resource.name for resource in scene.profile.resources}
    if scene.profile.requested_by is Requester.INJECTOR:
        asked.update(use.nad.resource for use in scene.uses)
    for use in scene.uses:
        starved = use.nad.starved(asked)
        if starved:
            message = f"{use.nad.key} {starved}: list the resource in spec.resources of the profile"
            yield Reason("ResourceMismatch", use.path, message)
        elif use.nad.resource and use.resource and use.nad.resource != use.resource:
            message = (
                f"{use.nad.key} takes a device of {use.nad.resource}, the profile counts "
                f"{use.resource} for it: make them the same"
            )
            yield Reason("ResourceMismatch", use.path, message)


def _unadvertised(scene: Scene) -> Iterator[Reason]:
    gpus = " or ".join(scene.profile.gpu_resources)
    for index, resource in enumerate(scene.profile.resources):
        if not scene.fleet.total(resource.name):
            message = (
                f"none of the {len(scene.fleet.machines)} nodes with {gpus} has {resource.name} "
                "allocatable: look at its device plugin, or correct the name"
            )
            yield Reason("ResourceNotAdvertised", f"spec.resources[{index}].name", message)


def _rdma(scene: Scene) -> Iterator[Reason]:
    if scene.profile.attachment is not Attachment.SRIOV_VF or scene.profile.ib_disabled:
        return
    for use in scene.distinct:
        if SRIOV.intersection(use.nad.config.types) and not use.nad.config.isolates_rdma:
            message = (
                f"{use.nad.key} chains {', '.join(use.nad.config.types)}: add rdma, or the VF's "
                "RDMA device stays on the host where the RDMA subsystem is exclusive, and where it "
                "is shared every pod sees every device"
            )
            yield Reason("RdmaPluginMissing", use.path, message)


def _overlay(scene: Scene) -> Iterator[Reason]:
    profile = scene.profile
    plain = profile.attachment is Attachment.NONE and not profile.networks
    if not plain or (profile.resources and not scene.profile.ib_disabled):
        return
    found = Counter(machine.overlay for machine in scene.fleet.machines if machine.overlay)
    for overlay, count in found.items():
        message = (
            f"{count} of {len(scene.fleet.machines)} nodes carry the pod network in "
            f"{overlay.name}, which takes {overlay.cost} bytes of each packet: give pods the NIC's "
            f"MTU less {overlay.cost}, and prefer native routing or a network beside it"
        )
        yield Reason("OverlayPodNetwork", "spec.attachment", message)


_RULES: Final[tuple[Callable[[Scene], Iterator[Reason]], ...]] = (
    _missing,
    _malformed,
    _mismatched,
    _unadvertised,
    *subnets.RULES,
    _rdma,
    _overlay,
)

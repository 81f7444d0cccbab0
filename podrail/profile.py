"""Reads a FabricProfile document (a file or a custom resource) into a Profile that cannot be wrong.

Every problem is reported with its field path, all at once (design §4).
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from podrail.dra import terms
from podrail.errors import Problem
from podrail.fabric import (
    Attachment,
    Dialect,
    Extras,
    Late,
    Mode,
    Network,
    Partial,
    Per,
    Profile,
    Rails,
    Requester,
    Resource,
    Setting,
    Verified,
)
from podrail.names import INSTANCE_TYPE
from podrail.nccl import settings as nccl
from podrail.reading import Reader
from podrail.selector import Selector

API_VERSION: Final = "podrail.dev/v1alpha1"
KIND: Final = "FabricProfile"
MOST_RAILS: Final = 64
MOST_DEVICES: Final = 1024
IFNAME_LENGTH: Final = 15

_LABEL: Final = r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
NAME: Final = re.compile(_LABEL)
# Multus wants DNS-1123 labels in the short form only; here one grammar serves both forms.
_NETWORK: Final = re.compile(rf"({_LABEL}/)?{_LABEL}")
# IFNAMSIZ leaves 15 characters.
_INTERFACE: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9_.-]{0,14}")
TAKEN: Final = re.compile(r"lo|eth0|net[0-9]+")
"""The interface names that the pod network and Multus itself give."""
_RESOURCE: Final = re.compile(
    r"[a-z0-9]([-a-z0-9.]{0,200}[a-z0-9])?/[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?"
)
_COUNTED: Final = re.compile(rf"{_RESOURCE.pattern}|hugepages-(2Mi|1Gi)")
_SIZE: Final = re.compile(r"[1-9][0-9]{0,8}(Mi|Gi)")
_FILE: Final = re.compile(r"(/[A-Za-z0-9_.-]{1,100}){1,8}")


def read(document: object) -> Profile:
    """The profile that a FabricProfile document describes.

    Raises:
        MalformedError: with every problem, each with its field path.
    """
    return take(Reader.of(document, ""))


def take(top: Reader) -> Profile:
    """The profile that a reader's document describes; raises as `read` does."""
    if top.text("apiVersion") != API_VERSION:
        top.wrong("apiVersion", f"expected {API_VERSION}")
    if top.text("kind") != KIND:
        top.wrong("kind", f"expected {KIND}")
    metadata = top.part("metadata")
    name = metadata.text("name", pattern=NAME, limit=63)
    if not name or name == "none":
        metadata.wrong("name", "expected a DNS-1123 label of 1-63 characters other than none")
    top.raw("status")
    spec = top.part("spec")
    attachment = spec.choice("attachment", Attachment.NONE)
    profile = Profile(
        name=name,
        generation=metadata.integer("generation", 1, 1, 2**53),
        description=spec.text("description", limit=500),
        verified=spec.choice("verified", Verified.DOCUMENT),
        mode=spec.choice("mode", Mode.ENFORCE),
        namespaces=Selector.read(spec.part("namespaceSelector")),
        gpu_resources=spec.texts("gpuResources", 8, _RESOURCE) or ("nvidia.com/gpu",),
        attachment=attachment,
        dialect=spec.choice("dialect", Dialect.MULTUS),
        rails=_rails(spec.part("rails")),
        networks=tuple(_network(part) for part in spec.parts("networks", MOST_RAILS)),
        resources=tuple(_resource(part) for part in spec.parts("resources", MOST_RAILS)),
        requested_by=spec.choice("requestedBy", Requester.PODRAIL),
        partial=spec.choice("partial", Partial.ALL_RAILS),
        settings=tuple(_setting(part) for part in spec.parts("settings", 64)),
        conf_file=spec.text("confFile", nccl.CONF_PATH, _FILE),
        extras=_extras(spec.part("extras")),
        patience_seconds=spec.integer("patienceSeconds", 0, 0, 86_400),
        claim=terms.read(spec.part("claim"), attachment),
    )
    _check_whole(spec, profile)
    spec.close()
    top.close()
    top.finish(f"FabricProfile {name or '(unnamed)'}")
    return profile


def _rails(part: Reader) -> Rails:
    count = part.integer("count", 0, 0, MOST_RAILS)
    gpus = part.integer("gpus", count or 8, 1, 64)
    groups = part.number_lists("numaGroups", 16, MOST_RAILS, MOST_RAILS - 1)
    named = [rail for group in groups for rail in group]
    if groups and sorted(named) != list(range(count)):
        part.wrong("numaGroups", f"expected each rail from 0 to {count - 1} in exactly one group")
    part.close()
    return Rails(count, gpus, groups or (tuple(range(count)),))


def _rail(part: Reader) -> int | None:
    return None if part.raw("rail") is None else part.integer("rail", 0, 0, MOST_RAILS - 1)


def _network(part: Reader) -> Network:
    part.required("name")
    namespace, _, nad = part.text("name", pattern=_NETWORK, limit=127).rpartition("/")
    rail = _rail(part)
    network = Network(
        namespace=namespace,
        nad=nad,
        rail=rail,
        interface=part.text(
            "interface", f"rail{rail}" if rail is not None else "", _INTERFACE, IFNAME_LENGTH
        ),
        repeat=part.integer("repeat", 1, 1, MOST_RAILS),
        cni_args=part.free("cniArgs", 32),
        resource=part.text("resource", pattern=_RESOURCE),
    )
    if TAKEN.fullmatch(network.interface):
        part.wrong("interface", f"expected a name that is nobody else's, got {network.interface}")
    part.close()
    return network


def _resource(part: Reader) -> Resource:
    part.required("name")
    count = part.part("count")
    amount = count.quantity("value", _SIZE, MOST_DEVICES)
    resource = Resource(
        name=part.text("name", pattern=_COUNTED),
        rail=_rail(part),
        per=count.choice("per", Per.RAIL),
        value=amount if isinstance(amount, int) else 1,
        size=amount if isinstance(amount, str) else "",
    )
    huge = resource.name.startswith("hugepages-")
    if huge != bool(resource.size):
        expected = "a size such as 5120Mi" if huge else "a whole number of devices"
        count.wrong("value", f"expected {expected} for {resource.name}, got {amount!r}")
    if huge and resource.per not in {Per.POD, Per.FIXED}:
        count.wrong("per", f"expected Pod for {resource.name}, got {resource.per}")
    count.close()
    part.close()
    return resource


def _setting(part: Reader) -> Setting:
    part.required("name")
    part.required("value")
    name = part.text("name", pattern=nccl.NAME, limit=128)
    setting = Setting(
        name=name,
        value=part.text("value", limit=900),
        carrier=part.choice(
            "carrier", nccl.Carrier.FILE if nccl.is_nccl(name) else nccl.Carrier.ENV
        ),
        late=tuple(_late(late) for late in part.parts("late", 32)),
    )
    values = [setting.value, *(late.value for late in setting.late)]
    for problem in nccl.problems(name, values, setting.carrier, late=bool(setting.late)):
        part.problems.append(Problem(part.path, problem))
    part.close()
    return setting


def _late(part: Reader) -> Late:
    when = part.part("when")
    instance_type = when.text("instanceType", limit=63)
    label = when.mapping("label", 1)
    if bool(instance_type) == bool(label):
        part.wrong("when", "expected either instanceType or one label")
    part.required("value")
    key, value = next(iter(label.items()), (INSTANCE_TYPE, instance_type))
    late = Late(key, value, part.text("value", limit=900))
    when.close()
    part.close()
    return late


def _extras(part: Reader) -> Extras:
    extras = Extras(
        ipc_lock=part.truth("ipcLock"),
        shm_size=part.text("shmSize", pattern=re.compile(r"[1-9][0-9]*(Mi|Gi)"), limit=12),
        node_selector=part.mapping("nodeSelector", 16),
        scheduler_name=part.text("schedulerName", pattern=NAME, limit=63),
        dns_policy=part.text(
            "dnsPolicy",
            pattern=re.compile("ClusterFirstWithHostNet|ClusterFirst|Default"),
            limit=32,
        ),
    )
    part.close()
    return extras


def _check_whole(spec: Reader, profile: Profile) -> None:
    """Note what no field has wrong alone: rails out of range, clashing names, needless networks."""
    found = (*_dangling(profile), *_clashing(profile), *_unspeakable(profile))
    for problem in (*found, *terms.problems(profile)):
        spec.problems.append(Problem(f"spec.{problem.path}", problem.message))
    if profile.attachment in {Attachment.NONE, Attachment.HOST_NETWORK} and profile.networks:
        spec.wrong("networks", f"expected none with attachment {profile.attachment}")
    if profile.claim is None and spec.raw("claim") is not None:
        spec.wrong("claim", f"expected none with attachment {profile.attachment}")


def _dangling(profile: Profile) -> Iterator[Problem]:
    rails = {f"networks[{index}]": entry.rail for index, entry in enumerate(profile.networks)}
    rails |= {f"resources[{index}]": entry.rail for index, entry in enumerate(profile.resources)}
    count = profile.rails.count
    for path, rail in rails.items():
        if rail is not None and rail >= count:
            yield Problem(f"{path}.rail", f"expected less than rails.count {count}, got {rail}")
    listed = {"", *(resource.name for resource in profile.resources)}
    for index, network in enumerate(profile.networks):
        if network.resource not in listed:
            yield Problem(f"networks[{index}].resource", f"{network.resource} is not in resources")


def _unspeakable(profile: Profile) -> Iterator[Problem]:
    """What the annotation of the profile's dialect cannot say."""
    multus = profile.dialect is Dialect.MULTUS
    for index, network in enumerate(profile.networks):
        place = f"networks[{index}]"
        if multus != bool(network.namespace) and network.nad:
            expected = "namespace/name" if multus else "a name without a namespace"
            yield Problem(f"{place}.name", f"expected {expected}, got {network.name}")
        if not network.interface and profile.dialect is not Dialect.VOLCENGINE:
            yield Problem(f"{place}.interface", "is required for a network without a rail")
        if not multus and network.cni_args is not None:
            yield Problem(f"{place}.cniArgs", f"expected none with dialect {profile.dialect}")


def _clashing(profile: Profile) -> Iterator[Problem]:
    # Volcengine names the interfaces itself.
    named = () if profile.dialect is Dialect.VOLCENGINE else profile.networks
    interfaces = [name for network in named for name in network.interfaces]
    for name in _repeated(interfaces):
        yield Problem("networks", f"interface {name} is used twice")
    for name in interfaces:
        if len(name) > IFNAME_LENGTH:
            yield Problem("networks", f"interface {name} is longer than {IFNAME_LENGTH} characters")
    for name in _repeated(resource.name for resource in profile.resources):
        yield Problem("resources", f"{name} is listed twice")
    for name in _repeated(setting.name for setting in profile.settings):
        yield Problem("settings", f"{name} is listed twice")


def _repeated(found: Iterable[str]) -> list[str]:
    return sorted(name for name, times in Counter(found).items() if times > 1)

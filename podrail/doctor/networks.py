"""Whether the networks and resources of the profiles in use are there, and can be used."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from podrail.doctor import fields
from podrail.doctor.cluster import Cluster, Document
from podrail.doctor.finding import Finding, Topic, many
from podrail.fabric import Profile
from podrail.marker import Reason
from podrail.multus import lint, nad
from podrail.reasons import CATALOGUE

PROFILES: Final = Topic("profiles", "Profiles in use")
NETWORKS: Final = Topic("networks", "Networks")
RESOURCES: Final = Topic("resources", "Resources advertised")
ISOLATION: Final = Topic("isolation", "Multus's isolation")
_NAD: Final = "NetworkAttachmentDefinition"
_STOPS: Final = frozenset({"NadMissing", "NadUnreachable", "NadMalformed", "ResourceMismatch"})
"""What keeps every pod of the profile from starting."""
_RESOURCE: Final = "ResourceNotAdvertised"
_OF_NODES: Final = frozenset({_RESOURCE, "OverlayPodNetwork"})


def profiles(cluster: Cluster) -> Iterator[Finding]:
    """Which there are to look at, and those that cannot be read."""
    for problem in cluster.problems:
        yield PROFILES.fail(problem, "Correct the field: kubectl edit fabricprofile.")
    if cluster.used:
        listed = ", ".join(one.name for one in cluster.used)
        yield PROFILES.ok(listed)
        return
    yield PROFILES.unknown(
        "none: no pod or namespace has the label, and there is no FabricProfile of your own",
        "podrail profiles lists the shipped ones; podrail doctor --profile NAME looks at one.",
    )


def networks(cluster: Cluster) -> Iterator[Finding]:
    """Every definition that a profile names, its plugins, addresses and device resources."""
    named = [one for one in cluster.used if any(net.namespace for net in one.networks)]
    if named and _NAD not in cluster.seen:
        yield NETWORKS.unknown(cluster.why(_NAD), cluster.look("network-attachment-definitions"))
    elif cluster.used:
        yield from _told(cluster, NETWORKS, "as the profiles say")


def resources(cluster: Cluster) -> Iterator[Finding]:
    """Some node has each resource that a profile counts."""
    if not cluster.used:
        return
    if "Node" not in cluster.seen:
        yield RESOURCES.unknown(cluster.why("Node"), cluster.look("nodes"))
        return
    if not cluster.gpu_nodes:
        yield RESOURCES.fail(
            f"no node has {' or '.join(cluster.gpu_resources)} to give",
            "Look at the GPUs' device plugin.",
        )
        return
    yield from _told(cluster, RESOURCES, f"by {many(len(cluster.gpu_nodes), 'node')} with GPUs")


def _told(cluster: Cluster, topic: Topic, fine: str) -> Iterator[Finding]:
    """A finding for each profile and code; what is alike shares one."""
    wrong = False
    for profile in cluster.used:
        alike: dict[str, list[Reason]] = defaultdict(list)
        for reason in _reasons(cluster, profile):
            if (reason.code in _OF_NODES) == (topic is RESOURCES):
                alike[reason.code].append(reason)
        for code, (first, *others) in alike.items():
            wrong = True
            more = f" (and {len(others)} more like this)" if others else ""
            make = topic.fail if code in _STOPS | {_RESOURCE} else topic.warn
            yield make(f"{profile.name}: {first.message}{more} [{code}]", CATALOGUE[code].remedy)
    if not wrong:
        yield topic.ok(fine)


def _reasons(cluster: Cluster, profile: Profile) -> tuple[Reason, ...]:
    nads = {found.key: found for found in map(nad.read, cluster.of(_NAD))}
    return lint.check(profile, nads, cluster.gpu_nodes, cluster.isolation)


def isolation(cluster: Cluster) -> Iterator[Finding]:
    """The webhook warns by what it was told of Multus, so that has to be what is."""
    if not any(net.namespace for one in cluster.used for net in one.networks):
        return
    found = cluster.multus
    if found is None:
        yield ISOLATION.unknown(
            "no ConfigMap or pod of Multus was found, so it is taken for off",
            cluster.look("configmaps,pods"),
        )
        return
    told = [one for pod in cluster.programs("webhook") for one in _isolated(pod)]
    word = "on" if found.enforced else "off"
    if told and any(one != found.enforced for one in told):
        yield ISOLATION.warn(
            f"namespaceIsolation is {word}, and podrail was told otherwise: its warnings are wrong",
            "Set PODRAIL_NAMESPACE_ISOLATION and PODRAIL_GLOBAL_NAMESPACES as in Multus's "
            "configuration.",
        )
        return
    opened = f"; open to all: {', '.join(sorted(found.open_to_all))}" if found.enforced else ""
    yield ISOLATION.ok(f"namespaceIsolation is {word}{opened}")


def _isolated(pod: Document) -> Iterator[bool]:
    """What each of podrail's containers was told; off if nothing was said."""
    for container in fields.containers(pod):
        said = {fields.text(one, "name"): one for one in fields.parts(container, "env")}
        yield fields.text(said.get("PODRAIL_NAMESPACE_ISOLATION"), "value") == "true"

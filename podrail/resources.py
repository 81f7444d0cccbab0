"""The rule that asks for the fabric's devices: by shortfall, never by key, requests = limits.

Needed is what the profile counts, and at least one device for each attached network that takes
one, the user's own included (Multus hands each delegate the next device of its resource). What the
containers that run together have already is taken off; the rest goes to the container with GPUs.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import assert_never

from podrail import demand, networks
from podrail.draft import Draft
from podrail.fabric import EXCLUSIVE, Per, Resource
from podrail.names import NETWORKS


def request(draft: Draft) -> Draft:
    """The pod with enough of every resource of its rails."""
    added: dict[str, int] = {}
    held: dict[str, int] = {}
    container = draft.pod.containers[draft.demand.container]
    taken = _taken(draft)
    for resource in draft.profile.resources:
        need = _needed(draft, resource, taken)
        have = _held(draft, resource.name)
        own = demand.count(container, draft.path, resource.name)
        if need > have:
            added[resource.name] = own + need - have
        if need:
            held[resource.name] = max(need, have)
    marker = replace(draft.marker, resources=held)
    return _asking(replace(draft, marker=marker), added)


def _asking(draft: Draft, added: Mapping[str, int]) -> Draft:
    if not added:
        return draft
    given = draft.pod.containers[draft.demand.container].get("resources") or {}
    counts = {name: str(count) for name, count in added.items()}
    limits = {**(given.get("limits") or {}), **counts}
    requests = {**(given.get("requests") or {}), **counts}
    return draft.put("resources", {**given, "limits": limits, "requests": requests})


def _held(draft: Draft, name: str) -> int:
    apps = len(draft.pod.containers)
    return sum(
        demand.count(
            container, f"spec.containers[{index}]" if index < apps else "spec.initContainers", name
        )
        for index, container in enumerate(draft.pod.running)
    )


def _needed(draft: Draft, resource: Resource, taken: Mapping[str, int]) -> int:
    if resource.rail is not None and resource.rail not in draft.demand.rails:
        return 0
    return max(_counted(draft, resource), taken.get(resource.name, 0))


def _counted(draft: Draft, resource: Resource) -> int:
    """The profile's count; a share of a node is rounded up."""
    match resource.per:
        case Per.RAIL:
            return resource.value * (len(draft.demand.rails) if resource.rail is None else 1)
        case Per.GPU:
            return resource.value * draft.demand.gpus
        case Per.NODE:
            return -(-resource.value * draft.demand.gpus // draft.profile.rails.gpus)
        case Per.POD | Per.FIXED:
            return resource.value
    assert_never(resource.per)


def _taken(draft: Draft) -> Mapping[str, int]:
    """How many attached networks take a device each, by resource."""
    if draft.profile.attachment not in EXCLUSIVE:
        return {}
    of_rail = {one.rail: one.name for one in draft.profile.resources}
    of_network = {
        network.name: network.resource or of_rail.get(network.rail, "")
        for network in draft.profile.networks
        if network.resource or network.rail is not None
    }
    present = networks.parse(draft.pod.annotations.get(NETWORKS, ""))
    attached = [element.network(draft.pod.namespace) for element in present.elements]
    return Counter(name for one in attached if (name := of_network.get(one)))

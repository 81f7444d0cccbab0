"""The rule that asks for the fabric's devices: by shortfall, never by key, requests = limits.

Needed is what the profile counts, and at least one device for each attached network that takes
one, the user's own included (Multus hands each delegate the next device of its resource). What the
containers that run together have already is taken off; the rest goes to the container with GPUs.
"""

from collections import Counter
from collections.abc import Mapping
from typing import assert_never

from podrail import pod as pods
from podrail import quantity
from podrail.admission import demand
from podrail.admission.draft import Draft
from podrail.fabric import EXCLUSIVE, Per, Requester, Resource
from podrail.multus.dialect import SPEECH


def request(draft: Draft) -> Draft:
    """The pod with enough of every resource of its rails."""
    if draft.profile.requested_by is Requester.INJECTOR:
        return draft
    if draft.profile.attachment in EXCLUSIVE and draft.pod.spec.get("hostNetwork") is True:
        return draft  # no CNI plugin is called that would move a device into the pod
    added: dict[str, str] = {}
    held: dict[str, int] = {}
    taken = _taken(draft)
    named = {name for container in draft.pod.running for name in pods.limits(container)}
    for resource in draft.profile.resources:
        name = resource.name
        if resource.size:
            draft, added = _huge(draft, resource, added)
            continue
        need = _needed(draft, resource, taken)
        # Most pods name none of the resources.
        have = _held(draft, name) if name in named else 0
        if need > have:
            own = demand.count(draft.container, draft.path, name) if have else 0
            added[name] = str(own + need - have)
        if need:
            held[name] = max(need, have)
    return _asking(draft.marked(resources=held), added)


def _huge(draft: Draft, resource: Resource, added: dict[str, str]) -> tuple[Draft, dict[str, str]]:
    """Huge pages, if the container says nothing of them itself; they want memory or CPU beside."""
    asked = draft.container.get("resources") or {}
    given = {**(asked.get("requests") or {}), **(asked.get("limits") or {})}
    if resource.name in given:
        if not quantity.same(given[resource.name], resource.size):
            draft = draft.keeping(f"resources/{resource.name}")
        return draft, added
    if not given.keys() & {"cpu", "memory"}:
        # core/v1 validation, Kubernetes 1.36: "HugePages require cpu or memory".
        message = f"{resource.name} is left out: huge pages need cpu or memory asked for beside"
        return draft.noting("HugepagesNeedMemory", f"{draft.path}.resources", message), added
    return draft, {**added, resource.name: resource.size}


def _asking(draft: Draft, added: Mapping[str, str]) -> Draft:
    if not added:
        return draft
    given = draft.container.get("resources") or {}
    limits = {**(given.get("limits") or {}), **added}
    requests = {**(given.get("requests") or {}), **added}
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
    speech = SPEECH[draft.profile.dialect]
    present = speech.listed(draft.pod.annotations).elements
    attached = [speech.network(element, draft.pod.namespace) for element in present]
    return Counter(name for one in attached if (name := of_network.get(one)))

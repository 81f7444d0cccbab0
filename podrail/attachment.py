"""The rule that attaches the pod to its fabric's networks.

A network of the profile counts as attached if the user attached it already, under whatever
interface; only what is missing is appended, with interface names that clash with nothing. An
element is ours if and only if it says what the profile would write, so a second pass finds it.
"""

import string
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from podrail import networks
from podrail.draft import Draft
from podrail.fabric import Profile
from podrail.marker import Attached
from podrail.names import NETWORKS
from podrail.networks import Networks, Wanted
from podrail.profile import IFNAME_LENGTH

_PATH = f"metadata.annotations['{NETWORKS}']"


@dataclass(frozen=True, slots=True)
class Wish:
    """An element that the profile wants, and the rail it is."""

    wanted: Wanted
    rail: int | None


def spellings(wanted: Wanted) -> Iterator[Wanted]:
    """The element, then under other interface names for when the first ones are taken."""
    yield wanted
    stem = wanted.interface[: IFNAME_LENGTH - 1]
    for letter in string.ascii_lowercase:
        yield replace(wanted, interface=stem + letter)


def attach(draft: Draft) -> Draft:
    """The pod with every network of its rails in the annotation."""
    wanted = wishes(draft.profile, draft.demand.rails)
    if not wanted:
        return draft
    if draft.pod.spec.get("hostNetwork") is True:
        message = "a pod on the host's network has the host's devices: no networks are attached"
        return draft.noting("HostNetwork", "spec.hostNetwork", message)
    present = networks.parse(draft.pod.annotations.get(NETWORKS, ""))
    found = _found(present, wanted, draft.pod.namespace)
    others = Counter(
        element.network(draft.pod.namespace)
        for index, element in enumerate(present.elements)
        if index not in found.values()
    )
    missing: list[Wish] = []
    for number, wish in enumerate(wanted):
        if number in found:
            continue
        if others[wish.wanted.network]:
            others[wish.wanted.network] -= 1
            draft = draft.keeping(f"networks/{wish.wanted.network}")
        else:
            missing.append(wish)
    ours = [_attached(present, wanted[number], index) for number, index in found.items()]
    complete = present.append(_named(missing, present))
    start = len(present.elements)
    ours += [_attached(complete, wish, start + number) for number, wish in enumerate(missing)]
    return _written(draft, complete, sorted(ours, key=lambda one: one.index))


def _written(draft: Draft, complete: Networks, ours: list[Attached]) -> Draft:
    late = ("networks",) if ours and draft.profile.late_networks else ()
    marker = replace(draft.marker, networks=tuple(ours), late=(*draft.marker.late, *late))
    for index, element in enumerate(complete.elements):
        if not element.name:
            message = "Multus reads an element without a name and will not find its network"
            draft = replace(draft, marker=marker).noting(
                "EmptyNetwork", f"{_PATH}[{index}]", message
            )
            marker = draft.marker
    if ours:
        draft = draft.to(draft.pod.annotate(NETWORKS, complete.text))
    return replace(draft, marker=marker)


@lru_cache(maxsize=256)
def wishes(profile: Profile, rails: tuple[int, ...]) -> tuple[Wish, ...]:
    """An element for each repetition of each network of the rails.

    A network without a rail belongs to all of them: a pod with a part of the rails gets it in
    proportion, at least once.
    """
    return tuple(_wishes(profile, rails))


def _wishes(profile: Profile, rails: tuple[int, ...]) -> Iterator[Wish]:
    for network in profile.networks:
        if network.rail is None:
            times = -(-network.repeat * len(rails) // max(profile.rails.count, 1))
        else:
            times = network.repeat if network.rail in rails else 0
        for interface in network.interfaces[:times]:
            wanted = Wanted(network.namespace, network.nad, interface, network.cni_args)
            yield Wish(wanted, network.rail)


def _found(present: Networks, wanted: tuple[Wish, ...], namespace: str) -> dict[int, int]:
    """For each wish that the annotation has already, the position of its element."""
    found: dict[int, int] = {}
    for number, wish in enumerate(wanted):
        taken = set(found.values())
        for index, element in enumerate(present.elements):
            if index in taken or element.network(namespace) != wish.wanted.network:
                continue
            if any(spelling.equals(element, namespace) for spelling in spellings(wish.wanted)):
                found[number] = index
                break
    return found


def _named(missing: list[Wish], present: Networks) -> tuple[Wanted, ...]:
    taken = {element.interface for element in present.elements}
    named: list[Wanted] = []
    for wish in missing:
        free = next(one for one in spellings(wish.wanted) if one.interface not in taken)
        taken.add(free.interface)
        named.append(free)
    return tuple(named)


def _attached(complete: Networks, wish: Wish, index: int) -> Attached:
    return Attached(index, wish.wanted.network, complete.elements[index].interface, wish.rail)

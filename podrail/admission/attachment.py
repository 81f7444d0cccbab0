"""The rule that attaches the pod to its fabric's networks.

A network of the profile counts as attached if the user attached it already, under whatever
interface; only what is missing is appended, with interface names that clash with nothing. An
element is ours if and only if it says what the profile would write, so a second pass finds it.
"""

import string
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from podrail.admission.draft import Draft
from podrail.fabric import Profile
from podrail.marker import Attached
from podrail.multus.dialect import SPEECH, Listed, Speech
from podrail.multus.networks import Wanted
from podrail.profile import IFNAME_LENGTH


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
    """The pod with every network of its rails in the annotation of its platform."""
    wanted = wishes(draft.profile, draft.demand.rails)
    if not wanted:
        return draft
    if draft.pod.spec.get("hostNetwork") is True:
        message = "a pod on the host's network has the host's devices: no networks are attached"
        return draft.noting("HostNetwork", "spec.hostNetwork", message)
    speech = SPEECH[draft.profile.dialect]
    if not draft.pod.annotations.get(speech.key):
        return _written(draft, *_fresh(draft.profile, draft.demand.rails))
    return _beside_the_users(draft, wanted)


@lru_cache(maxsize=256)
def _fresh(profile: Profile, rails: tuple[int, ...]) -> tuple[Listed, tuple[Attached, ...]]:
    """The annotation of a pod that has none, which all the pods of a job get."""
    speech, wanted = SPEECH[profile.dialect], wishes(profile, rails)
    begun = speech.parse(speech.begun)
    complete = begun.append(_named(wanted, begun, speech))
    return complete, tuple(_attached(complete, wanted, len(begun.elements)))


def _beside_the_users(draft: Draft, wanted: Sequence[Wish]) -> Draft:
    """What is missing after what the user has."""
    speech, namespace = SPEECH[draft.profile.dialect], draft.pod.namespace
    present = speech.listed(draft.pod.annotations)
    found = _found(present, wanted, draft)
    others = Counter(
        speech.network(element, namespace)
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
    complete = present.append(_named(missing, present, speech))
    ours = [
        one
        for number, index in found.items()
        for one in _attached(present, (wanted[number],), index)
    ]
    ours += _attached(complete, missing, len(present.elements))
    return _written(draft, complete, sorted(ours, key=lambda one: one.index))


def _written(draft: Draft, complete: Listed, ours: Sequence[Attached]) -> Draft:
    speech = SPEECH[draft.profile.dialect]
    draft = draft.marked(networks=tuple(ours))
    if ours and draft.profile.late_networks:
        draft = draft.late("networks")
    for index, element in enumerate(complete.elements):
        if not element.name:
            path = f"metadata.annotations['{speech.key}'][{index}]"
            message = "an element without a name is read as a network that nobody will find"
            draft = draft.noting("EmptyNetwork", path, message)
    if not ours:
        return draft
    pod = draft.pod.annotate(speech.key, complete.text)
    for key, value in speech.beside.items():
        pod = pod if key in pod.annotations else pod.annotate(key, value)
    return draft.to(pod)


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
        named = SPEECH[profile.dialect].named
        for interface in network.interfaces[:times]:
            wanted = Wanted(
                network.namespace, network.nad, interface if named else "", network.cni_args
            )
            yield Wish(wanted, network.rail)


def _found(present: Listed, wanted: Sequence[Wish], draft: Draft) -> dict[int, int]:
    """For each wish that the annotation has already, the position of its element."""
    speech, namespace = SPEECH[draft.profile.dialect], draft.pod.namespace
    found: dict[int, int] = {}
    for number, wish in enumerate(wanted):
        taken = set(found.values())
        for index, element in enumerate(present.elements):
            if index in taken or speech.network(element, namespace) != wish.wanted.network:
                continue
            if any(speech.equal(one, element, namespace) for one in spellings(wish.wanted)):
                found[number] = index
                break
    return found


def _named(missing: Sequence[Wish], present: Listed, speech: Speech) -> tuple[Wanted, ...]:
    if not speech.named:
        return tuple(wish.wanted for wish in missing)
    taken = {element.interface for element in present.elements}
    named: list[Wanted] = []
    for wish in missing:
        free = next(one for one in spellings(wish.wanted) if one.interface not in taken)
        taken.add(free.interface)
        named.append(free)
    return tuple(named)


def _attached(complete: Listed, ours: Sequence[Wish], start: int) -> Iterator[Attached]:
    """Where our elements stand, the first of them at start."""
    for index, wish in enumerate(ours, start):
        interface = complete.elements[index].interface
        yield Attached(index, wish.wanted.network, interface, wish.rail)

"""Late binding: the annotations that a Binding carries into the pod in the write that binds it.

kube-apiserver 1.36 merges a Binding's annotations into the pod together with spec.nodeName
(registry/core/pod/storage, setPodNodeAndMetadata) and does not validate them: so their keys are
the marker's and ours, and their size is checked here.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from podrail import names
from podrail.admission import attachment
from podrail.errors import PodError
from podrail.fabric import Profile
from podrail.multus import networks
from podrail.multus.networks import Networks, Wanted
from podrail.nccl import settings as nccl
from podrail.placement import Choice, Wish
from podrail.score import choice as choices

Texts = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Late:
    """The annotations that change with the node, and the rails that the pod has with them."""

    annotations: Texts
    rails: tuple[int, ...]


def late(
    pod: Mapping[str, Any], wish: Wish, profile: Profile, labels: Texts, choice: Choice
) -> Late:
    """The networks of the chosen rails, and settings by node label.

    Only what the pod's marker says may be late, only annotations that admission wrote, and of them
    the first that fit into a Binding beside a placement marker.
    """
    metadata = pod.get("metadata") or {}
    present: Texts = metadata.get("annotations") or {}
    namespace = str(metadata.get("namespace", ""))
    changed: dict[str, str] = {}
    room = names.BINDING_BYTES - names.MARKER_BYTES - len(names.PLACEMENT)
    for key, text in _wanted(present, namespace, wish, profile, (labels, choice)):
        size = len(key) + len(text.encode())
        if key in present and present[key] != text and size <= room:
            changed[key] = text
            room -= size
    if not wish.late:
        return Late(changed, choice.rails)
    text = changed.get(names.NETWORKS, present.get(names.NETWORKS, ""))
    return Late(changed, _attached(text, namespace, profile) or wish.marker.rails)


def _wanted(
    present: Texts, namespace: str, wish: Wish, profile: Profile, at: tuple[Texts, Choice]
) -> Iterator[tuple[str, str]]:
    labels, choice = at
    if wish.late:
        text = present.get(names.NETWORKS, "")
        yield names.NETWORKS, _networks(text, namespace, wish, profile, choice)
    for setting in profile.settings:
        if f"env.{setting.name}" in wish.marker.late:
            yield names.ENV_PREFIX + setting.name, setting.on(labels)
    if "nccl.conf" in wish.marker.late:
        lines = [
            (setting.name, setting.on(labels))
            for setting in profile.settings
            if setting.carrier is nccl.Carrier.FILE
        ]
        yield names.NCCL_CONF, nccl.conf(lines)


def _attached(text: str, namespace: str, profile: Profile) -> tuple[int, ...]:
    """The rails to which the networks annotation attaches a pod."""
    present = _parsed(text)
    rails = choices.movable(profile)
    found = [element.network(namespace) for element in present.elements] if present else []
    return tuple(sorted({rails[network] for network in found if network in rails}))


def _parsed(text: str) -> Networks | None:
    """The annotation; None if something wrote after admission what Multus cannot read."""
    try:
        return networks.parse(text)
    except PodError:
        return None


def _networks(text: str, namespace: str, wish: Wish, profile: Profile, choice: Choice) -> str:
    """The annotation with our elements replaced by those of the chosen rails.

    An element is ours where the marker says, and only if it still says what the profile writes;
    every other element stays. A rail that is attached already keeps its place.
    """
    present = _parsed(text)
    if present is None:
        return text
    wishes = [one for one in attachment.wishes(profile, choice.rails) if one.rail is not None]
    stay = {one.wanted.network for one in wishes}
    attached = {element.network(namespace) for element in present.elements}
    waiting = [one.wanted for one in wishes if one.wanted.network not in attached]
    free = [at for at, network in _ours(present, namespace, wish, profile) if network not in stay]
    taken = {element.interface for at, element in enumerate(present.elements) if at not in free}
    change: dict[int, Wanted | None] = dict.fromkeys(free)
    change.update(zip(free, (_fitting(one, taken) for one in waiting), strict=False))
    return present.replace(change).text if change else text


def _ours(
    present: Networks, namespace: str, wish: Wish, profile: Profile
) -> Iterator[tuple[int, str]]:
    """The position and network of our elements: of rails only, no other depends on the node."""
    written: dict[str, list[Wanted]] = {}
    for one in attachment.wishes(profile, wish.marker.rails):
        written.setdefault(one.wanted.network, []).append(one.wanted)
    for attached in wish.marker.networks:
        if attached.rail is None or attached.index >= len(present.elements):
            continue
        element = present.elements[attached.index]
        if element.interface == attached.interface and any(
            spelling.equals(element, namespace)
            for one in written.get(attached.name, ())
            for spelling in attachment.spellings(one)
        ):
            yield attached.index, attached.name


def _fitting(one: Wanted, taken: set[str]) -> Wanted:
    free = next(spelled for spelled in attachment.spellings(one) if spelled.interface not in taken)
    taken.add(free.interface)
    return free
